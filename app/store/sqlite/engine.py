"""The embedded store: one SQLite file, one writer at a time, any number of readers."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote
from uuid import UUID

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.pool import QueuePool

from app.domain.errors import Busy
from app.domain.models import NOBODY, Principal
from app.resources import SQL
from app.store import migrations
from app.store.bell import Bell
from app.store.ports import Capabilities
from app.store.queries import load_queries
from app.store.repositories.outbox import Queue
from app.store.repositories.staging import Staging
from app.store.settling import time_to_answer
from app.store.sqlite.cascade import SqliteCascade
from app.store.sqlite.codec import SqliteCodec, from_micros, to_micros
from app.store.sqlite.errors import translated
from app.store.sqlite.floor import Floor
from app.store.sqlite.session import SqliteSession
from app.store.sqlite.turns import Turns
from app.store.unit import UnitOfWork, View

_OLDEST_SQLITE = (3, 37, 0)  # STRICT tables
_WAIT_SECONDS = 30
_DEFERRED, _IMMEDIATE = "BEGIN", "BEGIN IMMEDIATE"

sqlite3.register_adapter(UUID, lambda value: value.bytes)
sqlite3.register_adapter(datetime, to_micros)


def _utc_now() -> datetime:
    return datetime.now(UTC)


class SqliteStore:
    """See ``app.store.ports.Store``.

    The writers of this process take turns in the order in which they come; ``BEGIN IMMEDIATE`` keeps other processes
    out. Writers of all fleets are serial here, which is more than the contract asks.
    """

    capabilities = Capabilities(parallel_fleets=False, settable_clock=True)

    def __init__(
        self, path: Path, clock: Callable[[], datetime] = _utc_now, *, retention_days: int | None = None
    ) -> None:
        if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
            raise Busy(f"SQLite {sqlite3.sqlite_version} is too old; Memory Graph needs 3.37 or newer.")
        self.path = path
        self._clock = clock
        self._retention_days = retention_days
        self._queries = load_queries(SQL / "sqlite" / "queries", SQL / "sqlite" / "engine")
        self._codec = SqliteCodec()
        self._floor = Floor(path)
        self.bell = Bell()
        self._writing = Turns()
        self._writing_for: Principal | None = None
        self._writer = self._engine(_IMMEDIATE, "rwc", connections=4, cache_mib=128)
        self._reader = self._engine(_DEFERRED, "rw", connections=100, cache_mib=4)

    @contextmanager
    def read(self, who: Principal | None) -> Iterator[View]:
        with translated(), self._reader.connect() as connection, connection.begin():
            session = self._session(connection, who or NOBODY)
            last = self._last_stamp(session)
            yield View(session, max(self._clock(), last))

    @contextmanager
    def write(self, who: Principal, prepare: Callable[[Staging], None] | None = None) -> Iterator[UnitOfWork]:
        with translated(), self._writer.connect() as connection:
            session = self._session(connection, who)
            if prepare:
                connection.execution_options(begin=_DEFERRED)
                with connection.begin():
                    prepare(Staging(session))
                connection.execution_options(begin=_IMMEDIATE)
            with self._turn(), connection.begin() as transaction:
                self._writing_for = who
                try:
                    earliest = self._floor.read() + timedelta(microseconds=1)
                    session.execute("clock_open", now=max(self._clock(), earliest))

                    def commit() -> None:
                        session.execute("clock_close")
                        try:
                            transaction.commit()
                        except BaseException:  # SQLite leaves a transaction open that it could not commit
                            session.roll_back()
                            raise
                        self.bell.ring()

                    yield UnitOfWork(session, self._last_stamp(session), SqliteCascade(session), commit)
                finally:
                    self._writing_for = None
                if transaction.is_active:
                    transaction.rollback()

    @contextmanager
    def queue(self) -> Iterator[Queue]:
        with translated(), self._writer.connect() as connection, self._turn(), connection.begin():
            yield Queue(self._session(connection, NOBODY))

    def settle(self, who: Principal, as_of: datetime | None, field: str = "asOf") -> datetime:
        with self.read(who) as view:
            as_of, is_later = time_to_answer(view, as_of, self._retention_days, field)
        if not is_later:
            return as_of
        if self._another_fleet_writes(who):
            self._floor.raise_to(as_of)
            if self._another_fleet_writes(who):
                return as_of
        # A writer of this fleet has an earlier stamp and is waited for; every later one gets a stamp beyond as_of.
        with translated(), self._writer.connect() as connection, self._turn(), connection.begin():
            self._session(connection, who).execute("clock_pass", as_of=as_of)
        return as_of

    def _another_fleet_writes(self, who: Principal) -> bool:
        """Whether the write lock is held for another fleet. A writer says so before it reads the floor."""
        writing_for = self._writing_for
        return writing_for is not None and writing_for != who

    def start(self) -> None:
        self.migrate()

    @contextmanager
    def migrating(self) -> Iterator[Connection]:
        with translated(), self._writer.connect() as connection, self._turn(), connection.begin():
            yield connection

    def migrate(self, report: Callable[[str], None] | None = None) -> None:
        with self.migrating() as connection:
            migrations.upgrade(connection, report)

    def check(self) -> None:
        with translated(), self._reader.connect() as connection, connection.begin():
            migrations.check(connection)

    def dispose(self) -> None:
        self._reader.dispose()
        self._writer.dispose()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if not self._writing.acquire(_WAIT_SECONDS):
            raise Busy("Other requests have kept the database busy for too long; try again shortly.")
        try:
            yield
        finally:
            self._writing.release()

    def _session(self, connection: Connection, who: Principal) -> SqliteSession:
        return SqliteSession(connection, self._queries, self._codec, who)

    def _last_stamp(self, session: SqliteSession) -> datetime:
        return from_micros(session.scalar("clock_last"))

    def _engine(self, begin: str, mode: str, connections: int, cache_mib: int) -> Engine:
        engine = create_engine(
            URL.create("sqlite", database=f"file:{quote(str(self.path))}", query={"uri": "true", "mode": mode}),
            poolclass=QueuePool,
            pool_size=4,
            max_overflow=connections - 4,
            pool_timeout=_WAIT_SECONDS,
            connect_args={"timeout": _WAIT_SECONDS, "isolation_level": None, "check_same_thread": False},
        )

        @event.listens_for(engine, "connect")
        def prepare(connection: sqlite3.Connection, _record: object) -> None:
            connection.executescript(
                f"""
                PRAGMA journal_mode = WAL;
                PRAGMA synchronous = FULL;
                PRAGMA foreign_keys = ON;
                PRAGMA recursive_triggers = ON;
                PRAGMA cache_size = -{cache_mib * 1024};
                PRAGMA temp.cache_size = -{cache_mib * 256};
                """
                + (SQL / "sqlite" / "session.sql").read_text(encoding="utf-8")
            )

        @event.listens_for(engine, "begin")
        def start(connection: Connection) -> None:
            connection.exec_driver_sql(connection.get_execution_options().get("begin", begin))

        return engine
