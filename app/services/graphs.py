"""Memory graphs."""

from uuid import UUID, uuid4

from app.domain.errors import Conflict, NotFound
from app.domain.models import MemoryGraph, Page
from app.schemas import GraphPatch, NewGraph
from app.services.cursors import page_by_id
from app.store.unit import UnitOfWork, View


def create(uow: UnitOfWork, body: NewGraph) -> MemoryGraph:
    graph = MemoryGraph(
        body.graph_id or uuid4(), body.name, body.revalidation_mode, body.policy, body.propagation, uow.stamp
    )
    if uow.graphs.find(graph.graph_id):
        raise Conflict(f"A memory graph {graph.graph_id} exists already.")
    uow.graphs.add(graph)
    return graph


def get(view: View, graph_id: UUID) -> MemoryGraph:
    graph = view.graphs.find(graph_id)
    if graph is None:
        raise NotFound("Memory graph", [graph_id])
    return graph


def page(view: View, limit: int, cursor: str | None) -> Page[MemoryGraph]:
    return page_by_id(view.graphs.page, limit, cursor)


def update(uow: UnitOfWork, graph_id: UUID, body: GraphPatch) -> MemoryGraph:
    """Change the name or the defaults; runs that are done keep theirs."""
    graph = get(uow, graph_id)._replace(**{name: getattr(body, name) for name in body.model_fields_set})
    uow.graphs.update(graph)
    return graph
