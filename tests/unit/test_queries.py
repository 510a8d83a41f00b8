"""The loader of named statements, and what holds of every statement there is."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.domain.models import Impact, InvalidationRun
from app.resources import SQL
from app.store.queries import Statement, load_queries
from app.store.session import _columns_of

SQLITE = load_queries(SQL / "sqlite" / "queries", SQL / "sqlite" / "engine")
TWINNED = load_queries(SQL / "sqlite" / "queries")
SQLSERVER = load_queries(SQL / "sqlserver" / "queries")
SCOPE = {"tenant_id", "fleet_id"}
SCOPED_HERE = {"clock_last"}  # in SQLite one clock serves every fleet
_JSON = re.compile(r"'\$\.(\w+)'")

ACROSS_FLEETS = {
    "runs_pending_everywhere": "what a start-up carries out is of every fleet; each run is then resumed in its own",
    **dict.fromkeys(
        (
            "outbox_next_line",
            "outbox_charge",
            "outbox_claim",
            "outbox_claimed",
            "outbox_heartbeat",
            "outbox_release",
            "outbox_fail",
            "outbox_deliver",
            "outbox_clean",
        ),
        "workers drain the outbox of every fleet; each event is then handled in its own",
    ),
    **dict.fromkeys(("outbox_measure", "outbox_recent"), "how the outbox is doing is asked over all fleets"),
}
"""Statements that read a scoped table without a scope, and why they may."""

VERSIONED = ("MemoryNodes", "MemoryEdges", "MemoryAssertions")
LARGE = {name + suffix for name in VERSIONED for suffix in ("", "History")}
"""Tables that no statement may read from end to end."""
HALVED = {f"{name}SystemTime" for name in VERSIONED}
"""Views of a table and its history."""

_WORD = r"\[?(\w+)\]?"
_READ = re.compile(rf"\b(?:FROM|JOIN)\s+{_WORD}(?:\s+AS\s+(\w+))?", re.IGNORECASE)
_INSERTED = re.compile(rf"\bINSERT INTO\s+{_WORD}\s*\(([^)]*)\)", re.IGNORECASE)
_CHANGED = re.compile(rf"\b(?:UPDATE|DELETE FROM)\s+{_WORD}", re.IGNORECASE)


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.sql").write_text(text, encoding="utf-8")
    return folder


# The loader


def test_a_statement_runs_from_its_name_to_the_next(tmp_path: Path) -> None:
    found = load_queries(
        write(
            tmp_path,
            a="-- A file.\n\n-- name: one\n-- Its purpose.\nSELECT :x\nFROM t;\n\n-- name: two_b\nSELECT 2;\n",
            b="-- name: three\nSELECT a::int, ':no' , :y, :x\n",
        )
    )

    assert list(found) == ["one", "two_b", "three"]
    assert found["one"].sql == "SELECT :x\nFROM t"
    assert found["one"].binds == {"x"}
    assert found["two_b"].sql == "SELECT 2"


def test_comment_lines_are_dropped_with_what_looks_like_a_bind(tmp_path: Path) -> None:
    found = load_queries(write(tmp_path, a="-- name: one\n-- Binds :not_this.\nSELECT 1\n  -- nor :this\n"))

    assert found["one"].sql == "SELECT 1"
    assert found["one"].binds == frozenset()


@pytest.mark.parametrize(
    "files",
    [
        {"a": "-- name: one\nSELECT 1;\n-- name: one\nSELECT 2;\n"},
        {"a": "-- name: one\nSELECT 1;\n", "b": "-- name: one\nSELECT 1;\n"},
    ],
    ids=["in one file", "in two files"],
)
def test_a_name_given_twice_is_refused(tmp_path: Path, files: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="one is defined twice"):
        load_queries(write(tmp_path, **files))


def test_an_empty_statement_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="one is empty"):
        load_queries(write(tmp_path, a="-- name: one\n-- Nothing.\n-- name: two\nSELECT 1;\n"))


# Every statement


@pytest.fixture(scope="module")
def schema() -> Iterator[sqlite3.Connection]:
    """The schema and the work tables, empty."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for script in sorted((SQL / "sqlite" / "schema").glob("*.sql")):
            connection.executescript(script.read_text(encoding="utf-8"))
        connection.executescript((SQL / "sqlite" / "session.sql").read_text(encoding="utf-8"))
        yield connection


@pytest.fixture(scope="module")
def scoped(schema: sqlite3.Connection) -> set[str]:
    """Tables and views whose rows belong to a fleet."""
    found = schema.execute(
        "SELECT m.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c ON c.name = 'FleetId'"
    )
    return {name for (name,) in found}


def test_the_schema_has_the_scoped_tables(scoped: set[str]) -> None:
    assert scoped >= LARGE | {"MemoryGraphs", "SourceRules", "InvalidationRuns", "OutboxEvents", "ActiveEdges"}


@pytest.mark.parametrize("statement", SQLITE.values(), ids=lambda statement: statement.name)
def test_every_statement_stays_within_its_fleet(statement: Statement, scoped: set[str]) -> None:
    """Each scoped table that a statement reads is tied to the caller's tenant and fleet, by itself or by a join."""
    if statement.name in ACROSS_FLEETS:
        return
    touched = {name for name, _ in _READ.findall(statement.sql)}
    touched |= {name for name, _ in _INSERTED.findall(statement.sql)} | set(_CHANGED.findall(statement.sql))
    if touched & scoped:
        assert {"tenant_id", "fleet_id"} <= statement.binds
    for table, alias in _READ.findall(statement.sql):
        if table in scoped and not _is_target(statement, table):
            assert alias, f"{table} needs an alias"
            assert _is_tied(statement, alias), f"{table} AS {alias} is not held to tenant and fleet"
    for table, columns in _INSERTED.findall(statement.sql):
        if table in scoped:
            assert {"TenantId", "FleetId"} <= set(re.findall(r"\w+", columns))
    for table in _CHANGED.findall(statement.sql):
        if table in scoped:
            for column in ("Tenant", "Fleet"):
                tie = rf"(?<![\w.])(?:{table}\.)?{column}Id = :{column.lower()}_id"
                assert re.search(tie, statement.sql), f"{table} is not held to {column}"


def test_the_allow_list_names_statements_that_need_it() -> None:
    for name in ACROSS_FLEETS:
        assert not {"tenant_id", "fleet_id"} & SQLITE[name].binds


@pytest.mark.parametrize("statement", SQLITE.values(), ids=lambda statement: statement.name)
def test_no_statement_reads_a_large_table_from_end_to_end(statement: Statement, schema: sqlite3.Connection) -> None:
    binds = dict.fromkeys(statement.binds)
    plan = [row[3] for row in schema.execute(f"EXPLAIN QUERY PLAN {statement.sql}", binds)]

    aliases = {alias: table for table, alias in _READ.findall(statement.sql) if alias}
    for step in plan:
        scanned = re.match(r"SCAN (\w+)", step)
        if scanned:
            table = aliases.get(scanned[1], scanned[1])
            # What was gathered from both halves of a view, each step of which is in the plan as well.
            gathered = table in HALVED and f"MATERIALIZE {table}" in plan
            assert gathered or table not in LARGE | HALVED | {"ActiveEdges"}, f"{step} in {plan}"


@pytest.mark.parametrize("statement", SQLITE.values(), ids=lambda statement: statement.name)
def test_a_statement_has_no_comment_within_its_lines(statement: Statement) -> None:
    assert "--" not in statement.sql


def test_both_engines_define_the_same_names_and_binds() -> None:
    assert set(SQLSERVER) == set(TWINNED)
    for name, twin in SQLSERVER.items():
        # Where SQLite runs a statement for each row, SQL Server opens all rows from one JSON text, by the same names.
        taken = twin.binds - {"rows"} | set(_JSON.findall(twin.sql)) if "rows" in twin.binds else twin.binds
        wanted = SQLITE[name].binds | SCOPE if name in SCOPED_HERE else SQLITE[name].binds
        assert taken == wanted, name


def test_every_variable_a_file_declares_is_used_in_it() -> None:
    for file in (SQL / "sqlserver" / "queries").glob("*.sql"):
        head, _, rest = file.read_text(encoding="utf-8").partition("-- name:")
        for variable in re.findall(r"@(\w+) [A-Z]", head):
            assert re.search(rf"@{variable}\b", rest), f"{file.name} declares @{variable}"


@pytest.mark.parametrize("statement", SQLSERVER.values(), ids=lambda statement: statement.name)
def test_a_statement_of_sql_server_is_tied_to_the_caller_or_the_session(statement: Statement) -> None:
    for table, alias in re.findall(r"(?:FROM|JOIN) dbo\.(\w+)(?: FOR SYSTEM_TIME [\w @]+?)? AS (\w+)", statement.sql):
        if table.startswith(("Staged", "WalkNodes", "Look")):
            assert re.search(rf"\b{alias}\.SessionId = @@SPID", statement.sql), f"{table} AS {alias}"
        elif statement.name not in ACROSS_FLEETS:
            for column, bind in (("TenantId", "tenant_id"), ("FleetId", "fleet_id")):
                tied = rf"\b{alias}\.{column} = (?:@{bind}|\w+\.{column})|\w+\.{column} = {alias}\.{column}"
                assert re.search(tied, statement.sql), f"{table} AS {alias}: {column}"


def _is_target(statement: Statement, table: str) -> bool:
    """``DELETE FROM table``: what is deleted, not what is read."""
    return re.match(rf"DELETE FROM {table}\b", statement.sql) is not None


def _is_tied(statement: Statement, alias: str) -> bool:
    return all(
        re.search(rf"\b{alias}\.{column}Id = (?::{column.lower()}_id|\w+\.{column}Id)", statement.sql)
        or re.search(rf"\b\w+\.{column}Id = {alias}\.{column}Id", statement.sql)
        for column in ("Tenant", "Fleet")
    )


def test_the_procedure_answers_with_the_columns_of_the_models() -> None:
    procedure = (SQL / "sqlserver" / "procedures" / "04_invalidate_memory_graph.sql").read_text(encoding="utf-8")
    report = procedure.partition("IF @Report = 1\n")[2]
    for select, model, twin in zip(
        re.findall(r"SELECT (.*?)\n +FROM", report, re.DOTALL)[:2],
        (InvalidationRun, Impact),
        ("run_find", "impact_page"),
        strict=True,
    ):
        assert _columns(select) == list(_columns_of(model))
        assert _columns(re.sub(r"^SELECT |\nFROM.*", "", SQLITE[twin].sql, flags=re.DOTALL)) == _columns(select)


def _columns(select: str) -> list[str]:
    """The names that a list of plain columns gives."""
    return [re.split(r" AS |\.", column.strip())[-1].strip("[]") for column in select.split(",")]
