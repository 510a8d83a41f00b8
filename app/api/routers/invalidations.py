"""Invalidations: what no longer holds, and everything that rested on it."""

import logging
import re
from typing import Annotated

from fastapi import BackgroundTasks, Header, Path, Query, Response
from orjson import loads

from app.api.deps import Cursor, Limit, Reader, Writer, answer, shown
from app.api.reports import show_report
from app.api.routes import READ, READ_ONE, may_fail, router
from app.api.streaming import NDJSON, Streamed, ndjson, prefers_ndjson, within
from app.domain.models import Principal
from app.schemas import NewInvalidation
from app.schemas.fields import Id, Outcome, parse_id
from app.schemas.outputs import Page
from app.schemas.runs import Impact, InvalidationRun, Report
from app.schemas.runs import Path as NodePath
from app.services import invalidate, runs
from app.services.reports import Report as RunReport
from app.store.ports import Store

routes = router("invalidations")

_LOG = logging.getLogger("app.api")
_PATH = "/invalidations"
_ONE = _PATH + "/{runId}"

RunId = Annotated[Id, Path(alias="runId", title="Invalidation Run")]
NodeId = Annotated[Id, Path(alias="memoryNodeId", title="Impacted Node")]
Prefer = Annotated[
    str | None,
    Header(
        alias="Prefer",
        title="Prefer",
        max_length=1000,
        description="`respond-async`: answer 202 before the run is carried out.",
    ),
]
Accept = Annotated[str | None, Header(include_in_schema=False)]
"""Not a parameter to OpenAPI: the media types of the answer say the same."""


@routes.post(
    _PATH,
    status_code=201,
    response_model=Report,
    responses={
        200: {"model": Report, "description": "A dry run: nothing was changed."},
        202: {"model": Report, "description": "The run is recorded, and carried out after this answer."},
        **may_fail(400, 404, 409, 413, 415),
    },
)
def invalidate_nodes(
    body: NewInvalidation, writing: Writer, background: BackgroundTasks, prefer: Prefer = None
) -> Response:
    """Say that nodes no longer hold: everything that rested on them falls, or is marked to be looked at.

    Nodes, impacts and events change in one transaction. `dryRun` changes nothing, and answers a `planToken`
    that the real call may send, to be refused (409) if it would do something else by then.
    """
    if body.dry_run:
        return shown(show_report(invalidate.plan(writing.store, writing.who, body)))
    if not wants_async(prefer):
        stored = writing.once(lambda uow: invalidate.invalidate(uow, body), show_report, body=body)
        return answer(stored, _PATH, "runId")
    stored = writing.once(lambda uow: invalidate.accept(uow, body), show_report, status=_accepted, body=body)
    response = answer(stored, _PATH, "runId")
    if stored.status == 202:
        response.headers["Preference-Applied"] = "respond-async"
        run_id = parse_id(loads(stored.body)["runId"])
        background.add_task(_resume, writing.store, writing.who, run_id)
        response.background = background
    return response


def _accepted(report: RunReport) -> int:
    return 202 if report.run.run_status == "Pending" else 201  # an earlier run of the same request


def wants_async(prefer: str | None) -> bool:
    return "respond-async" in re.split(r"[\s,;]+", (prefer or "").lower())


def _resume(store: Store, who: Principal, run_id: Id) -> None:
    try:
        invalidate.resume(store, who, run_id)
    except Exception:  # the run stays pending, and is taken up again at the next start
        _LOG.exception("invalidation run %s could not be carried out", run_id)


@routes.get(_PATH, response_model=Page[InvalidationRun], responses=READ)
def list_invalidations(reading: Reader, limit: Limit = 100, cursor: Cursor = None) -> Response:
    """The runs of the fleet."""
    with reading.view() as view:
        return shown(runs.page(view, limit=limit, cursor=cursor))


@routes.get(_ONE, response_model=Report, responses=READ_ONE)
def get_invalidation(run_id: RunId, reading: Reader) -> Response:
    """One run, with its counts and the first of its impacts."""
    with reading.view() as view:
        return shown(show_report(runs.get(view, run_id)))


@routes.get(
    _ONE + "/impacts",
    response_model=Page[Impact],
    responses=READ_ONE | {200: {"content": {NDJSON: {"schema": {"type": "string"}}}}},
)
def list_impacts(
    *,
    run_id: RunId,
    reading: Reader,
    outcome: Annotated[Outcome | None, Query(title="Outcome", description="Only these.")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
    accept: Accept = None,
) -> Response:
    """What the run did to each node, by depth, then id. As NDJSON: all of them, whatever `limit` says."""
    if prefers_ndjson(accept) and outcome is None and cursor is None:
        return Streamed(within(reading.view(), lambda view: ndjson(runs.all_impacts(view, run_id))), NDJSON)
    with reading.view() as view:
        return shown(runs.impacts(view, run_id, outcome=outcome, limit=limit, cursor=cursor))


@routes.get(_ONE + "/impacts/{memoryNodeId}/path", response_model=NodePath, responses=READ_ONE)
def impact_path(run_id: RunId, node_id: NodeId, reading: Reader) -> Response:
    """The way on which the run first reached a node, root first."""
    with reading.view() as view:
        return shown({"items": runs.path(view, run_id, node_id)})
