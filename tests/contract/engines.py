"""What the contract suite needs of an engine beside the store itself: an empty database, and its raw rows."""

import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Connection
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DBAPIError

from app.domain.errors import Busy
from app.domain.models import Principal
from app.resources import SQL
from app.settings import Settings
from app.store.ports import Store
from app.store.sqlite.engine import SqliteStore
from app.store.sqlserver.database import Database as SchemaKeeper
from app.store.sqlserver.engine import SqlServerStore
from app.wiring import open_store

Rows = dict[str, list[tuple[Any, ...]]]
Event = tuple[str, UUID]
"""Its type and its subject."""
Clock = Callable[[], datetime]


class Database(Protocol):
    """A database of one engine, migrated."""

    store: Store

    def rows(self, who: Principal) -> Rows:
        """Every row of a fleet by table, history included, in an order that follows from the rows alone."""

    def outbox(self, who: Principal) -> list[Event]:
        """The events of a fleet in the order in which they were written."""

    def reopen(self, clock: Clock | None = None) -> None:
        """As if the service were stopped and started: ``store`` is a new one."""


class Engine(Protocol):
    def new_database(self, clock: Clock | None = None) -> Database:
        """An empty database of its own."""


class SqliteDatabase:
    def __init__(self, path: Path, clock: Clock | None) -> None:
        self.path = path
        self.store: Store = _open(path, clock)
        self.store.migrate()

    def rows(self, who: Principal) -> Rows:
        with closing(sqlite3.connect(self.path)) as connection:
            tables = connection.execute(
                "SELECT m.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c ON c.name = 'FleetId'"
                " WHERE m.type = 'table'"
            ).fetchall()
            scope = (who.tenant_id.bytes, who.fleet_id.bytes)
            return {
                table: sorted(
                    connection.execute(f"SELECT * FROM {table} WHERE TenantId = ? AND FleetId = ?", scope), key=repr
                )
                for (table,) in tables
            }

    def outbox(self, who: Principal) -> list[Event]:
        with closing(sqlite3.connect(self.path)) as connection:
            found = connection.execute(
                "SELECT EventType, SubjectId FROM OutboxEvents WHERE TenantId = ? AND FleetId = ?"
                " ORDER BY OutboxEventId",
                (who.tenant_id.bytes, who.fleet_id.bytes),
            )
            return [(kind, UUID(bytes=subject)) for kind, subject in found]

    def reopen(self, clock: Clock | None = None) -> None:
        self.store.dispose()
        self.store = _open(self.path, clock)


class SqliteEngine:
    """Each database is a file of its own in a temporary folder."""

    def __init__(self, new_folder: Callable[[], Path]) -> None:
        self._new_folder = new_folder

    def new_database(self, clock: Clock | None = None) -> SqliteDatabase:
        return SqliteDatabase(self._new_folder() / "memory-graph.db", clock)


def _open(path: Path, clock: Clock | None) -> SqliteStore:
    return SqliteStore(path) if clock is None else SqliteStore(path, clock)


class SqlServerDatabase:
    def __init__(self, url: URL, *, migrated: bool = True) -> None:
        self.url = url
        self.store = self._open()
        if migrated:
            self.store.migrate()
        else:
            SchemaKeeper(self.store._connections).create_where_missing(None)  # type: ignore[attr-defined]

    def rows(self, who: Principal) -> Rows:
        with self.connected() as connection:
            tables = connection.exec_driver_sql(
                "SELECT t.name FROM sys.tables AS t JOIN sys.columns AS c ON c.object_id = t.object_id"
                " WHERE c.name = 'FleetId' AND t.name NOT IN ('FleetClocks', 'FleetPromises')"
            ).fetchall()
            scope = (str(who.tenant_id), str(who.fleet_id))
            return {
                _TABLES[table.lower()]: sorted(
                    map(
                        tuple,
                        connection.exec_driver_sql(
                            f"SELECT * FROM dbo.{table} WHERE TenantId = ? AND FleetId = ?", scope
                        ),
                    ),
                    key=repr,
                )
                for (table,) in tables
            }

    def outbox(self, who: Principal) -> list[Event]:
        with self.connected() as connection:
            found = connection.exec_driver_sql(
                "SELECT EventType, SubjectId FROM dbo.OutboxEvents WHERE TenantId = ? AND FleetId = ?"
                " ORDER BY OutboxEventId",
                (str(who.tenant_id), str(who.fleet_id)),
            )
            return [(kind, UUID(str(subject))) for kind, subject in found]

    def reopen(self, clock: Clock | None = None) -> None:
        _refuse(clock)
        self.store.dispose()
        self.store = self._open()

    @contextmanager
    def connected(self, database: str | None = None) -> Iterator[Connection]:
        """A connection of the test's own that sees every fleet."""
        connections = self.store._connections  # type: ignore[attr-defined]
        engine = connections.engine_for(database or self.url.database, autocommit=True)
        try:
            with engine.connect() as connection:
                connection.exec_driver_sql("EXEC sp_set_session_context @key = N'EveryFleet', @value = 1")
                yield connection
        finally:
            engine.dispose()

    def drop(self) -> None:
        self.store.dispose()
        with self.connected("master") as connection:
            connection.exec_driver_sql(f"ALTER DATABASE {self.url.database} SET SINGLE_USER WITH ROLLBACK IMMEDIATE")
            connection.exec_driver_sql(f"DROP DATABASE {self.url.database}")

    def _open(self) -> Store:
        return open_store(Settings(database_url=self.url.render_as_string(hide_password=False)))


class SqlServerEngine:
    """Each database is one of its own on the server of ``TEST_SQLSERVER_URL``, dropped at the end. Where the login may
    not make any, all tests share the one that the URL names."""

    def __init__(self, url: str) -> None:
        self._url = make_url(url)
        self._made: list[SqlServerDatabase] = []
        self._shares = False

    def new_database(self, clock: Clock | None = None, *, migrated: bool = True) -> SqlServerDatabase:
        _refuse(clock)
        if not self._shares:
            try:
                url = self._url.set(database=f"mg_test_{uuid4().hex[:8]}")
                self._made.append(SqlServerDatabase(url, migrated=migrated))
                return self._made[-1]
            except (DBAPIError, Busy):
                if self._made or self._url.database in {None, "master"}:
                    raise
                self._shares = True
        if not migrated:
            pytest.skip("needs the capability to make databases")
        return SqlServerDatabase(self._url)

    def close(self) -> None:
        for database in self._made:
            database.drop()


_TABLES = {
    name.lower(): name
    for script in (SQL / "sqlserver" / "schema").glob("*.sql")
    for name in re.findall(r"(?:CREATE TABLE|HISTORY_TABLE =) dbo\.(\w+)", script.read_text(encoding="utf-8"))
}
"""As the schema spells them, which a server need not repeat."""


def _refuse(clock: Clock | None) -> None:
    if clock is not None and not SqlServerStore.capabilities.settable_clock:
        pytest.skip("needs the capability settable_clock")


NO_SQLSERVER = (
    "SQL Server: set TEST_SQLSERVER_URL to mssql+pyodbc://user:password@host/master, or start a container engine"
)


@contextmanager
def required_sqlserver(config: pytest.Config) -> Iterator[SqlServerEngine]:
    """Where there is none, the test is skipped, or fails under ``--require-sqlserver``."""
    with sqlserver() as engine:
        if engine is None:
            if config.getoption("--require-sqlserver"):
                pytest.fail(NO_SQLSERVER, pytrace=False)
            pytest.skip(NO_SQLSERVER)
        yield engine


@contextmanager
def sqlserver() -> Iterator[SqlServerEngine | None]:
    """The server of ``TEST_SQLSERVER_URL``, else one in a container; None where there is neither."""
    url = os.environ.get("TEST_SQLSERVER_URL")
    if url:
        with closing(SqlServerEngine(url)) as engine:
            yield engine
        return
    container = _start_container()
    if container is None:
        yield None
        return
    try:
        host, port = container.get_container_host_ip(), container.get_exposed_port(_PORT)
        server = f"mssql+pyodbc://sa:{_PASSWORD}@{host}:{port}/master?TrustServerCertificate=yes"
        with closing(SqlServerEngine(server)) as engine:
            yield engine
    finally:
        container.stop()


_PORT = 1433
_PASSWORD = "Memory-Graph-1"
_IMAGE = "mcr.microsoft.com/mssql/server:2022-latest"


def _start_container() -> Any:
    """SQL Server in a container, of the image ``MSSQL_IMAGE``; None where no container engine answers."""
    import docker
    from testcontainers.core.container import DockerContainer
    from testcontainers.core.waiting_utils import wait_for_logs

    try:
        docker.from_env(timeout=5).ping()
    except Exception:
        return None
    container = (
        DockerContainer(os.environ.get("MSSQL_IMAGE", _IMAGE))
        .with_env("ACCEPT_EULA", "Y")
        .with_env("MSSQL_SA_PASSWORD", _PASSWORD)
        .with_exposed_ports(_PORT)
    )
    container.start()
    wait_for_logs(container, "SQL Server is now ready for client connections", timeout=180)
    return container
