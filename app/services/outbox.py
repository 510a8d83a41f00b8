"""The outbox, for operators: what waits, what was given up, and how it is doing."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from app.domain.errors import Conflict, NotFound
from app.domain.models import OutboxEvent, Page
from app.services import cursors
from app.store.ports import Store
from app.store.unit import UnitOfWork, View

_RECENT = timedelta(minutes=5)
_MOST_RECENT = 1000


class Health(NamedTuple):
    """How the outbox of all fleets is doing."""

    waiting: int
    held: int
    dead: int
    oldest_seconds: float
    """Age of the oldest event that is not handled; 0 where there is none."""
    lag_seconds: float
    """From commit to handled, the mean over the events of the last five minutes; 0 where there were none."""


def page(view: View, state: str | None, *, limit: int, cursor: str | None) -> Page[OutboxEvent]:
    """Events of the fleet, oldest first."""
    (after,) = cursors.decode(cursor or None, cursors.number)
    return cursors.cut(view.outbox.page(state, after or 0, limit + 1), limit, lambda event: event[:1])


def retry(uow: UnitOfWork, number: int) -> OutboxEvent:
    """From the beginning, at once. Raises ``Conflict`` where it is neither dead nor waiting after a failure."""
    event = _known(uow, number)
    if not uow.outbox.retry(number):
        raise Conflict(f"Event {number} is {event.event_state} and has not failed; there is nothing to try again.")
    return _known(uow, number)


def health(store: Store) -> Health:
    now = datetime.now(UTC)
    with store.read(None) as view:
        depths = view.outbox.measure()
        recent = view.outbox.recent(now - _RECENT, _MOST_RECENT)
    pending = [depth for depth in depths if depth.event_state == "Pending"]
    oldest = min((depth.oldest_at for depth in pending), default=now)
    lags = [(handling.handled_at - handling.created_at).total_seconds() for handling in recent]
    return Health(
        waiting=sum(depth.amount for depth in pending if not depth.is_leased),
        held=sum(depth.amount for depth in pending if depth.is_leased),
        dead=sum(depth.amount for depth in depths if depth.event_state == "Dead"),
        oldest_seconds=max(0.0, (now - oldest).total_seconds()),
        lag_seconds=sum(lags) / len(lags) if lags else 0.0,
    )


def _known(view: View, number: int) -> OutboxEvent:
    event = view.outbox.find(number)
    if event is None:
        raise NotFound("Outbox event", [number])
    return event
