"""Bodies of requests."""

from typing import Annotated, Any, ClassVar, Self, TypeVar

from pydantic import AfterValidator, Field, model_validator

from app.schemas.base import Input, Patch, refuse
from app.schemas.fields import (
    Id,
    Instant,
    Key,
    Label,
    Lowered,
    MinSupport,
    Name,
    Policy,
    Propagation,
    Reason,
    RevalidationMode,
    Unit,
    or_default,
)
from app.schemas.parts import AssertionFields, EdgeFields, End, EvidenceFields, NodeFields, RuleFields
from app.schemas.vocabulary import VOCABULARY

Example = dict[str, Any]
_GRAPH = VOCABULARY["graphId"].example
_NODE = VOCABULARY["memoryNodeId"].example
MAX_ROOTS = 1000

Item = TypeVar("Item")
Roots = Annotated[
    list[Item],
    Field(max_length=MAX_ROOTS, fail_fast=True),
    AfterValidator(lambda roots: list(dict.fromkeys(roots))),
]
"""Each once, as first named. The first fault ends the check: each further one costs memory."""


class NewGraph(Input):
    EXAMPLE: ClassVar[Example | None] = {"name": "debian-bookworm"}

    name: Name
    graph_id: Id | None = None
    revalidation_mode: RevalidationMode = "automatic"
    policy: Policy = "evidential"
    propagation: Propagation = "frontier"


class GraphPatch(Patch):
    EXAMPLE: ClassVar[Example | None] = {"policy": "strict"}

    name: Name | None = None
    revalidation_mode: RevalidationMode | None = None
    policy: Policy | None = None
    propagation: Propagation | None = None


class NewNode(NodeFields):
    """A Valid node; ``key`` and ``name`` stand in for each other, and one of them has to be given."""

    EXAMPLE: ClassVar[Example | None] = {
        "graphId": _GRAPH,
        "key": "libc6",
        "nodeType": "Fact",
        "content": "libc6 is installed in version 2.36.",
    }

    graph_id: Id
    name: Name | None = None

    @model_validator(mode="after")
    def _is_named(self) -> Self:
        if self.name is None and self.key is None:
            refuse("name", "give a name, a key or both")
        return self

    @model_validator(mode="after")
    def _pins_are_owned(self) -> Self:
        _check_pin(self.is_pinned, self.pinned_by, self.pin_reason)
        return self


class NodePatch(Patch):
    EXAMPLE: ClassVar[Example | None] = {
        "isPinned": True,
        "pinnedBy": "ana@example.org",
        "pinReason": "Checked by hand",
    }
    NULLABLE = frozenset({"node_type", "category", "pinned_by", "pin_reason"})

    name: Name | None = None
    node_type: Label | None = None
    category: Label | None = None
    base_confidence: Unit | None = None
    is_pinned: bool | None = None
    pinned_by: Name | None = None
    pin_reason: Reason | None = None

    @model_validator(mode="after")
    def _pins_are_owned(self) -> Self:
        _check_pin(self.is_pinned, self.pinned_by, self.pin_reason)
        if self.is_pinned is False and self.pinned_by is None:
            refuse("pinned_by", "taking a pin away needs the name of who does it")
        return self


def _check_pin(is_pinned: bool | None, pinned_by: str | None, pin_reason: str | None) -> None:
    if is_pinned and pinned_by is None:
        refuse("pinned_by", "a pin needs the name of who sets it")
    if is_pinned and pin_reason is None:
        refuse("pin_reason", "a pin needs a reason")
    if is_pinned is None and (pinned_by is not None or pin_reason is not None):
        refuse("is_pinned", "pinnedBy and pinReason need isPinned")


class NewEdge(EdgeFields):
    """Ends by key need the graph of the keys; otherwise the edge is of the graph of its target."""

    EXAMPLE: ClassVar[Example | None] = {
        "graphId": _GRAPH,
        "source": "libc6",
        "target": "bash",
        "edgeType": "Requires",
    }

    graph_id: Id | None = None
    weight: Annotated[Unit, or_default(1.0, Unit)] = 1.0

    @model_validator(mode="after")
    def _keys_have_a_graph(self) -> Self:
        if self.graph_id is None and (self.source is not None or self.target is not None):
            refuse("graph_id", "keys need the graph they are keys of")
        return self


class EdgePatch(Patch):
    EXAMPLE: ClassVar[Example | None] = {"weight": 0.8}
    NULLABLE = frozenset({"support_group", "effective_from", "effective_to", "source_rule_id"})

    support_group: Key | None = None
    min_support: MinSupport | None = None
    weight: Unit | None = None
    effective_from: Instant | None = None
    effective_to: End | None = None
    source_rule_id: Id | None = None


class NewAssertion(AssertionFields):
    """A node by key needs the graph of the key."""

    EXAMPLE: ClassVar[Example | None] = {
        "memoryNodeId": _NODE,
        "content": "libc6 is installed in version 2.36.",
    }

    graph_id: Id | None = None
    importance: Annotated[Unit, or_default(0.5, Unit)] = 0.5
    confidence: Annotated[Unit, or_default(1.0, Unit)] = 1.0

    @model_validator(mode="after")
    def _keys_have_a_graph(self) -> Self:
        if self.node is not None and self.graph_id is None:
            refuse("graph_id", "a key needs the graph it is a key of")
        return self


class AssertionPatch(Patch):
    EXAMPLE: ClassVar[Example | None] = {"importance": 0.9}
    NULLABLE = frozenset({"category", "effective_from", "effective_to"})

    category: Label | None = None
    importance: Unit | None = None
    confidence: Unit | None = None
    effective_from: Instant | None = None
    effective_to: End | None = None


class NewEvidence(EvidenceFields):
    """A node by key needs the graph of the key, and stands for that node's first assertion."""

    EXAMPLE: ClassVar[Example | None] = {
        "memoryAssertionId": VOCABULARY["memoryAssertionId"].example,
        "evidenceType": "Document",
        "reference": "https://example.org/contracts/17",
    }

    graph_id: Id | None = None

    @model_validator(mode="after")
    def _keys_have_a_graph(self) -> Self:
        if self.node is not None and self.graph_id is None:
            refuse("graph_id", "a key needs the graph it is a key of")
        return self


class NewRule(RuleFields):
    """A further version of a known name invalidates what rested on the earlier ones."""

    EXAMPLE: ClassVar[Example | None] = {
        "name": "returns-policy",
        "version": "2026.1",
        "effectiveAt": "2026-03-01T00:00:00Z",
    }

    revalidate: bool = False


class NewInvalidation(Input):
    """Roots by id, by key in ``graphId``, or both: 1 to 1,000 together. Repeated ones count once."""

    EXAMPLE: ClassVar[Example | None] = {
        "graphId": _GRAPH,
        "rootKeys": ["emacs-common"],
        "reason": "The package was withdrawn.",
    }

    graph_id: Id | None = None
    root_node_ids: Roots[Id] = Field(default_factory=list)
    root_keys: Roots[Key] = Field(default_factory=list)
    reason: Reason
    status: Lowered = Field(default="Invalid", examples=["Invalid"])
    effective_time: Instant | None = None
    policy: Policy | None = None
    propagation: Propagation | None = None
    override_pinned: bool = False
    dry_run: bool = False
    plan_token: Label | None = None

    @model_validator(mode="after")
    def _has_roots(self) -> Self:
        roots = len(self.root_node_ids) + len(self.root_keys)
        if not 1 <= roots <= MAX_ROOTS:
            refuse("root_node_ids", "name 1 to 1,000 roots, by rootNodeIds, rootKeys or both")
        if self.root_keys and self.graph_id is None:
            refuse("graph_id", "rootKeys need the graph they are keys of")
        if self.dry_run and self.plan_token is not None:
            refuse("plan_token", "belongs to the real call that follows a dry run")
        return self


class NewBookmark(Input):
    EXAMPLE: ClassVar[Example | None] = {"name": "before the upgrade"}

    name: Name
    as_of: Instant | None = None
