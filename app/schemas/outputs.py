"""Answers, as the documentation shows them. ``api/wire.py`` writes them straight from the rows."""

from typing import Any, Generic, Literal, TypeVar

from pydantic import Field, create_model

from app.schemas.base import Output
from app.schemas.fields import (
    EdgeType,
    Id,
    Instant,
    Invalidation,
    Policy,
    Propagation,
    RevalidationMode,
    Status,
)

Item = TypeVar("Item")


class MemoryGraph(Output):
    graph_id: Id
    name: str
    revalidation_mode: RevalidationMode
    policy: Policy
    propagation: Propagation
    created_at: Instant


class NodeState(Output):
    """A node as a snapshot shows it."""

    memory_node_id: Id
    key: str | None
    graph_id: Id
    name: str
    node_type: str | None
    category: str | None
    status: Status
    invalid_since: Instant | None
    invalidation: Invalidation | None
    confidence: float
    base_confidence: float
    is_pinned: bool
    pinned_by: str | None
    pin_reason: str | None
    created_at: Instant
    updated_at: Instant
    valid_from: Instant
    version: int


class MemoryNode(NodeState):
    """A thing that is remembered, with its validity."""

    valid_to: Instant | None


class ExternalNode(Output):
    """Stands for a node of another graph that an edge of this one reaches."""

    memory_node_id: Id
    key: str | None
    graph_id: Id
    name: str
    external: Literal[True]


class EdgeState(Output):
    """An edge as a snapshot shows it."""

    memory_edge_id: Id
    graph_id: Id
    source_node_id: Id
    target_node_id: Id
    edge_type: EdgeType
    support_group: str | None
    min_support: int
    weight: float
    effective_from: Instant | None
    effective_to: Instant | None
    source_rule_id: Id | None
    created_at: Instant
    valid_from: Instant
    version: int


class MemoryEdge(EdgeState):
    """The target depends on the source."""

    valid_to: Instant | None


class AssertionState(Output):
    """An assertion as a snapshot shows it."""

    memory_assertion_id: Id
    graph_id: Id
    memory_node_id: Id
    content: str
    category: str | None
    importance: float
    confidence: float
    observed_at: Instant
    effective_from: Instant | None
    effective_to: Instant | None
    last_verified_at: Instant | None
    superseded_by: Id | None
    retracted_at: Instant | None
    source_rule_id: Id | None
    valid_from: Instant
    version: int


class MemoryAssertion(AssertionState):
    """What a node states."""

    valid_to: Instant | None


class EvidenceReference(Output):
    """A document, observation or answer of an API that supports an assertion."""

    evidence_reference_id: Id
    graph_id: Id
    memory_assertion_id: Id
    evidence_type: str
    reference: str
    details: str | None
    recorded_at: Instant


class SourceRule(Output):
    """One version of a business rule."""

    source_rule_id: Id
    name: str
    version: str = Field(examples=["2026.1"])
    description: str | None
    effective_at: Instant
    expires_at: Instant | None


class Bookmark(Output):
    """A named system time of a graph."""

    snapshot_id: Id
    graph_id: Id
    name: str
    as_of: Instant
    requested_at: Instant


class Page(Output, Generic[Item]):
    """A part of a list."""

    items: list[Item]
    next_cursor: str | None


class Snapshot(Output):
    """A graph as the database knew it at one system time, ordered by id as lower-case text."""

    graph_id: Id
    as_of: Instant
    nodes: list[NodeState | ExternalNode]
    edges: list[EdgeState]
    assertions: list[AssertionState]


class Change(Output, Generic[Item]):
    """How one row differs between two system times."""

    change: Literal["added", "removed", "changed"]
    before: Item | None
    after: Item | None


class Diff(Output):
    """What differs in a graph between two system times."""

    graph_id: Id
    from_: Instant = Field(alias="from")
    to: Instant
    nodes: list[Change[NodeState]]
    edges: list[Change[EdgeState]]
    assertions: list[Change[AssertionState]]


class ImportReport(Output):
    """What an import loaded."""

    graph_id: Id
    committed_at: Instant
    added: dict[str, int]
    changed: dict[str, int]


class Health(Output):
    """Whether the service works."""

    status: Literal["live", "ready"] = Field(description="live or ready.", examples=["ready"])


class Fault(Output):
    """One thing that is wrong with the request."""

    pointer: str
    detail: str


class Problem(Output):
    """RFC 9457: why the request was not carried out."""

    type: str
    title: str
    status: int = Field(title="Status", description="The HTTP status.", examples=[404])
    detail: str


class InvalidProblem(Problem):
    """RFC 9457: what is wrong with the request, fault by fault."""

    errors: list[Fault]
    line: int | None = Field(None, description="Of an import: number of the line at fault, counted from 1.")


def written(model: type[Output], **more: Any) -> type[Output]:
    """The model of an answer to a write: its row, more fields, and ``committedAt``."""
    fields: dict[str, Any] = {name: (kind, ...) for name, kind in more.items()}
    return create_model(
        model.__name__ + ("Created" if more else "Written"),
        __base__=model,
        __doc__=model.__doc__,
        committed_at=(Instant, ...),
        **fields,
    )


class _Nothing(Output):
    pass


def deleted(**ids: Any) -> type[Output]:
    """The model of an answer to a delete: what is gone, and since when."""
    fields: dict[str, Any] = {name: (kind, ...) for name, kind in ids.items()}
    name = "".join(part.capitalize() for part in next(iter(ids)).removesuffix("_id").split("_"))
    return create_model(
        f"{name}Deleted", __base__=_Nothing, __doc__="What is gone.", committed_at=(Instant, ...), **fields
    )
