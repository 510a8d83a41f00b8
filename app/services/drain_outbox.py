"""Drains the outbox: claims the events of a line, handles them in order, and settles each with its effects."""

import logging
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from time import monotonic, sleep
from typing import NamedTuple

from app.domain.attempts import DELIVERY, HANDLING, next_attempt
from app.domain.errors import Busy
from app.domain.models import Principal
from app.services import revalidate
from app.services.looks import Budget
from app.services.retrying import retrying
from app.store.ports import Store
from app.store.repositories.outbox import ClaimedEvent, Horizon

_LOG = logging.getLogger("app.worker")

_SLICE_SECONDS = 0.25
"""How long the events of one transaction may take before other writers of the fleet get their turn."""
_PAUSE_SECONDS, _LONG_PAUSE_SECONDS = 0.01, 0.15
"""After a transaction, and after a long one: a process that waits for SQLite's lock asks every tenth of a second."""
_AT_ONCE = 100
_ERROR_CHARACTERS = 2000
_CLEANED_AT_ONCE = 1000

Deliver = Callable[[Store, ClaimedEvent], None]
"""Sends one event to one subscriber; raises where it was not taken."""


class LostLease(Exception):
    """Another worker holds the event by now; what was done for it here is undone."""


class WorkersLost(Exception):
    """Nobody who has tried to handle the event has survived it."""


class Claim(NamedTuple):
    """Who claims, and for how long a claim lasts."""

    owner: str
    lease: timedelta


def claim(store: Store, by: Claim) -> list[ClaimedEvent]:
    """Lease the oldest events of one line; none where there is nothing to do."""
    now = datetime.now(UTC)
    horizon = Horizon(now, now + by.lease * 2, now + max(HANDLING.longest, DELIVERY.longest))

    def transaction() -> list[ClaimedEvent]:
        with store.queue() as queue:
            return queue.claim(by.owner, horizon, now + by.lease, _AT_ONCE)

    return retrying(transaction, is_idempotent=True)


def heartbeat(store: Store, by: Claim) -> None:
    """Hold on to what is held."""
    with store.queue() as queue:
        queue.heartbeat(by.owner, datetime.now(UTC) + by.lease)


def release(store: Store, by: Claim) -> None:
    """Give back what is held and not handled."""
    with store.queue() as queue:
        queue.release(by.owner)


def work(
    store: Store, by: Claim, events: list[ClaimedEvent], deliver: Deliver, is_stopping: Callable[[], bool]
) -> None:
    """Handle the events of one line in order, until all are or the worker stops.

    An event that fails steps aside for another attempt, and the others go on. What is left is given back.
    """
    waiting = list(events)
    try:
        while waiting and not is_stopping():
            if waiting[0].lane is not None:
                _deliver(store, by, waiting.pop(0), deliver)
            else:
                began = monotonic()
                del waiting[: _handle(store, by, waiting, is_stopping)]
                if waiting:
                    sleep(_PAUSE_SECONDS if monotonic() - began < 1 else _LONG_PAUSE_SECONDS)
    except LostLease:
        _LOG.warning("lost the lease of event %s; another worker goes on with it", waiting[0].outbox_event_id)
    finally:
        if waiting:
            release(store, by)


def clean(store: Store, older_than: timedelta) -> int:
    """Drop what was handled long ago, in small transactions; how many events that were."""
    before = datetime.now(UTC) - older_than
    cleaned = 0
    while True:
        with store.queue() as queue:
            part = queue.clean(before, _CLEANED_AT_ONCE)
        cleaned += part
        if part < _CLEANED_AT_ONCE:
            return cleaned


def _handle(store: Store, by: Claim, waiting: list[ClaimedEvent], is_stopping: Callable[[], bool]) -> int:
    """Handle what one transaction has time for; how many events are no longer waiting.

    Where several are handled together and one of them fails, they are tried one at a time, so that the fault is the
    failing one's alone.
    """
    if waiting[0].attempts >= HANDLING.most:
        _fail(store, by, waiting[0], WorkersLost("the processes that took it on ended before it was done"))
        return 1
    for tried in (waiting, waiting[:1]):
        try:
            return _together(store, by, tried, is_stopping)
        except (Busy, LostLease):
            raise
        except Exception as error:
            failure = error
    _fail(store, by, waiting[0], failure)
    return 1


def _together(store: Store, by: Claim, waiting: list[ClaimedEvent], is_stopping: Callable[[], bool]) -> int:
    """Events, their effects and the word that they are handled commit together, or not at all."""

    def transaction() -> int:
        handled = 0
        budget = Budget(_SLICE_SECONDS, is_stopping)
        with store.write(Principal(waiting[0].tenant_id, waiting[0].fleet_id)) as uow:
            for event in waiting:
                if not revalidate.handle(uow, event, budget):
                    if not uow.outbox.progress(event.outbox_event_id, by.owner):
                        raise LostLease
                    break
                if event.event_type == "InvalidationCompleted":
                    uow.outbox.fan_out(event.outbox_event_id, uow.stamp)
                if not uow.outbox.settle(event.outbox_event_id, by.owner, uow.stamp):
                    raise LostLease
                handled += 1
                if not budget.has_time_for_more():
                    break
            uow.commit()
        return handled

    return retrying(transaction, is_idempotent=True)


def _deliver(store: Store, by: Claim, event: ClaimedEvent, deliver: Deliver) -> None:
    try:
        deliver(store, event)
    except Exception as error:
        _fail(store, by, event, error)
        return
    with store.queue() as queue:
        if not queue.deliver(event.outbox_event_id, by.owner, datetime.now(UTC)):
            _LOG.warning("event %s was delivered after its lease had run out, so perhaps twice", event.outbox_event_id)


def _fail(store: Store, by: Claim, event: ClaimedEvent, error: Exception) -> None:
    now = datetime.now(UTC)
    failures = event.attempts + 1
    again = next_attempt(
        failures,
        now,
        random.random(),  # noqa: S311 - not a secret
        HANDLING if event.lane is None else DELIVERY,
    )
    words = f"{type(error).__name__}: {error}"[:_ERROR_CHARACTERS]
    with store.queue() as queue:
        queue.fail(event, by.owner, words, now, again)
    _LOG.warning(
        "event %s (%s) failed for the %s. time, %s",
        event.outbox_event_id,
        event.event_type,
        failures,
        "is in the dead letters" if again is None else f"is tried again at {again.isoformat()}",
        exc_info=error if event.lane is None else None,
    )
