"""Memory edges: what depends on what."""

from typing import Annotated, Any

from fastapi import Path, Query, Request, Response

from app.api.conditional import ExpectedVersion, IfNoneMatch, one_row
from app.api.deps import Cursor, Limit, Reader, Writer, answer, shown
from app.api.reports import show_report
from app.api.routes import CHANGE, CREATE, DELETE, READ_ONE, READ_ROW, router
from app.api.wire import wire
from app.domain import models
from app.schemas import EdgePatch, NewEdge
from app.schemas.fields import Id
from app.schemas.outputs import MemoryEdge, Page, deleted, written
from app.schemas.runs import Report
from app.services import edges
from app.services.reports import Report as RunReport

routes = router("memory edges")

_PATH = "/memory-edges"
_ONE = _PATH + "/{memoryEdgeId}"

EdgeId = Annotated[Id, Path(alias="memoryEdgeId", title="Memory Edge")]


def _show_created(result: tuple[models.MemoryEdge, RunReport | None]) -> dict[str, Any]:
    edge, report = result
    return {**wire(edge), "invalidationRun": show_report(report) if report else None}


@routes.post(
    _PATH,
    status_code=201,
    response_model=written(MemoryEdge, invalidation_run=Report | None),
    responses=CREATE,
)
def create_edge(body: NewEdge, writing: Writer) -> Response:
    """Say that the target depends on the source.

    A `Supersedes` edge from a Valid node invalidates its target, and what rests on that: the run is in the
    answer.
    """
    stored = writing.once(lambda uow: edges.create(uow, body), _show_created, body=body)
    return answer(stored, _PATH, "memoryEdgeId")


@routes.get(_PATH, response_model=Page[MemoryEdge], responses=READ_ONE)
def list_edges(
    *,
    reading: Reader,
    graph_id: Annotated[Id | None, Query(alias="graphId", title="Memory Graph")] = None,
    source_node_id: Annotated[Id | None, Query(alias="sourceNodeId", title="Source Node")] = None,
    target_node_id: Annotated[Id | None, Query(alias="targetNodeId", title="Target Node")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """Edges of a graph, out of a source, into a target, or all of these at once."""
    with reading.view() as view:
        found = edges.page(
            view,
            graph_id=graph_id,
            source_node_id=source_node_id,
            target_node_id=target_node_id,
            limit=limit,
            cursor=cursor,
        )
        return shown(found)


@routes.get(_ONE, response_model=MemoryEdge, responses=READ_ROW)
def get_edge(edge_id: EdgeId, request: Request, reading: Reader, if_none_match: IfNoneMatch = None) -> Response:
    """One edge as it is now."""
    with reading.view() as view:
        return one_row(request, edges.get(view, edge_id))


@routes.patch(_ONE, response_model=written(MemoryEdge), responses=CHANGE)
def update_edge(edge_id: EdgeId, body: EdgePatch, writing: Writer, expected: ExpectedVersion) -> Response:
    """Change an edge. The old row stays in history."""
    stored = writing.once(lambda uow: edges.update(uow, edge_id, body, expected), status=200, body=body)
    return answer(stored, id_field="memoryEdgeId")


@routes.delete(_ONE, response_model=deleted(memory_edge_id=Id), responses=DELETE)
def delete_edge(edge_id: EdgeId, writing: Writer, expected: ExpectedVersion) -> Response:
    """End an edge. Its rows stay in history."""

    def gone(_: None) -> dict[str, Any]:
        return {"memoryEdgeId": edge_id}

    return answer(writing.once(lambda uow: edges.delete(uow, edge_id, expected), gone, status=200))
