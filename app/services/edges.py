"""Memory edges, one by one."""

from datetime import datetime
from uuid import UUID

from app.domain import identity
from app.domain.errors import Conflict, Invalid, NotFound
from app.domain.models import MemoryEdge, MemoryNode, Page
from app.schemas import EdgePatch, NewEdge
from app.schemas.fields import EVIDENTIAL
from app.services import cursors, graphs, invalidate, rules
from app.services.nodes import get as get_node
from app.services.nodes import name_of, named
from app.services.reports import Report
from app.services.versions import seen
from app.store.unit import UnitOfWork, View


def create(uow: UnitOfWork, body: NewEdge) -> tuple[MemoryEdge, Report | None]:
    """An edge of its target's graph. One of type ``Supersedes`` from a node that stands invalidates its target."""
    source = named(uow, body.graph_id, body.source, body.source_node_id)
    target = named(uow, body.graph_id, body.target, body.target_node_id)
    if source.memory_node_id == target.memory_node_id:
        raise Invalid("A node cannot depend on itself.", "/target")
    if body.graph_id is not None and target.graph_id != body.graph_id:
        raise Invalid("An edge belongs to the graph of its target, which is another one.", "/graphId")
    edge = MemoryEdge(
        memory_edge_id=body.memory_edge_id or _default_id(body, source, target),
        graph_id=target.graph_id,
        source_node_id=source.memory_node_id,
        target_node_id=target.memory_node_id,
        edge_type=body.edge_type,
        support_group=body.support_group,
        min_support=body.min_support or 1,
        weight=1.0 if body.weight is None else body.weight,
        effective_from=body.effective_from,
        effective_to=body.effective_to,
        source_rule_id=rules.referred(uow, body.source_rule_id, body.rule_name, body.rule_version),
        created_at=body.created_at or uow.stamp,
        valid_from=uow.stamp,
        valid_to=None,
        version=1,
    )
    if uow.edges.find(edge.memory_edge_id):
        raise Conflict(
            f"A memory edge {edge.memory_edge_id} exists already; edges that differ in time only need ids of their own."
        )
    uow.edges.add(edge)
    _tell(uow, "EdgeAdded", edge)
    report = _supersede(uow, edge, source, target) if edge.edge_type == "Supersedes" else None
    return get(uow, edge.memory_edge_id), report


def get(view: View, edge_id: UUID) -> MemoryEdge:
    edge = view.edges.find(edge_id)
    if edge is None:
        raise NotFound("Memory edge", [edge_id])
    return edge


def page(
    view: View,
    *,
    graph_id: UUID | None = None,
    source_node_id: UUID | None = None,
    target_node_id: UUID | None = None,
    limit: int,
    cursor: str | None,
) -> Page[MemoryEdge]:
    """Edges of a graph, out of a node, into a node, or all of these at once."""
    if graph_id is None and source_node_id is None and target_node_id is None:
        raise Invalid("Name a graph, a source node or a target node.", "/graphId")
    if graph_id is not None:
        graphs.get(view, graph_id)
    for node_id in (source_node_id, target_node_id):
        if node_id is not None:
            get_node(view, node_id)
    return cursors.page_by_id(
        lambda after, count: view.edges.page(graph_id, source_node_id, target_node_id, after, count),
        limit,
        cursor,
    )


def update(uow: UnitOfWork, edge_id: UUID, body: EdgePatch, if_match: int | None) -> MemoryEdge:
    """Change what an edge carries, not what it joins; its target is to be looked at."""
    edge = seen(get(uow, edge_id), if_match)
    changed = edge._replace(**{name: getattr(body, name) for name in body.model_fields_set})
    if changed.support_group is not None and changed.edge_type not in EVIDENTIAL:
        raise Invalid(f"An edge of type {edge.edge_type} cannot be in a support group.", "/supportGroup")
    if changed.support_group is None:
        if body.min_support is not None:
            raise Invalid("minSupport needs a supportGroup.", "/minSupport")
        changed = changed._replace(min_support=1)
    check_interval(changed.effective_from, changed.effective_to)
    rules.referred(uow, changed.source_rule_id, None, None)
    if changed == edge:
        return edge
    uow.edges.update(changed)
    _tell(uow, "EdgeChanged", edge)
    return get(uow, edge_id)


def delete(uow: UnitOfWork, edge_id: UUID, if_match: int | None) -> None:
    """Close the edge in history; its target is to be looked at."""
    edge = seen(get(uow, edge_id), if_match)
    uow.edges.delete(edge_id)
    _tell(uow, "EdgeRemoved", edge)


def check_interval(start: datetime | None, end: datetime | None) -> None:
    if start is not None and end is not None and end <= start:
        raise Invalid("effectiveTo must be later than effectiveFrom.", "/effectiveTo")


def _tell(uow: UnitOfWork, event_type: str, edge: MemoryEdge) -> None:
    """The target is to be looked at; of a contradiction, which is symmetric, both ends."""
    uow.outbox.add(event_type, edge.target_node_id, uow.stamp)
    if edge.edge_type == "Contradicts":
        uow.outbox.add(event_type, edge.source_node_id, uow.stamp)


def _default_id(body: NewEdge, source: MemoryNode, target: MemoryNode) -> UUID:
    """Keys are names within a graph; a node of another one goes by its id."""
    source_name = name_of(source) if source.graph_id == target.graph_id else str(source.memory_node_id)
    return identity.edge_id(target.graph_id, body.edge_type, source_name, name_of(target), body.support_group)


def _supersede(uow: UnitOfWork, edge: MemoryEdge, source: MemoryNode, target: MemoryNode) -> Report | None:
    """The replaced node falls while the replacing one stands; supports from the one to the other end (SEMANTICS 3)."""
    at = edge.effective_from or uow.stamp
    if edge.effective_to is None or edge.effective_to > uow.stamp:
        ended = uow.edges.end_supports(target.memory_node_id, source.memory_node_id, at)
        if ended:
            uow.outbox.add("EdgeChanged", source.memory_node_id, uow.stamp)
    replacing = {other.memory_node_id for other in uow.edges.superseders(target.memory_node_id, uow.stamp)}
    if source.memory_node_id not in replacing or not _stands(uow, source.memory_node_id, source.status, uow.stamp):
        return None
    if uow.edges.closes_circle(target.memory_node_id, source.memory_node_id, uow.stamp):
        return None
    rule = uow.rules.find(edge.source_rule_id) if edge.source_rule_id else None
    since = max(at, rule.effective_at) if rule else at
    reason = f"Superseded by {name_of(source)}."
    return invalidate.invalidate_derived(uow, [target.memory_node_id], reason, effective_time=since)


def _stands(view: View, node_id: UUID, status: str, at: datetime) -> bool:
    """Whether a node is not Invalid, or is itself superseded by one that stands."""
    seen, waiting = {node_id}, [(node_id, status)]
    while waiting:
        id_, status = waiting.pop()
        if status != "Invalid":
            return True
        for other in view.edges.superseders(id_, at):
            if other.memory_node_id not in seen:
                seen.add(other.memory_node_id)
                waiting.append((other.memory_node_id, other.status))
    return False
