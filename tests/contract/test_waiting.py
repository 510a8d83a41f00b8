"""Who waits for whom (SEMANTICS 4, Concurrency; 5, Repeatable)."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta
from threading import Event
from uuid import UUID

import pytest

from app.domain.models import Principal
from app.services import snapshot
from app.store.ports import Store
from tests.contract.builder import GraphBuilder, fresh_principal, node
from tests.contract.conftest import NewDatabase

SOON = 10  # seconds in which what does not wait has long happened


@contextmanager
def a_writer(store: Store, who: Principal) -> Iterator[None]:
    """Holds a writing transaction of ``who`` open for the block; it is rolled back at the end."""
    started, done = Event(), Event()

    def hold() -> None:
        with store.write(who):
            started.set()
            done.wait(60)

    with ThreadPoolExecutor(1) as threads:
        threads.submit(hold)
        try:
            assert started.wait(SOON)
            yield
        finally:
            done.set()


def ids(store: Store, graph: GraphBuilder, as_of: datetime | None) -> list[UUID]:
    with snapshot.open_snapshot(store, graph.who, graph.graph_id, as_of) as state:
        return [node.memory_node_id for node in state.nodes]


def test_a_snapshot_of_now_does_not_wait_for_a_writer_of_another_fleet(store: Store, graph: GraphBuilder) -> None:
    graph.load(node("a"))
    with a_writer(store, fresh_principal()):
        with store.read(graph.who) as view:
            now = view.now
        with ThreadPoolExecutor(1) as threads:
            first = threads.submit(ids, store, graph, now).result(SOON)
    assert len(first) == 1

    graph.load(node("b"))  # its stamp exceeds the time that was answered for
    assert ids(store, graph, now) == first
    assert len(ids(store, graph, None)) == 2


def test_the_promise_outlives_the_process_and_a_clock_set_back(new_database: NewDatabase, who: Principal) -> None:
    database = new_database()
    store = database.store
    graph = GraphBuilder(store, who)
    graph.load(node("a"))
    with a_writer(store, fresh_principal()):
        with store.read(who) as view:
            now = view.now
        first = ids(store, graph, now)
    database.reopen(lambda: now - timedelta(hours=1))
    with database.store.write(who) as uow:
        stamp = uow.stamp
        uow.commit()
    assert stamp > now
    assert ids(database.store, graph, now) == first


def test_a_snapshot_of_now_waits_for_a_writer_of_its_own_fleet(store: Store, graph: GraphBuilder) -> None:
    graph.load(node("a"))
    with ThreadPoolExecutor(1) as threads:
        with a_writer(store, graph.who):
            with store.read(graph.who) as view:
                now = view.now
            asked = threads.submit(ids, store, graph, now)
            with pytest.raises(TimeoutError):
                asked.result(0.5)
        assert len(asked.result(SOON)) == 1


def test_reading_what_was_committed_waits_for_nobody(store: Store, graph: GraphBuilder) -> None:
    graph.load(node("a"))
    with a_writer(store, graph.who), ThreadPoolExecutor(1) as threads:
        assert len(threads.submit(ids, store, graph, None).result(SOON)) == 1


def test_writers_of_different_fleets_work_at_the_same_time(store: Store, graph: GraphBuilder) -> None:
    if not store.capabilities.parallel_fleets:
        pytest.skip("needs the capability parallel_fleets")
    with a_writer(store, fresh_principal()), ThreadPoolExecutor(1) as threads:
        threads.submit(graph.load, node("a")).result(SOON)
    assert len(ids(store, graph, None)) == 1
