"""What callers send about revalidation: corrections, decisions, claims, subscriptions."""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from app.schemas.base import Input, refuse
from app.schemas.fields import Content, Id, Instant, Key, Label, Name, Reason, Unit, check_text
from app.schemas.inputs import MAX_ROOTS, Example, Roots
from app.schemas.parts import RuleReference
from app.schemas.vocabulary import VOCABULARY

_GRAPH = VOCABULARY["graphId"].example

Decision = Literal["Accept", "Reject", "Supersede"]
EventType = Literal["InvalidationCompleted", "RevalidationCompleted"]
Url = Annotated[
    str,
    StringConstraints(min_length=8, max_length=2000, pattern=r"^https?://[^\s/?#]+[^\s]*$"),
    AfterValidator(check_text),
]


class Correction(Input):
    """A node that is right again, with what it states from now on where that has changed."""

    key: Key | None = None
    memory_node_id: Id | None = None
    content: Content | None = None
    category: Label | None = None
    importance: Unit | None = None
    base_confidence: Unit | None = None

    @model_validator(mode="after")
    def _one_node(self) -> Self:
        if (self.key is None) == (self.memory_node_id is None):
            refuse("key", "give exactly one of key and memoryNodeId")
        if self.content is None and (self.category is not None or self.importance is not None):
            refuse("content", "category and importance belong to new content")
        return self


class NewRevalidation(RuleReference):
    """Which nodes are right again, or are to be looked at as they are."""

    EXAMPLE: ClassVar[Example | None] = {
        "graphId": _GRAPH,
        "rootKeys": ["emacs-common"],
        "reason": "The upstream package is back.",
    }

    graph_id: Id | None = None
    root_node_ids: Roots[Id] = Field(default_factory=list)
    root_keys: Roots[Key] = Field(default_factory=list)
    corrections: Annotated[list[Correction], Field(max_length=MAX_ROOTS, fail_fast=True)] = Field(default_factory=list)
    memory_node_ids: Roots[Id] = Field(default_factory=list)
    keys: Roots[Key] = Field(default_factory=list)
    whole_graph: bool = False
    reason: Reason | None = None
    decided_by: Name | None = None
    effective_time: Instant | None = None

    @model_validator(mode="after")
    def _names_something(self) -> Self:
        by_key = bool(self.root_keys or self.keys or any(c.key is not None for c in self.corrections))
        if self.graph_id is None and (by_key or self.whole_graph):
            refuse("graph_id", "keys and wholeGraph need the graph they are of")
        named = (self.root_node_ids, self.root_keys, self.corrections, self.memory_node_ids, self.keys)
        if not any(named) and not self.whole_graph and self.source_rule_id is None and self.rule_name is None:
            refuse("root_node_ids", "name corrected roots, a fixed rule, nodes to look at, or set wholeGraph")
        return self


class NewDecision(Input):
    """What a person or an agent makes of a node. ``Supersede`` names the node that replaces it."""

    EXAMPLE: ClassVar[Example | None] = {
        "decision": "Accept",
        "decidedBy": "ana@example.org",
        "reason": "Two of the three sources agree.",
    }

    decision: Decision
    decided_by: Name
    reason: Reason | None = None
    certainty: Unit | None = None
    ground: Annotated[str, StringConstraints(max_length=64)] | None = None
    content: Content | None = None
    superseded_by_key: Key | None = None
    superseded_by_node_id: Id | None = None

    @model_validator(mode="after")
    def _replacement(self) -> Self:
        given = [name for name in (self.superseded_by_key, self.superseded_by_node_id) if name is not None]
        if self.decision == "Supersede" and len(given) != 1:
            refuse("superseded_by_node_id", "Supersede needs exactly one of supersededByNodeId and supersededByKey")
        if self.decision != "Supersede" and given:
            refuse("superseded_by_node_id", "only the decision Supersede names a replacement")
        if self.decision != "Accept" and self.content is not None:
            refuse("content", "only the decision Accept can bring new content")
        return self


class TaskDecision(NewDecision):
    """The same by an agent, which has to hold the task."""

    EXAMPLE: ClassVar[Example | None] = {"owner": "agent-7", "decision": "Accept", "decidedBy": "agent-7"}

    owner: Name


class TaskClaim(Input):
    """An agent asks for nodes to re-derive."""

    EXAMPLE: ClassVar[Example | None] = {"owner": "agent-7", "limit": 10, "leaseSeconds": 120}

    owner: Name
    graph_id: Id | None = None
    limit: int = Field(1, ge=1, le=100)
    lease_seconds: int = Field(60, ge=1, le=3600)


class TaskHeartbeat(Input):
    """An agent goes on holding a task."""

    EXAMPLE: ClassVar[Example | None] = {"owner": "agent-7", "leaseSeconds": 120}

    owner: Name
    lease_seconds: int = Field(60, ge=1, le=3600)


class NewWebhook(Input):
    """Where a fleet's events are sent."""

    EXAMPLE: ClassVar[dict[str, Any] | None] = {
        "url": "https://example.org/hooks/memory",
        "eventTypes": ["InvalidationCompleted"],
    }

    url: Url
    event_types: list[EventType] | None = Field(None, min_length=1)
    secret: Annotated[str, StringConstraints(min_length=24, max_length=200), AfterValidator(check_text)] | None = None
