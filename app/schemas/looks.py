"""Answers about second looks, decisions, events and the outbox."""

from typing import Any, Literal

from pydantic import Field

from app.schemas.base import Output
from app.schemas.fields import EdgeType, Id, Instant, RunStatus, Status
from app.schemas.outputs import Page
from app.schemas.revalidation import Decision, EventType
from app.schemas.runs import Report

Finding = Literal["Restored", "RemainsValid", "StillInvalid", "NeedsReview", "AwaitingAgent"]
ReviewReason = Literal["PartialSupport", "Contradiction", "CircularSupport", "Requested"]
EventState = Literal["Pending", "Done", "Dead"]


class RevalidationDecision(Output):
    """What a run found at one node."""

    memory_node_id: Id
    key: str | None
    outcome: Finding = Field(description="What the look came to.", examples=["Restored"])
    review_reason: ReviewReason | None
    old_status: Status
    new_status: Status
    old_confidence: float
    new_confidence: float
    decision: Literal["Correct", "Accept", "Reject", "Supersede"] | None
    decided_by: str | None
    explanation: str | None
    certainty: float | None
    decided_at: Instant


class RevalidationRun(Output):
    """One second look at nodes whose ground may have changed."""

    run_id: Id = Field(title="Revalidation Run", description="The run.")
    cause: Literal["Invalidation", "Edge", "Pin", "BaseConfidence", "Rule", "Correction", "Decision", "ByHand"]
    invalidation_run_id: Id | None
    status: RunStatus = Field(description="How far the run is.", examples=["Completed"])
    superseded_by_run_id: Id | None
    reason: str | None
    effective_time: Instant
    invalid_since: Instant | None
    requested_at: Instant
    committed_at: Instant | None


class FindingCounts(Output):
    by_outcome: dict[Finding, int] = Field(examples=[{"Restored": 428, "RemainsValid": 14}])


class RevalidationReport(RevalidationRun):
    """A run and what it found."""

    counts: FindingCounts
    child_run_ids: list[Id]
    decisions: Page[RevalidationDecision]


class GroundEdge(Output):
    """One active edge into a node, or a contradiction, with the state of its other end."""

    memory_node_id: Id
    key: str | None
    name: str
    edge_type: EdgeType
    support_group: str | None
    min_support: int
    weight: float
    status: Status
    confidence: float


class _Waiting(Output):
    ground: str | None
    opened_at: Instant
    closed_at: Instant | None
    resolution: Literal["Accept", "Reject", "Supersede", "Correct", "Resolved"] | None
    memory_node_id: Id
    key: str | None
    graph_id: Id
    name: str
    status: Status
    confidence: float
    grounds: list[GroundEdge]


class Review(_Waiting):
    """A node that waits for a decision, with what it rests on now."""

    review_id: Id
    review_reason: ReviewReason | None


class Task(_Waiting):
    """A node that an agent is to re-derive, with what it rests on now."""

    task_id: Id
    lease_owner: str | None
    lease_expires_at: Instant | None


class Tasks(Output):
    items: list[Task]


class DecisionReport(Output):
    """What came of a decision."""

    review_id: Id
    memory_node_id: Id
    decision: Decision
    revalidation_run: RevalidationReport
    invalidation_run: Report | None


class OutboxEvent(Output):
    """An event for workers: waiting, held, done, or in the dead letters."""

    outbox_event_id: int
    event_type: str
    subject_id: Id
    created_at: Instant
    lane: Id | None
    cause_event: int | None
    event_state: EventState
    attempts: int
    available_at: Instant | None
    lease_owner: str | None
    lease_expires_at: Instant | None
    last_error: str | None
    handled_at: Instant | None


class Webhook(Output):
    """A subscription to a fleet's events."""

    webhook_id: Id
    url: str
    event_types: list[EventType] | None
    created_at: Instant


class NewWebhookAnswer(Webhook):
    """The secret is shown this once."""

    secret: str


def show_webhook(row: Any) -> dict[str, Any]:
    """A subscription without its secret."""
    return {
        "webhookId": row.webhook_id,
        "url": row.url,
        "eventTypes": row.event_types.split(",") if row.event_types else None,
        "createdAt": row.created_at,
    }
