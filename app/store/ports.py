"""What services may ask of a store, with the promises every engine keeps."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime
from typing import NamedTuple, Protocol
from uuid import UUID

from sqlalchemy import Connection

from app.domain.models import Principal
from app.store.bell import Bell
from app.store.repositories.outbox import Queue
from app.store.repositories.staging import Staging
from app.store.unit import UnitOfWork, View


class Cascade(Protocol):
    """The rounds of SEMANTICS 4."""

    def run(self, run_id: UUID) -> None:
        """Carry out a run that is recorded with its request and roots: compute the least fixpoint, record an impact
        for every node reached, update each node once, and leave an ``InvalidationCompleted`` in the outbox.

        Nothing is committed. The cost is linear in the edges touched.
        """


class Capabilities(NamedTuple):
    """In what the engines differ that a caller can notice. What is not listed here, every engine does alike."""

    parallel_fleets: bool
    """Whether writers of different fleets run at the same time; else they take turns."""
    settable_clock: bool
    """Whether stamps come from a clock of the service, which a test can set; else from the server's."""


class Store(Protocol):
    """One database. A unit sees only the rows of its principal's tenant and fleet."""

    capabilities: Capabilities
    bell: Bell
    """Rung after every commit of this process that may have left an event."""

    def read(self, who: Principal | None) -> AbstractContextManager[View]:
        """One consistent state, from the first statement on. Never blocked by a writer of another fleet.

        None is the service itself, for the few questions it asks across fleets.
        """

    def write(
        self, who: Principal, prepare: Callable[[Staging], None] | None = None
    ) -> AbstractContextManager[UnitOfWork]:
        """The writers of a fleet are serial. What is not committed on leaving is rolled back.

        ``prepare`` may fill the unit's work tables before it waits for its turn.

        Raises ``Busy`` when the turn does not come in time.
        """

    def queue(self) -> AbstractContextManager[Queue]:
        """A short transaction on the outbox of all fleets, one at a time; committed on leaving without an error.

        Raises ``Busy`` when the turn does not come in time.
        """

    def settle(self, who: Principal, as_of: datetime | None, field: str = "asOf") -> datetime:
        """The system time to answer for, after which no later commit can change what was known at it (SEMANTICS 5).

        None is the time of the last commit. It may wait for a writer of the same fleet, never for one of another.
        Raises ``Invalid`` when ``as_of``, which the caller gave as ``field``, is later than both
        the clock and the last stamp, and ``Gone`` when it is older than history is kept.
        """

    def start(self) -> None:
        """Make ready to serve: an embedded database is made and migrated, of a shared one the schema is checked.

        Raises ``Busy`` where an operator has to migrate first.
        """

    def migrating(self) -> AbstractContextManager[Connection]:
        """A connection for Alembic: in one transaction, which commits on leaving, while nobody else migrates."""

    def migrate(self, report: Callable[[str], None] | None = None) -> None:
        """Bring the schema to the newest version; several callers at once do it once."""

    def check(self) -> None:
        """Raise ``Busy`` unless the database answers and has the schema this version needs."""

    def dispose(self) -> None:
        """Close every connection."""
