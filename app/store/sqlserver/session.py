"""Runs T-SQL statements: each as one batch that declares its variables, so every value has the type of its column."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import CursorResult

from app.store.queries import Statement
from app.store.session import PART, Session
from app.store.sqlserver.codec import encode


class SqlServerSession(Session):
    """See ``app.store.session.Session``. The connection is in autocommit mode: T-SQL begins and ends transactions."""

    def execute(self, name: str, /, **binds: object) -> int:
        changed: int = self._run(name, binds, "SELECT @@ROWCOUNT AS Changed;").scalar_one()
        return changed

    def execute_many(self, name: str, rows: Sequence[Mapping[str, object]]) -> None:
        """All rows go as one JSON text, which the statement opens."""
        if rows:
            encoded = [{column: encode(value) for column, value in row.items()} for row in rows]
            self.execute(name, rows=orjson.dumps(encoded).decode())

    def scalar(self, name: str, /, **binds: object) -> Any:
        row = self._run(name, binds).fetchall()
        return row[0][0] if row else None

    def batch(self, sql: str) -> None:
        """Run T-SQL without parameters, so that what it sets or begins outlives the call."""
        self.connection.exec_driver_sql(sql)

    def _parts(self, name: str, binds: Mapping[str, object]) -> tuple[Sequence[str], Iterator[Sequence[Sequence[Any]]]]:
        result = self._run(name, binds)
        return list(result.keys()), result.partitions(PART)

    def _run(self, name: str, binds: Mapping[str, object], tail: str = "") -> CursorResult[Any]:
        statement = self._queries[name]
        every = {**self._scope, **binds}
        given = {bind: encode(every[bind]) for bind in statement.variables if bind in statement.binds}
        values = tuple(value for value in given.values() if value is not None)
        return self.connection.exec_driver_sql(f"{_declared(statement, given)}{statement.sql};\n{tail}", values)


def _declared(statement: Statement, given: Mapping[str, object]) -> str:
    """The variables with a parameter for each value; one without a value is NULL, which needs no parameter."""
    variables = (
        f"@{name} {type_}{' = ?' if given.get(name) is not None else ''}" for name, type_ in statement.variables.items()
    )
    return f"DECLARE {', '.join(variables)};\n" if statement.variables else ""
