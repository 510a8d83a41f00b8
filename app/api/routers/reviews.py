"""What waits for a person, and what waits for an agent."""

from typing import Annotated, Any

from fastapi import Path, Query, Response

from app.api.deps import Cursor, Limit, Reader, Writer, answer, shown
from app.api.reports import show_decision, show_review, show_task
from app.api.routes import READ, READ_ONE, may_fail, router
from app.domain.models import Page as Part
from app.schemas.fields import Id
from app.schemas.looks import DecisionReport, Review, Task, Tasks
from app.schemas.outputs import Page, written
from app.schemas.revalidation import NewDecision, TaskClaim, TaskDecision, TaskHeartbeat
from app.services import reviews
from app.services.reports import OpenReview

routes = router("reviews")
_tasks = router("revalidation tasks")

_REVIEWS = "/reviews"
_TASKS = "/revalidation-tasks"
_DECIDE = may_fail(400, 404, 409, 413, 415)

ReviewId = Annotated[Id, Path(alias="reviewId", title="Review")]
TaskId = Annotated[Id, Path(alias="taskId", title="Revalidation Task")]
OfGraph = Annotated[Id | None, Query(alias="graphId", title="Memory Graph", description="Only those of this graph.")]


@routes.get(_REVIEWS, response_model=Page[Review], responses=READ)
def list_reviews(reading: Reader, graph_id: OfGraph = None, limit: Limit = 100, cursor: Cursor = None) -> Response:
    """Nodes that no rule can decide on, with what each rests on now, and the reason."""
    with reading.view() as view:
        part = reviews.page(view, kind="Review", graph_id=graph_id, limit=limit, cursor=cursor)
        return shown(Part([show_review(item) for item in part.items], part.next_cursor))


@routes.get(_REVIEWS + "/{reviewId}", response_model=Review, responses=READ_ONE)
def get_review(review_id: ReviewId, reading: Reader) -> Response:
    """One review, open or closed."""
    with reading.view() as view:
        return shown(show_review(reviews.get(view, review_id, "Review")))


@routes.post(
    _REVIEWS + "/{reviewId}/decision", status_code=201, response_model=written(DecisionReport), responses=_DECIDE
)
def decide_review(review_id: ReviewId, body: NewDecision, writing: Writer) -> Response:
    """Decide: the node holds (`Accept`), does not (`Reject`), or another one replaces it (`Supersede`).

    A decision on a ground that has changed since is refused (409), so that nothing is applied that was not meant.
    """
    return answer(writing.once(lambda uow: reviews.decide(uow, review_id, body), show_decision, body=body))


@_tasks.get(_TASKS, response_model=Page[Task], responses=READ)
def list_tasks(reading: Reader, graph_id: OfGraph = None, limit: Limit = 100, cursor: Cursor = None) -> Response:
    """Nodes that an agent is to re-derive, held or not."""
    with reading.view() as view:
        part = reviews.page(view, kind="Task", graph_id=graph_id, limit=limit, cursor=cursor)
        return shown(Part([show_task(item) for item in part.items], part.next_cursor))


@_tasks.post(_TASKS + "/claim", status_code=201, response_model=written(Tasks), responses=may_fail(400, 413, 415))
def claim_tasks(body: TaskClaim, writing: Writer) -> Response:
    """Lease the oldest tasks that nobody holds. Until the lease runs out, nobody else gets them."""

    def claimed(tasks: list[OpenReview]) -> dict[str, Any]:
        return {"items": [show_task(task) for task in tasks]}

    return answer(writing.once(lambda uow: reviews.claim(uow, body), claimed, body=body))


@_tasks.post(_TASKS + "/{taskId}/heartbeat", response_model=written(Task), responses=_DECIDE)
def keep_task(task_id: TaskId, body: TaskHeartbeat, writing: Writer) -> Response:
    """Hold a task for longer."""
    return answer(writing.once(lambda uow: reviews.heartbeat(uow, task_id, body), show_task, status=200, body=body))


@_tasks.post(_TASKS + "/{taskId}/decision", status_code=201, response_model=written(DecisionReport), responses=_DECIDE)
def decide_task(task_id: TaskId, body: TaskDecision, writing: Writer) -> Response:
    """Answer a task that the agent holds; `Accept` can bring newly derived content."""
    return answer(writing.once(lambda uow: reviews.decide_task(uow, task_id, body), show_decision, body=body))


routes.include_router(_tasks)
