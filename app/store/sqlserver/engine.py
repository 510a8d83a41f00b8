"""The SQL Server store: writers of one fleet take turns under an application lock, fleets work side by side."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from app.domain.errors import Busy, OutcomeUnknown, Retryable
from app.domain.models import NOBODY, Principal
from app.resources import SQL
from app.store import migrations
from app.store.bell import Bell
from app.store.ports import Capabilities
from app.store.queries import load_queries
from app.store.repositories.outbox import Queue
from app.store.repositories.staging import Staging
from app.store.settling import time_to_answer
from app.store.sqlserver.cascade import SqlServerCascade
from app.store.sqlserver.codec import SqlServerCodec
from app.store.sqlserver.connections import Connections
from app.store.sqlserver.database import Database
from app.store.sqlserver.errors import translate, translated
from app.store.sqlserver.session import SqlServerSession
from app.store.unit import UnitOfWork, View

_WAIT_SECONDS = 30
_CLOCK_SECONDS = 2
"""How long a writer waits for the clock to pass the last stamp before it gives up."""

_END_TRANSACTION = "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;"
_FORGET_SCOPE = """
EXEC sp_set_session_context @key = N'TenantId', @value = NULL;
EXEC sp_set_session_context @key = N'FleetId', @value = NULL;
EXEC sp_set_session_context @key = N'EveryFleet', @value = NULL;
"""


class SqlServerStore:
    """See ``app.store.ports.Store``.

    Repeatable by construction (SEMANTICS 5). Rows carry the time at which their transaction began. A writer holds its
    fleet's lock from before it begins until after it has committed, so within a fleet begin order is commit order; and
    ``dbo.TakeStamp`` refuses a transaction whose stamp does not exceed the last one and every promised time. So no
    commit to come changes what was known at the last stamp or before. For a time after it, ``settle`` waits for the
    lock in Shared mode, after which no writer that began earlier is left, and records the promise. Readers run in
    SNAPSHOT transactions and take no lock, so nobody blocks them.
    """

    capabilities = Capabilities(parallel_fleets=True, settable_clock=False)

    def __init__(self, connections: Connections, retention_days: int | None = None) -> None:
        self._connections = connections
        self._retention_days = retention_days
        self._queries = load_queries(SQL / "sqlserver" / "queries", SQL / "sqlserver" / "engine")
        self._codec = SqlServerCodec()
        self.bell = Bell()

    @contextmanager
    def read(self, who: Principal | None) -> Iterator[View]:
        with translated(), self._session(self._connections.reader, who) as session:
            session.batch("BEGIN TRANSACTION;")
            yield View(session, self._instant(session, "clock_now"))

    @contextmanager
    def queue(self) -> Iterator[Queue]:
        with (
            translated(),
            self._session(self._connections.writer, None) as session,
            _turn(session, "MemoryGraph/Outbox", "Exclusive"),
        ):
            session.batch("BEGIN TRANSACTION;")
            try:
                yield Queue(session)
                _commit(session)
            finally:
                _clean(session, lambda: session.batch(_END_TRANSACTION))

    @contextmanager
    def write(self, who: Principal, prepare: Callable[[Staging], None] | None = None) -> Iterator[UnitOfWork]:
        with (
            translated(),
            self._session(self._connections.writer, who) as session,
            _staged(session, prepare),
            _turn(session, _fleet(who), "Exclusive"),
        ):
            try:
                stamp = self._begin(session)

                def commit() -> None:
                    _commit(session)
                    self.bell.ring()

                yield UnitOfWork(session, stamp, SqlServerCascade(session), commit)
            finally:
                _clean(session, lambda: session.batch(_END_TRANSACTION))

    def settle(self, who: Principal, as_of: datetime | None, field: str = "asOf") -> datetime:
        with self.read(who) as view:
            as_of, is_later = time_to_answer(view, as_of, self._retention_days, field)
        if not is_later:
            return as_of
        with (
            translated(),
            self._session(self._connections.writer, who) as session,
            _turn(session, _fleet(who), "Shared"),
        ):
            session.execute("clock_promise", as_of=as_of)
        return as_of

    def start(self) -> None:
        self.check()

    @contextmanager
    def migrating(self) -> Iterator[Connection]:
        with translated(), Database(self._connections).migrating() as connection:
            yield connection

    def migrate(self, report: Callable[[str], None] | None = None) -> None:
        with translated():
            database = Database(self._connections)
            database.create_where_missing(report)
            with database.migrating() as connection:
                migrations.upgrade(connection, report)
            database.set_options(self._retention_days)

    def check(self) -> None:
        with translated(), self._connections.writer.connect() as connection:
            migrations.check(connection)

    def dispose(self) -> None:
        self._connections.dispose()

    @contextmanager
    def _session(self, engine: Engine, who: Principal | None) -> Iterator[SqlServerSession]:
        """A connection that sees one fleet, or with None every one; given back without transaction and scope."""
        with engine.connect() as connection:
            session = SqlServerSession(connection, self._queries, self._codec, who or NOBODY)
            try:
                session.execute("scope_enter" if who else "scope_enter_all")
                yield session
            finally:
                _clean(session, lambda: session.batch(_END_TRANSACTION + _FORGET_SCOPE))

    def _begin(self, session: SqlServerSession) -> datetime:
        """Begin a transaction whose stamp is later than all before it."""
        give_up = time.monotonic() + _CLOCK_SECONDS
        while True:
            session.batch("BEGIN TRANSACTION;")
            try:
                return self._instant(session, "clock_open")
            except DBAPIError as error:
                reason = translate(error)
                if not isinstance(reason, Retryable) or session.connection.invalidated or time.monotonic() > give_up:
                    raise
                session.batch(_END_TRANSACTION)
                time.sleep(random.uniform(0.001, 0.01))  # noqa: S311 - not a secret

    def _instant(self, session: SqlServerSession, name: str) -> datetime:
        instant = self._codec.instant(session.scalar(name))
        assert instant is not None  # noqa: S101 - the statement answers one row, whatever is stored
        return instant


def _fleet(who: Principal) -> str:
    """The lock for which the writers of a fleet take turns."""
    return f"MemoryGraph/{who.tenant_id}/{who.fleet_id}"


@contextmanager
def _turn(session: SqlServerSession, resource: str, mode: str) -> Iterator[None]:
    if session.scalar("turn_take", resource=resource, mode=mode, wait=_WAIT_SECONDS * 1000) < 0:
        raise Busy("Other writers have kept the database busy for too long; try again shortly.")
    try:
        yield
    finally:  # the lock outlives the transaction and would outlive the session's return to the pool
        _clean(session, lambda: session.execute("turn_end", resource=resource))


@contextmanager
def _staged(session: SqlServerSession, prepare: Callable[[Staging], None] | None) -> Iterator[None]:
    """What is staged outlives a transaction that failed, so it is cleared in any case."""
    if prepare is None:
        yield
        return
    try:
        prepare(Staging(session))
        yield
    finally:
        _clean(session, Staging(session).clear)


def _commit(session: SqlServerSession) -> None:
    try:
        session.batch("COMMIT TRANSACTION;")
    except DBAPIError as error:
        if session.connection.invalidated:
            raise OutcomeUnknown(
                "The connection to the database was lost while committing. Repeat the request with the same "
                "Idempotency-Key, or read back what it changed."
            ) from error
        raise


def _clean(session: SqlServerSession, up: Callable[[], object]) -> None:
    """A connection that cannot be cleaned up is given up, which cleans it too."""
    if not session.connection.invalidated:
        try:
            up()
        except DBAPIError:
            session.connection.invalidate()
