"""What the service is measured against: networkx in memory, and SQLite without anything around it.

Both do less than the service does. Reachability says which nodes lie downstream of a root; it weighs no support
groups, keeps no history, explains nothing and writes nothing. A bare table has no other index, constraint or history.
The ratios tell what the service's promises cost, not which tool is better.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import networkx as nx  # type: ignore[import-untyped, unused-ignore]

from bench.graphs import PROPAGATING, Edge
from bench.measure import timed

_TABLES = ("MemoryNodes", "MemoryEdges", "MemoryAssertions")
_BATCH = 20_000

_EDGES = "CREATE TABLE Edges (Source TEXT, Target TEXT, PRIMARY KEY (Source, Target)) WITHOUT ROWID"

_REACH = """
WITH RECURSIVE Reached (Node) AS (
    SELECT ?
    UNION
    SELECT e.Target FROM Reached AS r JOIN Edges AS e ON e.Source = r.Node
)
SELECT COUNT(*) FROM Reached
"""


class Floor(NamedTuple):
    """Seconds of wall time that raw SQLite takes for the rows of an imported graph."""

    insert: float
    """``INSERT`` of the same rows in one transaction: primary keys only, WAL, ``synchronous=FULL``."""
    select: float
    """``SELECT`` of the same rows in the order of the table, as Python tuples."""
    rows: int


class Reach:
    """Reachability over the propagating edges of one graph, by both peers."""

    def __init__(self, edges: list[Edge]) -> None:
        self._edges = [(source, target) for source, target, edge_type in edges if edge_type in PROPAGATING]
        self.build_seconds, self._graph = timed(lambda: nx.DiGraph(self._edges))
        """Seconds to build the networkx graph from lists of pairs, so without reading any file."""
        self._sqlite = sqlite3.connect(":memory:")
        self._sqlite.execute(_EDGES)
        self._sqlite.executemany("INSERT OR IGNORE INTO Edges VALUES (?, ?)", self._edges)

    def close(self) -> None:
        self._sqlite.close()

    def networkx(self, root: str) -> set[str]:
        """Everything downstream of ``root``, without it."""
        return set(nx.descendants(self._graph, root)) if root in self._graph else set()

    def sqlite(self, root: str) -> int:
        """How many nodes a recursive query reaches from ``root``, over an indexed table in memory."""
        return int(self._sqlite.execute(_REACH, (root,)).fetchone()[0])

    def edges_from(self, root: str) -> int:
        """Propagating edges that leave the root and what lies downstream: those a cascade may have to look at."""
        return int(sum(degree for _, degree in self._graph.out_degree([root, *self.networkx(root)])))

    def hub(self) -> str:
        """The node with the most dependents."""
        return str(max(self._graph.out_degree, key=lambda pair: (pair[1], pair[0]))[0])

    def small_roots(self, count: int) -> list[str]:
        """Roots with 5 to 50 nodes downstream, spread over the graph in the order of their names."""
        names = sorted(self._graph)
        found: list[str] = []
        for name in names[:: max(1, len(names) // (40 * count))]:
            if len(found) < count and self._graph.out_degree(name) and 5 <= len(self.networkx(name)) <= 50:
                found.append(name)
        return found


def sqlite_floor(database: Path, folder: Path) -> Floor:
    """Copy the rows of an imported graph into bare tables, and read them back."""
    bare = folder / "bare.db"
    with closing(sqlite3.connect(database)) as source, _bare(bare) as target:
        insert, rows = 0.0, 0
        start = time.perf_counter()
        target.execute("BEGIN IMMEDIATE")
        insert += time.perf_counter() - start
        for table in _TABLES:
            statement = _create(source, target, table)
            for batch in _batches(source, table):
                seconds, _ = timed(lambda s=statement, b=batch: target.executemany(s, b))  # type: ignore[misc]
                insert, rows = insert + seconds, rows + len(batch)
        insert += timed(lambda: target.execute("COMMIT"))[0]
        select, _ = timed(lambda: sum(len(batch) for table in _TABLES for batch in _batches(target, table)))
    bare.unlink()
    return Floor(insert, select, rows)


@contextmanager
def _bare(file: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        yield connection


def _create(source: sqlite3.Connection, target: sqlite3.Connection, table: str) -> str:
    """Make a bare table of the same columns and primary key; the statement that inserts into it."""
    columns = source.execute(f"PRAGMA table_info({table})").fetchall()
    keys = [f"[{name}]" for _, name, _, _, _, position in columns if position]
    declared = ", ".join(f"[{column[1]}] {column[2]}" for column in columns)
    target.execute(f"CREATE TABLE {table} ({declared}, PRIMARY KEY ({', '.join(keys)}))")
    return f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})"


def _batches(connection: sqlite3.Connection, table: str) -> Iterator[list[tuple[object, ...]]]:
    cursor = connection.execute(f"SELECT * FROM {table}")
    while batch := cursor.fetchmany(_BATCH):
        yield batch
