"""Runs statements on the driver itself: SQLite knows ``:name`` parameters, and a cascade runs very many of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import CursorResult

from app.store.session import Session


class SqliteSession(Session):
    """See ``app.store.session.Session``."""

    def execute_many(self, name: str, rows: Sequence[Mapping[str, object]]) -> None:
        if rows:
            every = [{**self._scope, **row} for row in rows]
            self.connection.exec_driver_sql(self._queries[name].sql, every)

    def _run(self, name: str, binds: Mapping[str, object]) -> CursorResult[Any]:
        return self.connection.exec_driver_sql(self._queries[name].sql, {**self._scope, **binds})
