"""Threads that drain the outbox. Any number of workers, in any number of processes, may work on one database."""

import logging
import os
import random
import socket
from collections.abc import Callable
from datetime import timedelta
from threading import Event, Thread
from time import monotonic
from typing import Self
from uuid import uuid4

from app.domain.errors import Busy
from app.services import drain_outbox, invalidate
from app.services.drain_outbox import Claim
from app.settings import Settings
from app.store.ports import Store
from app.worker.delivery import Delivery

_LOG = logging.getLogger("app.worker")

_BEATS_PER_LEASE = 4
_CHORE_SECONDS = 60.0


class Worker:
    """``threads`` that each hold one line of the outbox at a time, a heart that beats for them, and chores.

    A commit of the same process wakes them at once, one of another process within ``poll_seconds``. A worker that is
    killed loses its leases when they run out; whatever it had not committed is done again by another.
    """

    def __init__(
        self,
        store: Store,
        *,
        threads: int,
        lease_seconds: float,
        keep_days: int,
        poll_seconds: float = 0.5,
    ) -> None:
        self._store = store
        self._lease = timedelta(seconds=lease_seconds)
        self._keep = timedelta(days=keep_days)
        self._poll_seconds = poll_seconds
        self._stopping = Event()
        self._delivery = Delivery()
        here = f"{socket.gethostname()}:{os.getpid()}"
        self._claims = [Claim(f"{here}:{number}:{uuid4().hex[:8]}", self._lease) for number in range(threads)]
        self._threads = [
            *(Thread(target=self._drain, args=(by,), name=f"outbox-{n}") for n, by in enumerate(self._claims)),
            Thread(target=self._beat, name="outbox-heartbeat"),
            Thread(target=self._do_chores, name="outbox-chores"),
        ]
        for thread in self._threads:
            thread.daemon = True  # a process that must go does not wait; its leases run out

    @classmethod
    def of(cls, settings: Settings, store: Store) -> Self:
        """The worker that the settings describe."""
        return cls(
            store,
            threads=settings.worker_threads,
            lease_seconds=settings.lease_seconds,
            keep_days=settings.event_retention_days,
        )

    @property
    def is_alive(self) -> bool:
        return any(thread.is_alive() for thread in self._threads)

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self, seconds: float) -> bool:
        """Take nothing new, finish the transactions under way, give back the rest; whether that was done in time."""
        self._stopping.set()
        self._store.bell.ring()
        until = monotonic() + seconds
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(0.0, until - monotonic()))
        self._delivery.close()
        return not any(thread.is_alive() for thread in self._threads)

    def drain(self, report: Callable[[int], None] | None = None) -> int:
        """Work in this thread until nothing can be done at the moment; how many events were taken on."""
        by, taken = self._claims[0], 0
        while events := drain_outbox.claim(self._store, by):
            drain_outbox.work(self._store, by, events, self._delivery.send, self._stopping.is_set)
            taken += len(events)
            if report:
                report(taken)
        return taken

    def _drain(self, by: Claim) -> None:
        while not self._stopping.is_set():
            seen = self._store.bell.count
            try:
                events = drain_outbox.claim(self._store, by)
                if events:
                    drain_outbox.work(self._store, by, events, self._delivery.send, self._stopping.is_set)
                    continue
            except Busy as error:
                _LOG.warning("%s", error.detail)
                self._stopping.wait(self._poll_seconds)
            except Exception:
                _LOG.exception("the outbox could not be drained; it is tried again")
                self._stopping.wait(self._poll_seconds)
            if not self._stopping.is_set():
                self._store.bell.wait(seen, self._poll_seconds * random.uniform(0.75, 1.25))  # noqa: S311 - not a secret

    def _beat(self) -> None:
        while not self._stopping.wait(self._lease.total_seconds() / _BEATS_PER_LEASE):
            for by in self._claims:
                try:
                    drain_outbox.heartbeat(self._store, by)
                except Exception as error:  # an event whose lease runs out is undone and done again
                    _LOG.warning("the leases of %s could not be renewed: %s", by.owner, error)

    def _do_chores(self) -> None:
        while True:
            try:
                invalidate.resume_pending(self._store)
                drain_outbox.clean(self._store, self._keep)
            except Exception:
                _LOG.exception("chores of the worker failed; they are tried again")
            if self._stopping.wait(_CHORE_SECONDS):
                return
