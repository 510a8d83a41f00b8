"""What waits for a person or an agent, and their decisions (SEMANTICS 6, Review)."""

from collections.abc import Iterable
from datetime import timedelta
from uuid import UUID

from app.domain.errors import Conflict, Invalid, NotFound
from app.domain.models import MemoryNode, Page, Review
from app.domain.revalidation import ground_of
from app.schemas import NewEdge
from app.schemas.revalidation import NewDecision, TaskClaim, TaskDecision, TaskHeartbeat
from app.services import corrections, cursors, edges, invalidate, revalidate
from app.services.nodes import get as get_node
from app.services.nodes import named
from app.services.reports import DecisionReport, OpenReview, Report
from app.store.unit import UnitOfWork, View

_LONGEST_LEASE = timedelta(hours=1)


def page(view: View, *, kind: str, graph_id: UUID | None, limit: int, cursor: str | None) -> Page[OpenReview]:
    """What is open, each with the ground of its node as it is now."""
    (after,) = cursors.decode(cursor or None, UUID)
    found = view.reviews.page(kind, graph_id, after, limit + 1)
    part: Page[Review] = cursors.cut(found, limit, lambda review: (review.review_id,))
    return Page(_shown(view, part.items), part.next_cursor)


def get(view: View, review_id: UUID, kind: str) -> OpenReview:
    """One, open or closed."""
    return _shown(view, [_known(view, review_id, kind)])[0]


def claim(uow: UnitOfWork, body: TaskClaim) -> list[OpenReview]:
    """Lease the oldest open tasks that nobody holds to an agent."""
    free = uow.reviews.free_tasks(body.graph_id, uow.stamp, uow.stamp + _LONGEST_LEASE, body.limit)
    for review_id in free:
        uow.reviews.lease(review_id, body.owner, uow.stamp + timedelta(seconds=body.lease_seconds))
    return _shown(uow, [_known(uow, review_id, "Task") for review_id in free])


def heartbeat(uow: UnitOfWork, task_id: UUID, body: TaskHeartbeat) -> OpenReview:
    """Hold a task for longer. Raises ``Conflict`` where the lease is another's, or has run out."""
    _held(uow, task_id, body.owner)
    uow.reviews.lease(task_id, body.owner, uow.stamp + timedelta(seconds=body.lease_seconds))
    return get(uow, task_id, "Task")


def decide_task(uow: UnitOfWork, task_id: UUID, body: TaskDecision) -> DecisionReport:
    """An agent's decision on a task that it holds."""
    return _carry_out(uow, _held(uow, task_id, body.owner), body)


def decide(uow: UnitOfWork, review_id: UUID, body: NewDecision) -> DecisionReport:
    """A person's decision.

    Raises ``Conflict`` where the review is closed, or where the ground of its node is no longer what it was.
    """
    review = _known(uow, review_id, "Review")
    is_moot = review.status != "PotentiallyStale" and review.review_reason != "Requested"
    if review.closed_at is None and is_moot:
        raise Conflict(f"The node is {review.status} by now; the review will close by itself, or be opened again.")
    return _carry_out(uow, review, body)


def _carry_out(uow: UnitOfWork, review: Review, body: NewDecision) -> DecisionReport:
    if review.closed_at is not None:
        raise Conflict(f"It is closed already, by {review.resolution}.")
    _check_ground(uow, review, body)
    node = get_node(uow, review.memory_node_id)
    revalidate.refuse_pinned(node)
    uow.reviews.close(node.memory_node_id, body.decision, uow.stamp)
    cascade: Report | None = None
    if body.decision == "Accept":
        if body.content is not None:
            corrections.restate(uow, node, body.content)
        run = revalidate.stand_by(uow, node, "Accepted", body.reason)
    else:
        run = revalidate.new_run(uow, "Decision", reason=body.reason)
        uow.revalidations.add(run, None)
        cascade = _reject(uow, node, body) if body.decision == "Reject" else _supersede(uow, node, body)
        uow.revalidations.add_child(run.run_id, cascade.run.run_id)
        uow.revalidations.record_fallen(run.run_id, node.memory_node_id, node.status, uow.stamp)
        uow.revalidations.end(run.run_id, "Completed", None, uow.stamp)
    uow.revalidations.explain(
        run.run_id,
        node.memory_node_id,
        decision=body.decision,
        decided_by=body.decided_by,
        explanation=body.reason,
        certainty=body.certainty,
    )
    return DecisionReport(
        review.review_id, node.memory_node_id, body.decision, revalidate.get(uow, run.run_id), cascade
    )


def _reject(uow: UnitOfWork, node: MemoryNode, body: NewDecision) -> Report:
    reason = body.reason or f"Rejected by {body.decided_by}."
    return invalidate.invalidate_nodes(uow, [node.memory_node_id], reason, effective_time=uow.stamp)


def _supersede(uow: UnitOfWork, node: MemoryNode, body: NewDecision) -> Report:
    other = named(uow, node.graph_id, body.superseded_by_key, body.superseded_by_node_id)
    if other.memory_node_id == node.memory_node_id:
        raise Invalid("A node cannot replace itself.", "/supersededByNodeId")
    edge = NewEdge(source_node_id=other.memory_node_id, target_node_id=node.memory_node_id, edge_type="Supersedes")
    _, report = edges.create(uow, edge)
    if report is None:
        raise Conflict("The node that is to replace it does not stand itself, or rests on it.")
    return report


def _check_ground(uow: UnitOfWork, review: Review, body: NewDecision) -> None:
    """Refuse what was decided on a ground that is no longer there."""
    now = ground_of(uow.looks.at([review.memory_node_id]).supports(uow.stamp))
    seen = [ground for ground in (review.ground, body.ground) if ground is not None]
    if any(ground != now for ground in seen):
        raise Conflict("The ground of the node has changed since it was put up for decision; look at it again.")


def _held(uow: UnitOfWork, task_id: UUID, owner: str) -> Review:
    task = _known(uow, task_id, "Task")
    if task.closed_at is not None:
        raise Conflict(f"It is closed already, by {task.resolution}.")
    if task.lease_owner != owner or task.lease_expires_at is None or task.lease_expires_at <= uow.stamp:
        raise Conflict(f"{owner} does not hold the task, or no longer; claim it again.")
    return task


def _known(view: View, review_id: UUID, kind: str) -> Review:
    review = view.reviews.find(review_id)
    if review is None or review.review_kind != kind:
        raise NotFound("Revalidation task" if kind == "Task" else "Review", [review_id])
    return review


def _shown(view: View, found: Iterable[Review]) -> list[OpenReview]:
    """With their grounds, and with the digest of the ground as it is now, which a decision may send back."""
    found = list(found)
    grounds = view.reviews.grounds({review.memory_node_id for review in found}, view.now)
    return [OpenReview(review, grounds.get(review.memory_node_id, [])) for review in found]
