"""Runs the .sql script of a migration for the engine at hand, or writes it out where Alembic writes a script."""

import re
import sqlite3
from collections.abc import Iterator

from alembic import context, op

from app.resources import MIGRATIONS

_FOLDERS = {"sqlite": "sqlite", "mssql": "sqlserver"}
_SETTINGS = "SET ANSI_NULLS, QUOTED_IDENTIFIER ON"
"""What ODBC sets and sqlcmd does not: procedures keep them, and filtered indexes need them."""

_GO = re.compile(r"^\s*GO\s*$", re.MULTILINE | re.IGNORECASE)


def run_script(name: str) -> None:
    """Run ``migrations/<engine>/<name>.sql`` statement by statement, in Alembic's transaction."""
    dialect = context.get_context().dialect.name
    if dialect == "mssql" and context.is_offline_mode():
        op.execute(_SETTINGS)
    script = (MIGRATIONS / _FOLDERS[dialect] / f"{name}.sql").read_text(encoding="utf-8")
    for statement in split_batches(script) if dialect == "mssql" else split_statements(script):
        if context.is_offline_mode():
            # A colon would begin a parameter, and Alembic ends the statement itself.
            op.execute(statement.removesuffix(";").replace(":", r"\:"))
        else:
            op.get_bind().exec_driver_sql(statement)


def split_batches(script: str) -> Iterator[str]:
    """The batches of a T-SQL script, between its GO lines."""
    return (batch.strip() for batch in _GO.split(script) if batch.strip())


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
