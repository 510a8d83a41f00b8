"""What a fleet is told: cascades and second looks, as subscribers read them."""

from typing import Any, NamedTuple
from uuid import UUID

from app.domain.models import OutboxEvent
from app.store.unit import View

_NAMED = 100
"""Nodes named per outcome; the run has them all."""
_READ_AT_ONCE = 100


class Told(NamedTuple):
    """An event with what it tells."""

    event_id: int
    event_type: str
    body: dict[str, Any]


def after(view: View, event_id: int) -> list[Told]:
    """The next events after one, in order."""
    found = (_told(view, event) for event in view.outbox.stream(event_id, _READ_AT_ONCE))
    return [told for told in found if told]


def find(view: View, event_id: int) -> Told | None:
    """One event; None where it, or what it tells of, is gone."""
    event = view.outbox.find(event_id)
    return _told(view, event) if event else None


def _told(view: View, event: OutboxEvent) -> Told | None:
    describe = _invalidated if event.event_type == "InvalidationCompleted" else _revalidated
    body = describe(view, event.subject_id)
    if body is None:
        return None
    head = {"eventId": event.outbox_event_id, "eventType": event.event_type, "occurredAt": event.created_at}
    return Told(event.outbox_event_id, event.event_type, head | body)


def _invalidated(view: View, run_id: UUID) -> dict[str, Any] | None:
    run = view.invalidations.find(run_id)
    if run is None:
        return None
    return {
        "runId": run_id,
        "parentRunId": run.parent_run_id,
        "reason": run.reason,
        "effectiveTime": run.effective_time,
        "byOutcome": view.invalidations.count_by_outcome(run_id),
        "invalidated": [i.memory_node_id for i in view.invalidations.impacts(run_id, "Invalidated", 0, None, _NAMED)],
        "potentiallyStale": [
            i.memory_node_id for i in view.invalidations.impacts(run_id, "MarkedPotentiallyStale", 0, None, _NAMED)
        ],
    }


def _revalidated(view: View, run_id: UUID) -> dict[str, Any] | None:
    run = view.revalidations.find(run_id)
    if run is None:
        return None

    def named(outcome: str) -> list[UUID]:
        return [d.memory_node_id for d in view.revalidations.decisions(run_id, outcome, None, _NAMED)]

    return {
        "runId": run_id,
        "cause": run.cause,
        "invalidationRunId": run.invalidation_run_id,
        "childRunIds": view.revalidations.children(run_id),
        "byOutcome": view.revalidations.count_by_outcome(run_id),
        "restored": named("Restored"),
        "needsReview": named("NeedsReview"),
        "awaitingAgent": named("AwaitingAgent"),
    }
