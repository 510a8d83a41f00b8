"""Assertions, one by one."""

from uuid import UUID

from app.domain import identity
from app.domain.errors import Conflict, Invalid, NotFound
from app.domain.models import MemoryAssertion, Page
from app.schemas import AssertionPatch, NewAssertion
from app.services import cursors, graphs, rules
from app.services.edges import check_interval
from app.services.nodes import get as get_node
from app.services.nodes import name_of, named
from app.services.versions import seen
from app.store.unit import UnitOfWork, View


def create(uow: UnitOfWork, body: NewAssertion) -> MemoryAssertion:
    node = named(uow, body.graph_id, body.node, body.memory_node_id)
    if body.graph_id is not None and node.graph_id != body.graph_id:
        raise Invalid("An assertion belongs to the graph of its node, which is another one.", "/graphId")
    default = identity.assertion_id(node.graph_id, name_of(node), body.effective_from, body.content)
    assertion = MemoryAssertion(
        memory_assertion_id=body.memory_assertion_id or default,
        graph_id=node.graph_id,
        memory_node_id=node.memory_node_id,
        content=body.content,
        category=body.category,
        importance=0.5 if body.importance is None else body.importance,
        confidence=1.0 if body.confidence is None else body.confidence,
        observed_at=body.observed_at or uow.stamp,
        effective_from=body.effective_from,
        effective_to=body.effective_to,
        last_verified_at=body.last_verified_at,
        superseded_by=body.superseded_by,
        retracted_at=body.retracted_at,
        source_rule_id=rules.referred(uow, body.source_rule_id, body.rule_name, body.rule_version),
        valid_from=uow.stamp,
        valid_to=None,
        version=1,
    )
    if uow.assertions.find(assertion.memory_assertion_id):
        raise Conflict(f"A memory assertion {assertion.memory_assertion_id} exists already.")
    if body.superseded_by is not None:
        get(uow, body.superseded_by)
    uow.assertions.add(assertion)
    return get(uow, assertion.memory_assertion_id)


def get(view: View, assertion_id: UUID) -> MemoryAssertion:
    assertion = view.assertions.find(assertion_id)
    if assertion is None:
        raise NotFound("Memory assertion", [assertion_id])
    return assertion


def page(
    view: View,
    *,
    graph_id: UUID | None = None,
    memory_node_id: UUID | None = None,
    limit: int,
    cursor: str | None,
) -> Page[MemoryAssertion]:
    """Assertions of a node, or of a whole graph."""
    if graph_id is None and memory_node_id is None:
        raise Invalid("Name a graph or a node.", "/graphId")
    if memory_node_id is not None:
        node = get_node(view, memory_node_id)
        if graph_id not in (None, node.graph_id):
            raise NotFound("Memory node of that graph", [memory_node_id])
    elif graph_id is not None:
        graphs.get(view, graph_id)
    return cursors.page_by_id(
        lambda after, count: view.assertions.page(graph_id, memory_node_id, after, count), limit, cursor
    )


def update(uow: UnitOfWork, assertion_id: UUID, body: AssertionPatch, if_match: int | None) -> MemoryAssertion:
    """Change what is said about the content; the content itself is superseded or retracted, not edited."""
    assertion = seen(get(uow, assertion_id), if_match)
    changed = assertion._replace(**{name: getattr(body, name) for name in body.model_fields_set})
    check_interval(changed.effective_from, changed.effective_to)
    if changed == assertion:
        return assertion
    uow.assertions.update(changed)
    return get(uow, assertion_id)


def delete(uow: UnitOfWork, assertion_id: UUID, if_match: int | None) -> None:
    """Close the assertion in history."""
    seen(get(uow, assertion_id), if_match)
    uow.assertions.delete(assertion_id)
