"""Revalidations: what is right again, or is to be looked at, and what the looks came to."""

from typing import Annotated

from fastapi import Header, Path, Query, Response

from app.api.deps import Cursor, Limit, Reader, Writer, answer, shown
from app.api.reports import show_revalidation
from app.api.routers.invalidations import Accept, wants_async
from app.api.routes import READ, READ_ONE, may_fail, router
from app.api.streaming import NDJSON, Streamed, ndjson, prefers_ndjson, within
from app.schemas.fields import Id
from app.schemas.looks import Finding, RevalidationDecision, RevalidationReport, RevalidationRun
from app.schemas.outputs import Page
from app.schemas.revalidation import NewRevalidation
from app.services import revalidate

routes = router("revalidations")

_PATH = "/revalidations"
_ONE = _PATH + "/{runId}"

RunId = Annotated[Id, Path(alias="runId", title="Revalidation Run")]
Prefer = Annotated[
    str | None,
    Header(
        alias="Prefer",
        title="Prefer",
        max_length=1000,
        description="`respond-async`: answer 202, and leave the looking to a worker.",
    ),
]


@routes.post(
    _PATH,
    status_code=201,
    response_model=RevalidationReport,
    responses={
        202: {"model": RevalidationReport, "description": "The run is recorded; a worker carries it out."},
        **may_fail(400, 404, 409, 413, 415),
    },
)
def revalidate_nodes(body: NewRevalidation, writing: Writer, prefer: Prefer = None) -> Response:
    """Say that nodes are right again, with new content where that has changed; what rested on them is looked at again.

    Nothing is restored blindly. What has its ground back is Valid; what has lost it falls, and takes with it what rests
    on it; what no rule can decide waits for a person or an agent. Nodes can also be looked at as they are, by `keys`,
    `memoryNodeIds` or `wholeGraph`; and naming a fixed rule revalidates what rested on it.
    """
    if wants_async(prefer):
        stored = writing.once(lambda uow: revalidate.accept(uow, body), show_revalidation, status=202, body=body)
        response = answer(stored, _PATH, "runId")
        response.headers["Preference-Applied"] = "respond-async"
        return response
    stored = writing.once(lambda uow: revalidate.revalidate(uow, body), show_revalidation, body=body)
    return answer(stored, _PATH, "runId")


@routes.get(_PATH, response_model=Page[RevalidationRun], responses=READ)
def list_revalidations(
    reading: Reader,
    invalidation_run_id: Annotated[
        Id | None,
        Query(alias="invalidationRunId", title="Invalidation Run", description="Only those after it."),
    ] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """The runs of the fleet, newest first."""
    with reading.view() as view:
        return shown(revalidate.page(view, invalidation_run_id=invalidation_run_id, limit=limit, cursor=cursor))


@routes.get(_ONE, response_model=RevalidationReport, responses=READ_ONE)
def get_revalidation(run_id: RunId, reading: Reader) -> Response:
    """One run, with its counts and the first of its decisions."""
    with reading.view() as view:
        return shown(show_revalidation(revalidate.get(view, run_id)))


@routes.get(
    _ONE + "/decisions",
    response_model=Page[RevalidationDecision],
    responses=READ_ONE | {200: {"content": {NDJSON: {"schema": {"type": "string"}}}}},
)
def list_decisions(
    *,
    run_id: RunId,
    reading: Reader,
    outcome: Annotated[Finding | None, Query(title="Outcome", description="Only these.")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
    accept: Accept = None,
) -> Response:
    """What the run found at each node it looked at, by node. As NDJSON: all of them, whatever `limit` says."""
    if prefers_ndjson(accept) and outcome is None and cursor is None:
        return Streamed(within(reading.view(), lambda view: ndjson(revalidate.all_decisions(view, run_id))), NDJSON)
    with reading.view() as view:
        return shown(revalidate.decisions(view, run_id, outcome=outcome, limit=limit, cursor=cursor))
