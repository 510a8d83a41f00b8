"""Runs statements on the driver itself: SQLite knows ``:name`` parameters, and a cascade runs very many of them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import CursorResult

from app.store.session import PART, Session


class SqliteSession(Session):
    """See ``app.store.session.Session``."""

    _cursor: Any = None

    def execute_many(self, name: str, rows: Sequence[Mapping[str, object]]) -> None:
        if rows:
            every = [{**self._scope, **row} for row in rows]
            self.connection.exec_driver_sql(self._queries[name].sql, every)

    def driver_execute(self, name: str, binds: Mapping[str, object]) -> int:
        """Run a statement on the driver's cursor, without SQLAlchemy's share of the cost; how many rows it changed."""
        if self._cursor is None:
            self._cursor = self.connection.connection.cursor()
        self._cursor.execute(self._queries[name].sql, {**self._scope, **binds})
        changed: int = self._cursor.rowcount
        return changed

    def driver_pairs(self, name: str, binds: Mapping[str, object]) -> list[tuple[Any, Any]]:
        """All rows of a statement of two columns, as the driver gives them."""
        return [(first, second) for part in self._parts(name, binds)[1] for first, second in part]

    def _parts(self, name: str, binds: Mapping[str, object]) -> tuple[Sequence[str], Iterator[Sequence[Sequence[Any]]]]:
        cursor = self.connection.connection.cursor()
        cursor.execute(self._queries[name].sql, {**self._scope, **binds})
        columns = [column[0] for column in cursor.description]
        return columns, iter(lambda: cursor.fetchmany(PART), [])

    def _run(self, name: str, binds: Mapping[str, object]) -> CursorResult[Any]:
        return self.connection.exec_driver_sql(self._queries[name].sql, {**self._scope, **binds})
