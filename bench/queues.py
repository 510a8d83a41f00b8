"""Draining a queue on SQLite: the outbox with its second looks, and huey with tasks that do nothing."""

import time
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from statistics import median
from threading import Event
from typing import Any
from uuid import UUID, uuid5

import orjson
from huey import SqliteHuey  # type: ignore[import-untyped, unused-ignore]

from app.domain.models import Principal
from app.schemas import NewGraph, NodePatch
from app.services import exchange, graphs, nodes
from app.store.sqlite.engine import SqliteStore
from app.worker import Worker
from bench.measure import timed

_WHO = Principal(UUID(int=1), UUID(int=1))
_GRAPH = UUID(int=7)
_LIMIT_SECONDS = 30


def drain_outbox(file: Path, count: int) -> float:
    """Seconds in which one thread handles so many events of one fleet."""
    store = _store(file, count)
    with store.write(_WHO) as uow:
        for i in range(count):
            nodes.update(uow, _id(f"s{i}"), NodePatch(base_confidence=0.5), None)
        uow.commit()
    worker = _worker(store)
    seconds, taken = timed(worker.drain)
    store.dispose()
    if taken != count:
        raise AssertionError(f"{taken} events instead of {count}")
    return seconds


def latency_outbox(file: Path, repeats: int) -> float:
    """From the end of a write to the moment at which a worker of the same process has done what follows; the median."""
    store = _store(file, 1)
    worker = _worker(store)
    worker.start()
    taken = []
    for i in range(repeats):
        with store.write(_WHO) as uow:
            nodes.update(uow, _id("s0"), NodePatch(base_confidence=(i + 1) / (repeats + 1)), None)
            uow.commit()
        start = time.perf_counter()
        _wait_for(lambda i=i: _confidence(store) == (i + 1) / (repeats + 1))  # type: ignore[misc]
        taken.append(time.perf_counter() - start)
    worker.stop(10)
    store.dispose()
    return median(taken)


def drain_huey(file: Path, count: int) -> float:
    """Seconds in which huey hands out so many tasks, and runs them."""
    queue, _ = _huey(file)
    task = queue.task()(_nothing)
    for _ in range(count):
        task()

    def drain() -> None:
        for _ in range(count):
            queue.execute(queue.dequeue())

    return timed(drain)[0]


def latency_huey(file: Path, repeats: int) -> float:
    """From the end of the write to the moment at which a consumer of the same process has run the task; the median."""
    queue, done = _huey(file)
    task = queue.task()(done.set)
    consumer = queue.create_consumer(workers=1, periodic=False, initial_delay=0.1, check_worker_health=False)
    consumer.start()
    taken = []
    for _ in range(repeats):
        done.clear()
        task()
        start = time.perf_counter()
        done.wait(_LIMIT_SECONDS)
        taken.append(time.perf_counter() - start)
    consumer.stop(graceful=True)
    return median(taken)


def _nothing() -> None:
    """The work of a task."""


def _huey(file: Path) -> tuple[Any, Event]:
    return SqliteHuey(filename=str(file), fsync=True, results=False), Event()


def _store(file: Path, count: int) -> SqliteStore:
    """A graph of so many pairs, the second node of each resting on the first."""
    store = SqliteStore(file)
    store.migrate()
    with store.write(_WHO) as uow:
        graphs.create(uow, NewGraph(name="bench", graph_id=_GRAPH))
        uow.commit()
    lines = [
        line
        for i in range(count)
        for line in (
            {"kind": "node", "key": f"s{i}"},
            {"kind": "node", "key": f"t{i}"},
            {"kind": "edge", "source": f"s{i}", "target": f"t{i}", "edgeType": "Requires"},
        )
    ]
    body = b"".join(orjson.dumps(line) + b"\n" for line in lines)
    exchange.import_lines(store, _WHO, _GRAPH, BytesIO(body))
    return store


def _worker(store: SqliteStore) -> Worker:
    return Worker(store, threads=1, lease_seconds=timedelta(minutes=1).total_seconds(), keep_days=7)


def _id(key: str) -> UUID:
    return uuid5(_GRAPH, key)


def _confidence(store: SqliteStore) -> float:
    with store.read(_WHO) as view:
        node = view.nodes.find(_id("t0"))
    assert node is not None
    return node.confidence


def _wait_for(condition: Any) -> None:
    end = time.monotonic() + _LIMIT_SECONDS
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError("nobody has handled the event")
