"""Workers that are killed at random moments lose nothing, do nothing twice, and keep the order of each fleet.

``MEMORY_GRAPH_TEST_KILLS`` and ``MEMORY_GRAPH_TEST_EVENTS`` make it longer, ``MEMORY_GRAPH_TEST_SEED`` other.
"""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random
from time import monotonic, sleep
from typing import Any
from uuid import UUID

import pytest

from app.schemas import NodePatch
from app.services import nodes
from app.store.sqlite.engine import SqliteStore
from tests.acceptance.server import Nursery, check_file
from tests.contract.builder import GraphBuilder, edge, fresh_principal, node

KILLS = int(os.environ.get("MEMORY_GRAPH_TEST_KILLS", "12"))
EVENTS = int(os.environ.get("MEMORY_GRAPH_TEST_EVENTS", "1600"))
SEED = int(os.environ.get("MEMORY_GRAPH_TEST_SEED", "1"))
FLEETS, WORKERS = 8, 4
LEASE_SECONDS = 1
_GIVE_UP_SECONDS = 600


def test_killed_workers_lose_nothing_and_do_nothing_twice(nursery: Nursery, tmp_path: Path) -> None:
    random, database = Random(SEED), tmp_path / "memory.db"
    store = SqliteStore(database)
    store.migrate()
    wanted = _fill(store)
    store.dispose()

    options = ("--lease-seconds", str(LEASE_SECONDS), "--threads", "2")
    workers = [nursery.start_worker(database, *options) for _ in range(WORKERS)]
    moments = [EVENTS * (KILLS - number - random.random()) / (KILLS + 1) for number in range(KILLS)]
    started = monotonic()
    while waiting := _pending(database):
        assert monotonic() - started < _GIVE_UP_SECONDS
        while moments and waiting <= moments[0]:
            number = random.randrange(WORKERS)
            workers[number].kill()
            workers[number] = nursery.start_worker(database, *options)
            del moments[0]
        sleep(0.01)
    for worker in workers:
        assert not worker.has_ended(), worker.output()
        worker.stop()

    assert len(moments) < KILLS / 2
    _check(database, wanted)
    check_file(database)


def _fill(store: SqliteStore) -> dict[UUID, float]:
    """Fleets with a change of base confidence an event, each of which has one dependent; what that must come to."""
    wanted = {}
    for _ in range(FLEETS):
        graph = GraphBuilder(store, fresh_principal())
        count = EVENTS // FLEETS
        graph.load(
            *(node(f"s{i}") for i in range(count)),
            *(node(f"t{i}") for i in range(count)),
            *(edge(f"s{i}", f"t{i}") for i in range(count)),
        )
        confidences = [(i + 1) / (count + 1) for i in range(count)]

        def change(uow: Any, graph: GraphBuilder = graph, confidences: list[float] = confidences) -> None:
            for i, confidence in enumerate(confidences):
                nodes.update(uow, graph.id(f"s{i}"), NodePatch(base_confidence=confidence), None)

        graph.write(change)
        wanted |= {graph.id(f"t{i}"): confidence for i, confidence in enumerate(confidences)}
    return wanted


def _pending(database: Path) -> int:
    with closing(sqlite3.connect(database, timeout=30)) as connection:
        found: int = connection.execute("SELECT COUNT(*) FROM OutboxEvents WHERE EventState = 'Pending'").fetchone()[0]
        return found


def _check(database: Path, wanted: dict[UUID, float]) -> None:
    with closing(sqlite3.connect(database)) as connection:
        read = connection.execute
        states = read("SELECT EventState, LeaseOwner IS NULL, COUNT(*) FROM OutboxEvents GROUP BY 1, 2").fetchall()
        assert states == [("Done", 1, EVENTS)]  # none lost, none dead, no lease left
        confidences = {
            UUID(bytes=id_): value for id_, value in read("SELECT MemoryNodeId, Confidence FROM MemoryNodes")
        }
        assert {id_: confidences[id_] for id_ in wanted} == pytest.approx(wanted)
        # one run an event, each with the node and its dependent: nothing was done twice
        assert read("SELECT COUNT(*), COUNT(DISTINCT OutboxEvent) FROM RevalidationRuns").fetchone() == (EVENTS, EVENTS)
        assert read("SELECT DISTINCT RunStatus FROM RevalidationRuns").fetchall() == [("Completed",)]
        assert read("SELECT COUNT(*) FROM RevalidationDecisions").fetchone() == (2 * EVENTS,)
        # source: made, given its base, looked at; dependent: made, looked at
        assert read("SELECT MAX(Version) FROM MemoryNodes").fetchone() == (3,)
        # in the order of each fleet's events
        handled = read(
            "SELECT o.FleetId, r.CommittedAt FROM RevalidationRuns AS r"
            " JOIN OutboxEvents AS o ON o.OutboxEventId = r.OutboxEvent ORDER BY o.FleetId, o.OutboxEventId"
        ).fetchall()
        assert handled == sorted(handled)


def test_a_worker_stops_when_it_is_told_to_and_gives_back_what_it_holds(nursery: Nursery, tmp_path: Path) -> None:
    database = tmp_path / "memory.db"
    store = SqliteStore(database)
    store.migrate()
    _fill(store)
    store.dispose()
    worker = nursery.start_worker(database)
    waiting = _pending(database)
    while _pending(database) == waiting:
        sleep(0.01)

    started = monotonic()
    worker.stop()

    assert monotonic() - started < 5
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("SELECT COUNT(*) FROM OutboxEvents WHERE LeaseOwner IS NOT NULL").fetchone() == (0,)
