"""Fields that a request body and an import line have in common, and the rules between them."""

from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from app.schemas.base import Input, is_later, refuse
from app.schemas.fields import (
    EVIDENTIAL,
    Content,
    EdgeType,
    Id,
    Instant,
    Key,
    Label,
    MinSupport,
    Name,
    Reason,
    Unit,
)

End = Annotated[Instant, AfterValidator(is_later)]


class RuleReference(Input):
    """A rule version, by id or by name and version."""

    source_rule_id: Id | None = None
    rule_name: Name | None = None
    rule_version: Label | None = None

    @model_validator(mode="after")
    def _one_rule(self) -> Self:
        if (self.rule_name is None) != (self.rule_version is None):
            refuse("rule_version" if self.rule_name else "rule_name", "ruleName and ruleVersion go together")
        if self.source_rule_id is not None and self.rule_name is not None:
            refuse("rule_name", "give either sourceRuleId or ruleName and ruleVersion")
        return self


class NodeFields(Input):
    """What a caller may say of a new node."""

    memory_node_id: Id | None = None
    key: Key | None = None
    node_type: Label | None = None
    category: Label | None = None
    confidence: Unit | None = None
    base_confidence: Unit | None = None
    is_pinned: bool | None = None
    pinned_by: Name | None = None
    pin_reason: Reason | None = None
    created_at: Instant | None = None
    content: Content | None = None


class EdgeFields(RuleReference):
    """What a caller may say of a new edge; each end by key or by id."""

    memory_edge_id: Id | None = None
    source: Key | None = None
    source_node_id: Id | None = None
    target: Key | None = None
    target_node_id: Id | None = None
    edge_type: EdgeType
    support_group: Key | None = None
    min_support: MinSupport | None = None
    weight: Unit | None = None
    effective_from: Instant | None = None
    effective_to: End | None = None
    created_at: Instant | None = None

    @model_validator(mode="after")
    def _two_ends(self) -> Self:
        if (self.source is None) == (self.source_node_id is None):
            refuse("source", "give exactly one of source (a key) and sourceNodeId")
        if (self.target is None) == (self.target_node_id is None):
            refuse("target", "give exactly one of target (a key) and targetNodeId")
        by_key = self.source is not None and self.source == self.target
        if by_key or (self.source_node_id is not None and self.source_node_id == self.target_node_id):
            refuse("target" if by_key else "target_node_id", "a node cannot depend on itself")
        return self

    @model_validator(mode="after")
    def _groups_are_of_evidence(self) -> Self:
        if self.support_group is not None and self.edge_type not in EVIDENTIAL:
            refuse("support_group", f"only edges of type {', '.join(sorted(EVIDENTIAL))} can be in a group")
        if self.min_support is not None and self.support_group is None:
            refuse("min_support", "needs a supportGroup")
        return self


class AssertionFields(RuleReference):
    """What a caller may say of a new assertion."""

    memory_assertion_id: Id | None = None
    node: Key | None = None
    memory_node_id: Id | None = None
    content: Content
    category: Label | None = None
    importance: Unit | None = None
    confidence: Unit | None = None
    observed_at: Instant | None = None
    effective_from: Instant | None = None
    effective_to: End | None = None
    last_verified_at: Instant | None = None
    superseded_by: Id | None = None
    retracted_at: Instant | None = None

    @model_validator(mode="after")
    def _one_node(self) -> Self:
        if (self.node is None) == (self.memory_node_id is None):
            refuse("node", "give exactly one of node (a key) and memoryNodeId")
        return self


class EvidenceFields(Input):
    """What a caller may say of a piece of evidence."""

    evidence_reference_id: Id | None = None
    memory_assertion_id: Id | None = None
    node: Key | None = None
    evidence_type: Label
    reference: Reason
    details: Content | None = None
    recorded_at: Instant | None = None

    @model_validator(mode="after")
    def _one_assertion(self) -> Self:
        if (self.memory_assertion_id is None) == (self.node is None):
            refuse("memory_assertion_id", "give exactly one of memoryAssertionId and node (a key)")
        return self


class RuleFields(Input):
    """One version of a business rule."""

    source_rule_id: Id | None = None
    name: Name
    version: Label = Field(examples=["2026.1"])
    description: Content | None = None
    effective_at: Instant | None = None
    expires_at: End | None = None
