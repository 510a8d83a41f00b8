"""Memory nodes, one by one."""

from typing import Annotated, Any

from fastapi import Path, Query, Request, Response

from app.api.conditional import ExpectedVersion, IfNoneMatch, one_row
from app.api.deps import Cursor, Limit, Reader, Writer, answer, shown
from app.api.routes import CHANGE, CREATE, DELETE, READ_ONE, READ_ROW, router
from app.api.wire import wire
from app.schemas import NewNode, NodePatch
from app.schemas.fields import Id, Key, Status
from app.schemas.outputs import MemoryNode, Page, deleted, written
from app.schemas.runs import Staleness
from app.services import nodes, staleness

routes = router("memory nodes")

_Written = written(MemoryNode)
_PATH = "/memory-nodes"
_ONE = _PATH + "/{memoryNodeId}"

NodeId = Annotated[Id, Path(alias="memoryNodeId", title="Memory Node")]


@routes.post(_PATH, status_code=201, response_model=_Written, responses=CREATE)
def create_node(body: NewNode, writing: Writer) -> Response:
    """Remember a thing. Its `content`, if given, becomes its first assertion."""
    return answer(writing.once(lambda uow: nodes.create(uow, body), body=body), _PATH, "memoryNodeId")


@routes.get(_PATH, response_model=Page[MemoryNode], responses=READ_ONE)
def list_nodes(
    *,
    reading: Reader,
    graph_id: Annotated[Id, Query(alias="graphId", title="Memory Graph")],
    key: Annotated[Key | None, Query(title="Key", description="The one node with this key.")] = None,
    status: Annotated[Status | None, Query(title="Node Validity", description="Only these.")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """The nodes of a graph, or the one with a key."""
    with reading.view() as view:
        return shown(nodes.page(view, graph_id=graph_id, key=key, status=status, limit=limit, cursor=cursor))


@routes.get(_ONE, response_model=MemoryNode, responses=READ_ROW)
def get_node(node_id: NodeId, request: Request, reading: Reader, if_none_match: IfNoneMatch = None) -> Response:
    """One node as it is now."""
    with reading.view() as view:
        return one_row(request, nodes.get(view, node_id))


@routes.patch(_ONE, response_model=_Written, responses=CHANGE)
def update_node(node_id: NodeId, body: NodePatch, writing: Writer, expected: ExpectedVersion) -> Response:
    """Change a node, pin it or take its pin away. The old row stays in its history."""
    stored = writing.once(lambda uow: nodes.update(uow, node_id, body, expected), status=200, body=body)
    return answer(stored, id_field="memoryNodeId")


@routes.delete(_ONE, response_model=deleted(memory_node_id=Id), responses=DELETE)
def delete_node(node_id: NodeId, writing: Writer, expected: ExpectedVersion) -> Response:
    """End a node. Its rows stay in history, and in snapshots of earlier times."""

    def gone(_: None) -> dict[str, Any]:
        return {"memoryNodeId": node_id}

    return answer(writing.once(lambda uow: nodes.delete(uow, node_id, expected), gone, status=200))


@routes.get(_ONE + "/history", response_model=Page[MemoryNode], responses=READ_ONE)
def node_history(node_id: NodeId, reading: Reader, limit: Limit = 100, cursor: Cursor = None) -> Response:
    """Every state that the database knew of a node, newest last."""
    with reading.view() as view:
        return shown(nodes.history(view, node_id, limit, cursor))


@routes.get(_ONE + "/staleness", response_model=Staleness, responses=READ_ONE)
def node_staleness(node_id: NodeId, reading: Reader) -> Response:
    """Why a node is not Valid: the root causes, not just the neighbour."""
    with reading.view() as view:
        found = staleness.staleness(view, node_id)
    node = wire(found.node)
    return shown({**{name: node[name] for name in ("memoryNodeId", "key", "status")}, "causes": found.causes})
