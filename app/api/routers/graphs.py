"""Memory graphs and their settings."""

from fastapi import Response

from app.api.deps import Cursor, GraphId, Limit, Reader, Writer, answer, shown
from app.api.routes import CREATE, READ, READ_ONE, may_fail, router
from app.schemas import GraphPatch, NewGraph
from app.schemas.outputs import MemoryGraph, Page, written
from app.services import graphs

routes = router("memory graphs")

_Written = written(MemoryGraph)
_PATH = "/memory-graphs"


@routes.post(_PATH, status_code=201, response_model=_Written, responses=may_fail(400, 409, 413, 415))
def create_graph(body: NewGraph, writing: Writer) -> Response:
    """Make a graph: the memory of one agent or one context."""
    stored = writing.once(lambda uow: graphs.create(uow, body), body=body)
    return answer(stored, _PATH, "graphId")


@routes.get(_PATH, response_model=Page[MemoryGraph], responses=READ)
def list_graphs(reading: Reader, limit: Limit = 100, cursor: Cursor = None) -> Response:
    """The graphs of the fleet."""
    with reading.view() as view:
        return shown(graphs.page(view, limit, cursor))


@routes.get(_PATH + "/{graphId}", response_model=MemoryGraph, responses=READ_ONE)
def get_graph(graph_id: GraphId, reading: Reader) -> Response:
    """One graph with its settings."""
    with reading.view() as view:
        return shown(graphs.get(view, graph_id))


@routes.patch(_PATH + "/{graphId}", response_model=_Written, responses=CREATE)
def update_graph(graph_id: GraphId, body: GraphPatch, writing: Writer) -> Response:
    """Change the name or the defaults that invalidations of the graph start from."""
    return answer(writing.once(lambda uow: graphs.update(uow, graph_id, body), status=200, body=body))
