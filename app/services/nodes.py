"""Memory nodes, one by one."""

from datetime import datetime
from uuid import UUID, uuid4

from app.domain import identity
from app.domain.errors import Conflict, NotFound
from app.domain.models import MemoryAssertion, MemoryNode, Page
from app.schemas import NewNode, NodePatch
from app.services import cursors, graphs
from app.services.versions import seen
from app.store.unit import UnitOfWork, View

_EARLIEST = datetime.fromisoformat("0001-01-01T00:00:00+00:00")


def create(uow: UnitOfWork, body: NewNode) -> MemoryNode:
    """A Valid node; ``content`` becomes its first assertion."""
    graphs.get(uow, body.graph_id)
    if body.key is not None and uow.nodes.find_by_key(body.graph_id, body.key):
        raise Conflict(f"Key {body.key!r} is taken in this graph.")
    key_id = identity.node_id(body.graph_id, body.key) if body.key is not None else uuid4()
    id_ = body.memory_node_id or key_id
    if uow.nodes.find(id_):
        raise Conflict(f"A memory node {id_} exists already.")
    base = next((c for c in (body.base_confidence, body.confidence) if c is not None), 1.0)
    node = MemoryNode(
        memory_node_id=id_,
        key=body.key,
        graph_id=body.graph_id,
        name=body.name or body.key or str(id_),
        node_type=body.node_type,
        category=body.category,
        status="Valid",
        invalid_since=None,
        invalidation=None,
        confidence=base if body.confidence is None else body.confidence,
        base_confidence=base,
        is_pinned=bool(body.is_pinned),
        pinned_by=body.pinned_by,
        pin_reason=body.pin_reason,
        created_at=body.created_at or uow.stamp,
        updated_at=uow.stamp,
        valid_from=uow.stamp,
        valid_to=None,
        version=1,
    )
    uow.nodes.add(node)
    if body.content is not None:
        uow.assertions.add(_first_assertion(node, body.content))
    return get(uow, id_)


def get(view: View, node_id: UUID) -> MemoryNode:
    node = view.nodes.find(node_id)
    if node is None:
        raise NotFound("Memory node", [node_id])
    return node


def page(
    view: View,
    *,
    graph_id: UUID,
    key: str | None = None,
    status: str | None = None,
    limit: int,
    cursor: str | None,
) -> Page[MemoryNode]:
    graphs.get(view, graph_id)
    return cursors.page_by_id(lambda after, count: view.nodes.page(graph_id, key, status, after, count), limit, cursor)


def update(uow: UnitOfWork, node_id: UUID, body: NodePatch, if_match: int | None) -> MemoryNode:
    """Change what a caller may change. A new base confidence, or a pin taken away, calls for a new look."""
    before = seen(get(uow, node_id), if_match)
    node = before._replace(**{name: getattr(body, name) for name in body.model_fields_set})
    if node == before:
        return node
    uow.nodes.update(node)
    if before.is_pinned and not node.is_pinned:
        uow.outbox.add("NodeUnpinned", node_id, uow.stamp)
    if before.base_confidence != node.base_confidence:
        uow.outbox.add("BaseConfidenceChanged", node_id, uow.stamp)
    return get(uow, node_id)


def delete(uow: UnitOfWork, node_id: UUID, if_match: int | None) -> None:
    """Close the node in history, with its edges and assertions; what rested on it is to be looked at."""
    seen(get(uow, node_id), if_match)
    for edge in uow.edges.of_node(node_id):
        other = edge.source_node_id if edge.target_node_id == node_id else edge.target_node_id
        uow.outbox.add("EdgeRemoved", other, uow.stamp)
    uow.reviews.close(node_id, "Resolved", uow.stamp)
    uow.looks.stand([], [node_id], uow.stamp)
    uow.nodes.delete(node_id)


def history(view: View, node_id: UUID, limit: int, cursor: str | None) -> Page[MemoryNode]:
    """Every version, oldest first, of a node that is or was there."""
    (after,) = cursors.decode(cursor, cursors.instant)
    rows = view.nodes.history(node_id, after or _EARLIEST, limit + 1)
    if not rows and cursor is None:
        raise NotFound("Memory node", [node_id])
    return cursors.cut(rows, limit, lambda row: (row.valid_from,))


def named(view: View, graph_id: UUID | None, key: str | None, node_id: UUID | None) -> MemoryNode:
    """A node by id, or by key in its graph."""
    if node_id is not None:
        return get(view, node_id)
    node = view.nodes.find_by_key(graph_id, key) if graph_id and key is not None else None
    if node is None:
        raise NotFound("Memory node with key", [key])
    return node


def name_of(node: MemoryNode) -> str:
    """What other ids are made from: the key, or the id where there is none."""
    return node.key if node.key is not None else str(node.memory_node_id)


def _first_assertion(node: MemoryNode, content: str) -> MemoryAssertion:
    return MemoryAssertion(
        memory_assertion_id=identity.first_assertion_id(node.graph_id, name_of(node)),
        graph_id=node.graph_id,
        memory_node_id=node.memory_node_id,
        content=content,
        category=node.category,
        importance=0.5,
        confidence=1.0,
        observed_at=node.created_at,
        effective_from=None,
        effective_to=None,
        last_verified_at=None,
        superseded_by=None,
        retracted_at=None,
        source_rule_id=None,
        valid_from=node.valid_from,
        valid_to=None,
        version=1,
    )
