"""What only SQLite can show: its triggers let no statement leave history out."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import Conflict
from app.store.sqlite.engine import SqliteStore
from app.store.unit import UnitOfWork
from tests.contract.builder import GraphBuilder, assertion, edge, node

TABLES = ("MemoryNodes", "MemoryEdges", "MemoryAssertions")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory-graph.db"


@pytest.fixture
def graph(path: Path) -> Iterator[GraphBuilder]:
    """With one version of each kind of row in history, and another that is current."""
    store = SqliteStore(path)
    store.migrate()
    graph = GraphBuilder(store)
    graph.load(node("a"), node("b"), edge("a", "b"), assertion("a", "It is."))
    graph.load(
        *(node(key, category="later") for key in "ab"),
        edge("a", "b", weight=0.5),
        assertion("a", "It is.", importance=0.9),
    )
    yield graph
    store.dispose()


@pytest.fixture
def raw(graph: GraphBuilder, path: Path) -> Iterator[sqlite3.Connection]:
    """Somebody with a shell on the file."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


def dump(connection: sqlite3.Connection) -> dict[str, list[Any]]:
    names = [name + suffix for name in TABLES for suffix in ("", "History")]
    return {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in names}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {table} SET Version = Version + 1",
        "UPDATE {table} SET ValidFrom = ValidFrom + 1",
        "UPDATE OR IGNORE {table} SET Version = 9",
        "UPDATE OR REPLACE {table} SET Version = 9",
        "DELETE FROM {table}",
        "REPLACE INTO {table} SELECT * FROM {table}",
        "INSERT OR REPLACE INTO {table} SELECT * FROM {table} LIMIT 1",
        "INSERT INTO {table} SELECT * FROM {table} WHERE 1 ON CONFLICT DO UPDATE SET Version = 9",
    ],
)
def test_without_an_open_stamp_every_write_is_refused(raw: sqlite3.Connection, table: str, statement: str) -> None:
    before = dump(raw)

    with pytest.raises(sqlite3.IntegrityError):
        raw.execute(statement.format(table=table))

    assert dump(raw) == before


@pytest.mark.parametrize("table", TABLES)
def test_without_an_open_stamp_a_new_row_is_refused(raw: sqlite3.Connection, table: str) -> None:
    columns = [name for _, name, *_ in raw.execute(f"PRAGMA table_info({table})")]
    values = ["randomblob(16)", *(f"[{name}]" for name in columns[1:])]
    if table == "MemoryNodes":
        values[columns.index("Key")] = "'another'"

    with pytest.raises(sqlite3.IntegrityError, match="stamp of the open transaction"):
        raw.execute(f"INSERT INTO {table} SELECT {', '.join(values)} FROM {table} LIMIT 1")


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {table} SET ValidTo = ValidTo + 1",
        "DELETE FROM {table}",
        "REPLACE INTO {table} SELECT * FROM {table}",
        "INSERT INTO {table} SELECT * FROM {table}",
    ],
)
def test_history_takes_no_change_with_or_without_a_stamp(
    graph: GraphBuilder, raw: sqlite3.Connection, table: str, statement: str
) -> None:
    before = dump(raw)
    with pytest.raises(sqlite3.IntegrityError):
        raw.execute(statement.format(table=f"{table}History"))

    def forge(uow: UnitOfWork) -> None:
        run(uow, statement.format(table=f"{table}History"))

    with pytest.raises(Conflict):
        graph.write(forge)
    assert dump(raw) == before


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE MemoryNodes SET Name = 'new', ValidFrom = (SELECT TransactionStamp FROM SystemClock) WHERE [Key] = 'a'",
        # Takes the key of b from it by deleting b: a deletion like any other.
        "UPDATE OR REPLACE MemoryNodes SET [Key] = 'b', ValidFrom = (SELECT TransactionStamp FROM SystemClock)"
        " WHERE [Key] = 'a'",
        "REPLACE INTO MemoryAssertions SELECT MemoryAssertionId, TenantId, FleetId, GraphId, MemoryNodeId, 'new',"
        " Category, Importance, Confidence, ObservedAt, EffectiveFrom, EffectiveTo, LastVerifiedAt, SupersededBy,"
        " RetractedAt, SourceRuleId, (SELECT TransactionStamp FROM SystemClock), 9 FROM MemoryAssertions",
        "DELETE FROM MemoryEdges",
    ],
)
def test_with_a_stamp_every_way_of_writing_goes_to_history(
    graph: GraphBuilder, raw: sqlite3.Connection, statement: str
) -> None:
    before = dump(raw)

    def write(uow: UnitOfWork) -> None:
        run(uow, "PRAGMA defer_foreign_keys = ON")
        if "OR REPLACE" in statement:  # which must not leave an edge of b dangling
            run(uow, "DELETE FROM MemoryEdges")
        run(uow, statement)

    stamp = graph.stamp(write)

    after = dump(raw)
    gone = {
        name: [row for row in before[name] if row not in after[name]] for name in TABLES if before[name] != after[name]
    }
    assert gone
    for name, rows in gone.items():
        closed = [row for row in after[f"{name}History"] if row not in before[f"{name}History"]]
        # A row of history is the row as it was, with the time at which it ended before its version.
        micros = int(stamp.timestamp()) * 1_000_000 + stamp.microsecond
        assert sorted(closed, key=repr) == sorted(((*row[:-1], micros, row[-1]) for row in rows), key=repr)


@pytest.mark.parametrize("table", TABLES)
def test_the_identity_of_a_versioned_row_does_not_change(
    graph: GraphBuilder, raw: sqlite3.Connection, table: str
) -> None:
    before = dump(raw)
    for column in ("TenantId", "FleetId"):

        def move(uow: UnitOfWork, column: str = column) -> None:
            run(uow, "PRAGMA defer_foreign_keys = ON")
            run(
                uow,
                f"UPDATE {table} SET {column} = randomblob(16), ValidFrom = (SELECT TransactionStamp FROM SystemClock)",
            )

        with pytest.raises(Conflict):
            graph.write(move)
    assert dump(raw) == before


def test_a_stamp_is_open_within_a_transaction_only(graph: GraphBuilder, raw: sqlite3.Connection) -> None:
    def stamps() -> tuple[int, int | None]:
        found: tuple[int, int | None] = raw.execute("SELECT LastStamp, TransactionStamp FROM SystemClock").fetchone()
        return found

    first, none = stamps()
    assert none is None
    with graph.store.write(graph.who):
        pass  # and nothing is committed
    assert stamps() == (first, None)
    with pytest.raises(ZeroDivisionError):
        graph.write(lambda uow: 1 // 0)
    assert stamps() == (first, None)
    graph.load(node("c"))
    last, none = stamps()
    assert last > first
    assert none is None


def test_edges_of_two_fleets_cannot_meet(graph: GraphBuilder) -> None:
    other = GraphBuilder(graph.store)
    other.load(node("theirs"))

    def forge(uow: UnitOfWork) -> None:
        run(
            uow,
            "INSERT INTO MemoryEdges SELECT randomblob(16), TenantId, FleetId, GraphId, SourceNodeId, ?, EdgeType,"
            " SupportGroup, MinSupport, Weight, EffectiveFrom, EffectiveTo, SourceRuleId, CreatedAt,"
            " (SELECT TransactionStamp FROM SystemClock), 1 FROM MemoryEdges",
            other.id("theirs").bytes,
        )

    with pytest.raises(Conflict, match="FOREIGN KEY"):
        graph.write(forge)


def run(uow: UnitOfWork, statement: str, *values: object) -> None:
    """A statement of nobody's, on the unit's own connection."""
    uow.nodes._session.connection.exec_driver_sql(statement, tuple(values))
