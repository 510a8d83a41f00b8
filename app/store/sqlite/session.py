"""Runs statements on the driver itself: SQLite knows ``:name`` parameters, and a cascade runs very many of them."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from app.store.session import PART, Session


class SqliteSession(Session):
    """See ``app.store.session.Session``. The transaction stays SQLAlchemy's."""

    def execute(self, name: str, /, **binds: object) -> int:
        return self._on_driver(name, binds).rowcount

    def execute_many(self, name: str, rows: Sequence[Mapping[str, object]]) -> None:
        if not rows:
            return
        statement = self._queries[name]
        if statement.binds & self._scope.keys():
            rows = [{**self._scope, **row} for row in rows]
        self._driver.executemany(statement.sql, rows)

    def scalar(self, name: str, /, **binds: object) -> Any:
        row = self._on_driver(name, binds).fetchone()
        return row and row[0]

    def pairs(self, name: str, /, **binds: object) -> list[tuple[Any, Any]]:
        """All rows of a statement of two columns, as the driver gives them."""
        return self._on_driver(name, binds).fetchall()

    def roll_back(self) -> None:
        self._driver.rollback()

    def _parts(self, name: str, binds: Mapping[str, object]) -> tuple[Sequence[str], Iterator[Sequence[Sequence[Any]]]]:
        cursor = self._on_driver(name, binds)
        columns = [column[0] for column in cursor.description]
        return columns, iter(lambda: cursor.fetchmany(PART), [])

    def _on_driver(self, name: str, binds: Mapping[str, object]) -> sqlite3.Cursor:
        return self._driver.execute(self._queries[name].sql, {**self._scope, **binds})

    @property
    def _driver(self) -> sqlite3.Connection:
        return cast(sqlite3.Connection, self.connection.connection.driver_connection)
