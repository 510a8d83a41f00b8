"""What the service keeps, as plain rows. A field's name is the column's and, in camelCase, the wire's."""

from datetime import datetime
from typing import Generic, NamedTuple, TypeVar
from uuid import UUID

Row = TypeVar("Row")


class Principal(NamedTuple):
    """On whose behalf a call is made: the isolation scope of everything it can see."""

    tenant_id: UUID
    fleet_id: UUID


NOBODY = Principal(UUID(int=0), UUID(int=0))
"""The scope of who names none."""


class Page(NamedTuple, Generic[Row]):
    """A part of a list; ``next_cursor`` is None on the last one."""

    items: list[Row]
    next_cursor: str | None


class MemoryGraph(NamedTuple):
    graph_id: UUID
    name: str
    revalidation_mode: str
    policy: str
    propagation: str
    created_at: datetime


class MemoryNode(NamedTuple):
    memory_node_id: UUID
    key: str | None
    graph_id: UUID
    name: str
    node_type: str | None
    category: str | None
    status: str
    invalid_since: datetime | None
    invalidation: str | None
    confidence: float
    base_confidence: float
    is_pinned: bool
    pinned_by: str | None
    pin_reason: str | None
    created_at: datetime
    updated_at: datetime
    valid_from: datetime
    valid_to: datetime | None
    version: int


class MemoryEdge(NamedTuple):
    memory_edge_id: UUID
    graph_id: UUID
    source_node_id: UUID
    target_node_id: UUID
    edge_type: str
    support_group: str | None
    min_support: int
    weight: float
    effective_from: datetime | None
    effective_to: datetime | None
    source_rule_id: UUID | None
    created_at: datetime
    valid_from: datetime
    valid_to: datetime | None
    version: int


class MemoryAssertion(NamedTuple):
    memory_assertion_id: UUID
    graph_id: UUID
    memory_node_id: UUID
    content: str
    category: str | None
    importance: float
    confidence: float
    observed_at: datetime
    effective_from: datetime | None
    effective_to: datetime | None
    last_verified_at: datetime | None
    superseded_by: UUID | None
    retracted_at: datetime | None
    source_rule_id: UUID | None
    valid_from: datetime
    valid_to: datetime | None
    version: int


class EvidenceReference(NamedTuple):
    evidence_reference_id: UUID
    graph_id: UUID
    memory_assertion_id: UUID
    evidence_type: str
    reference: str
    details: str | None
    recorded_at: datetime


class SourceRule(NamedTuple):
    source_rule_id: UUID
    name: str
    version: str
    description: str | None
    effective_at: datetime
    expires_at: datetime | None


class InvalidationRun(NamedTuple):
    run_id: UUID
    parent_run_id: UUID | None
    run_status: str
    superseded_by_run_id: UUID | None
    reason: str
    requested_status: str
    effective_time: datetime
    policy: str
    propagation: str
    override_pinned: bool
    requested_at: datetime
    committed_at: datetime | None


class Impact(NamedTuple):
    memory_node_id: UUID
    key: str | None
    depth: int
    old_status: str
    new_status: str
    outcome: str
    via_edge_id: UUID | None
    component: int | None


class RevalidationRun(NamedTuple):
    run_id: UUID
    cause: str
    invalidation_run_id: UUID | None
    run_status: str
    superseded_by_run_id: UUID | None
    reason: str | None
    effective_time: datetime
    invalid_since: datetime
    """Since when what falls in this run is Invalid."""
    requested_at: datetime
    committed_at: datetime | None


class RevalidationDecision(NamedTuple):
    memory_node_id: UUID
    key: str | None
    outcome: str
    review_reason: str | None
    old_status: str
    new_status: str
    old_confidence: float
    new_confidence: float
    decision: str | None
    decided_by: str | None
    explanation: str | None
    certainty: float | None
    decided_at: datetime


class Review(NamedTuple):
    """Something that waits for a person (``Review``) or an agent (``Task``), with the node as it is."""

    review_id: UUID
    review_kind: str
    review_reason: str | None
    ground: str | None
    opened_at: datetime
    closed_at: datetime | None
    resolution: str | None
    lease_owner: str | None
    lease_expires_at: datetime | None
    memory_node_id: UUID
    key: str | None
    graph_id: UUID
    name: str
    status: str
    confidence: float


class GroundEdge(NamedTuple):
    """What a node rests on, or what contradicts it: one active edge, with the state of its other end."""

    target_node_id: UUID
    memory_node_id: UUID
    key: str | None
    name: str
    edge_type: str
    support_group: str | None
    min_support: int
    weight: float
    status: str
    confidence: float


class OutboxEvent(NamedTuple):
    outbox_event_id: int
    event_type: str
    subject_id: UUID
    created_at: datetime
    lane: UUID | None
    cause_event: int | None
    event_state: str
    attempts: int
    available_at: datetime | None
    lease_owner: str | None
    lease_expires_at: datetime | None
    last_error: str | None
    handled_at: datetime | None


class Webhook(NamedTuple):
    webhook_id: UUID
    url: str
    secret: str
    event_types: str | None
    created_at: datetime


class Bookmark(NamedTuple):
    """GraphSnapshotDescriptor: a named system time of a graph."""

    snapshot_id: UUID
    graph_id: UUID
    name: str
    as_of: datetime
    requested_at: datetime
