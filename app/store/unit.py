"""A view of the store, and a unit of work on it."""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from app.store.repositories import (
    assertions,
    edges,
    export,
    graphs,
    invalidations,
    looks,
    nodes,
    outbox,
    revalidations,
    reviews,
    rules,
    service,
    staging,
)
from app.store.session import Session

if TYPE_CHECKING:
    from app.store.ports import Cascade


class View:
    """One consistent state of a fleet's memory."""

    def __init__(self, session: Session, now: datetime) -> None:
        self.who = session.who
        self.now = now
        """The clock, or the stamp of the last commit where that is later."""
        self.graphs = graphs.Graphs(session)
        self.nodes = nodes.Nodes(session)
        self.edges = edges.Edges(session)
        self.assertions = assertions.Assertions(session)
        self.rules = rules.Rules(session)
        self.export = export.Export(session)
        self.invalidations = invalidations.Invalidations(session)
        self.revalidations = revalidations.Revalidations(session)
        self.reviews = reviews.Reviews(session)
        self.outbox = outbox.Outbox(session)


class UnitOfWork(View):
    """A transaction that writes; ``commit`` is its last word."""

    def __init__(self, session: Session, stamp: datetime, cascade: "Cascade", commit: Callable[[], None]) -> None:
        super().__init__(session, stamp)
        self.stamp = stamp
        """The system time of everything written here; once committed, ``committedAt``."""
        self.cascade = cascade
        self.staging = staging.Staging(session)
        self.looks = looks.Looks(session)
        self.idempotency = service.IdempotencyKeys(session)
        self._commit = commit

    def commit(self) -> None:
        self._commit()
