"""What a correction brings with it: new content in place of what was wrong, a fixed rule in place of older versions."""

from uuid import UUID, uuid4

from app.domain.models import MemoryAssertion, MemoryNode
from app.services import rules
from app.store.unit import UnitOfWork

_MANY = 10_000


def restate(
    uow: UnitOfWork, node: MemoryNode, content: str, *, category: str | None = None, importance: float | None = None
) -> None:
    """What the node stated never was so; from its beginning it states this (SEMANTICS 7, Retracted)."""
    stated = [a for a in uow.assertions.page(None, node.memory_node_id, None, _MANY) if a.retracted_at is None]
    current = [a for a in stated if a.effective_to is None or a.effective_to > uow.stamp]
    for assertion in current:
        uow.assertions.retract(assertion.memory_assertion_id, uow.stamp)
    before = current[0] if current else None
    uow.assertions.add(
        MemoryAssertion(
            memory_assertion_id=uuid4(),
            graph_id=node.graph_id,
            memory_node_id=node.memory_node_id,
            content=content,
            category=category if category is not None else before.category if before else node.category,
            importance=importance if importance is not None else before.importance if before else 0.5,
            confidence=1.0,
            observed_at=uow.stamp,
            effective_from=before.effective_from if before else None,
            effective_to=before.effective_to if before else None,
            last_verified_at=None,
            superseded_by=None,
            retracted_at=None,
            source_rule_id=before.source_rule_id if before else None,
            valid_from=uow.stamp,
            valid_to=None,
            version=1,
        )
    )


def rest_on(uow: UnitOfWork, rule_id: UUID) -> tuple[list[UUID], list[UUID]]:
    """Rest everything on this version of its rule that rested on another one.

    Answers the nodes that state something under it and are not Valid, which are right again, and the targets of edges
    under it, which are to be looked at.
    """
    rule = rules.get(uow, rule_id)
    uow.rules.take_over(rule.source_rule_id)
    stating = uow.rules.nodes_resting_on(rule.source_rule_id, uow.stamp)
    fallen = [node_id for node_id in stating if (node := uow.nodes.find(node_id)) and node.status != "Valid"]
    return fallen, uow.revalidations.named_by_rule(rule.source_rule_id)
