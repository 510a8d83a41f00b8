"""Runs the .sql script of a migration for the engine at hand."""

import sqlite3
from collections.abc import Iterator

from alembic import op

from app.resources import MIGRATIONS


def run_script(name: str) -> None:
    """Run ``migrations/sqlite/<name>.sql`` statement by statement, in Alembic's transaction."""
    connection = op.get_bind()
    script = MIGRATIONS / connection.dialect.name / f"{name}.sql"
    for statement in split_statements(script.read_text(encoding="utf-8")):
        connection.exec_driver_sql(statement)


def split_statements(script: str) -> Iterator[str]:
    """The statements of a SQLite script; a trigger's body, with its own semicolons, is part of one."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        yield statement
