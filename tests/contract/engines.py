"""What the contract suite needs of an engine beside the store itself: an empty database, and its raw rows."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID

from app.domain.models import Principal
from app.store.ports import Store
from app.store.sqlite.engine import SqliteStore

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
