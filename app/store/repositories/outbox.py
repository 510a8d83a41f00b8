"""The outbox: as a caller writes to it and an operator reads it, and as workers drain it."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from app.domain.models import OutboxEvent, Webhook
from app.store.session import Session


class Line(NamedTuple):
    """Events that are handled one after another: those of a fleet, or the deliveries to one subscription."""

    tenant_id: UUID
    fleet_id: UUID
    lane: UUID | None


class ClaimedEvent(NamedTuple):
    """An event that a worker holds."""

    tenant_id: UUID
    fleet_id: UUID
    outbox_event_id: int
    event_type: str
    subject_id: UUID
    created_at: datetime
    lane: UUID | None
    cause_event: int | None
    attempts: int


class Depth(NamedTuple):
    """How many events are in a state, and since when the oldest of them is there."""

    event_state: str
    is_leased: bool
    amount: int
    oldest_at: datetime


class Handling(NamedTuple):
    created_at: datetime
    handled_at: datetime


class Horizon(NamedTuple):
    """The clock of a claim, and the furthest that a lease or a wait can reach from it."""

    now: datetime
    longest_lease: datetime
    longest_wait: datetime


class Outbox:
    """The events of one fleet."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, event_type: str, subject_id: UUID, created_at: datetime) -> None:
        """An event in the caller's transaction: it is sent if and only if that commits."""
        self._session.execute("outbox_add", event_type=event_type, subject_id=subject_id, created_at=created_at)

    def tell(self, event_type: str, subject_id: UUID, created_at: datetime) -> None:
        """An event that asks for no work but its deliveries to subscriptions."""
        self._session.execute("outbox_add_done", event_type=event_type, subject_id=subject_id, created_at=created_at)
        self.fan_out(self.last(), created_at)

    def fan_out(self, outbox_event: int, created_at: datetime) -> None:
        """A delivery of the event for each subscription of the fleet that wants it."""
        self._session.execute("outbox_fan_out", outbox_event=outbox_event, created_at=created_at)

    def last(self) -> int:
        """The newest event; 0 where there is none."""
        return self._session.scalar("outbox_last") or 0

    def find(self, outbox_event: int) -> OutboxEvent | None:
        return self._session.one(OutboxEvent, "outbox_find", outbox_event=outbox_event)

    def page(self, event_state: str | None, after_event: int, limit: int) -> list[OutboxEvent]:
        """Oldest first, at most ``limit``, those after ``after_event``."""
        return self._session.rows(
            OutboxEvent, "outbox_page", event_state=event_state, after_event=after_event, limit=limit
        )

    def stream(self, after_event: int, limit: int) -> list[OutboxEvent]:
        """What the fleet is told, in order, after an event."""
        return self._session.rows(OutboxEvent, "outbox_stream", after_event=after_event, limit=limit)

    def progress(self, outbox_event: int, owner: str) -> bool:
        """Part of the work is done; False where ``owner`` no longer holds the event."""
        return self._session.execute("outbox_progress", outbox_event=outbox_event, owner=owner) == 1

    def settle(self, outbox_event: int, owner: str, handled_at: datetime) -> bool:
        """The event is handled; False where ``owner`` no longer holds it."""
        settled = self._session.execute("outbox_settle", outbox_event=outbox_event, owner=owner, handled_at=handled_at)
        return settled == 1

    def retry(self, outbox_event: int) -> bool:
        """From the beginning, at once; False where the event is neither dead nor waiting for another attempt."""
        return self._session.execute("outbox_retry", outbox_event=outbox_event) == 1

    def add_webhook(self, webhook: Webhook) -> None:
        self._session.execute("webhook_insert", **webhook._asdict())

    def find_webhook(self, webhook_id: UUID) -> Webhook | None:
        return self._session.one(Webhook, "webhook_find", webhook_id=webhook_id)

    def webhooks(self, after_id: UUID | None, limit: int) -> list[Webhook]:
        """By id."""
        return self._session.rows(Webhook, "webhook_page", after_id=after_id, limit=limit)

    def delete_webhook(self, webhook_id: UUID) -> bool:
        return self._session.execute("webhook_delete", webhook_id=webhook_id) == 1

    def measure(self) -> list[Depth]:
        """Of all fleets, for the service itself alone: what waits, what is held, and what is in the dead letters."""
        return self._session.rows(Depth, "outbox_measure")

    def recent(self, after: datetime, limit: int) -> list[Handling]:
        """Of all fleets, for the service itself alone: the events handled since ``after``, newest first."""
        return self._session.rows(Handling, "outbox_recent", after_time=after, limit=limit)


class Queue:
    """The outbox of all fleets, as workers see it: short transactions of their own."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def claim(self, owner: str, horizon: Horizon, expires_at: datetime, limit: int) -> list[ClaimedEvent]:
        """The oldest events of one line that nobody holds, in order; none where there is nothing to do.

        A line has one holder at a time. An event found with its lease run out has one attempt more.
        """
        line = self._session.one(Line, "outbox_next_line", **horizon._asdict())
        if line is None:
            return []
        bound = {f"line_{name}": value for name, value in line._asdict().items()}
        self._session.execute("outbox_charge", **bound)
        self._session.execute(
            "outbox_claim",
            **bound,
            owner=owner,
            expires_at=expires_at,
            now=horizon.now,
            longest_wait=horizon.longest_wait,
            limit=limit,
        )
        return self._session.rows(ClaimedEvent, "outbox_claimed", owner=owner)

    def heartbeat(self, owner: str, expires_at: datetime) -> int:
        """Hold on to what is held; how many events that is."""
        return self._session.execute("outbox_heartbeat", owner=owner, expires_at=expires_at)

    def release(self, owner: str) -> None:
        """Give back what is held and not handled."""
        self._session.execute("outbox_release", owner=owner)

    def fail(self, event: ClaimedEvent, owner: str, error: str, at: datetime, available_at: datetime | None) -> bool:
        """Another attempt at ``available_at``, or None: the dead letters. False where ``owner`` no longer holds it."""
        failed = self._session.execute(
            "outbox_fail",
            outbox_event=event.outbox_event_id,
            owner=owner,
            event_state="Dead" if available_at is None else "Pending",
            attempts=event.attempts + 1,
            available_at=available_at,
            handled_at=at if available_at is None else None,
            last_error=error,
        )
        return failed == 1

    def deliver(self, outbox_event: int, owner: str, handled_at: datetime) -> bool:
        """A delivery was taken; False where ``owner`` no longer holds it."""
        done = self._session.execute("outbox_deliver", outbox_event=outbox_event, owner=owner, handled_at=handled_at)
        return done == 1

    def clean(self, before: datetime, limit: int) -> int:
        """Drop handled events of before that time; how many, at most ``limit``."""
        return self._session.execute("outbox_clean", before_time=before, limit=limit)
