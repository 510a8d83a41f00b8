"""A server killed at random moments keeps what it has acknowledged, and nothing half-done.

Each round starts the server on the same file, checks all that the round before was told, works with one client or
several at once, and kills the server in the middle. ``MEMORY_GRAPH_TEST_KILLS`` says how many rounds,
``MEMORY_GRAPH_TEST_SEED`` which moments.
"""

import hashlib
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep
from uuid import UUID, uuid5

import httpx
import orjson

from tests.acceptance.server import NDJSON, Json, Nursery, Server, check_file, export, lines_of, load, ok, pages

KILLS = int(os.environ.get("MEMORY_GRAPH_TEST_KILLS", "25"))
SEED = int(os.environ.get("MEMORY_GRAPH_TEST_SEED", "20260101"))
NAMES = UUID("7d1c1a52-3c70-5b0a-9d24-c1b5a8f0e7a1")

BATCH, EDGES = 800, 3
"""Nodes of one import, and how many edges each of them has: enough that most kills fall into an import."""
BATCH_EDGES = EDGES * BATCH - EDGES * (EDGES + 1) // 2
TREES = 16
BRANCHES, LEAVES = 3, 15
TREE = 1 + BRANCHES + BRANCHES * LEAVES
T = "2026-01-01T00:00:00Z"


@dataclass
class Round:
    """What the clients of one round asked for, and what they were told."""

    number: int
    batches: dict[int, bool] = field(default_factory=dict)
    """Of each batch that was sent: whether it was acknowledged."""
    rewrites: dict[int, bool] = field(default_factory=dict)
    trees: dict[int, bool] = field(default_factory=dict)
    counters: dict[int, tuple[int, int]] = field(default_factory=dict)
    """The last value acknowledged, and the highest one sent."""
    created: dict[int, bool] = field(default_factory=dict)
    deleted: dict[int, bool] = field(default_factory=dict)
    snapshots: dict[tuple[str, str], str] = field(default_factory=dict)
    """Digest of the answer by graph and stamp."""
    failures: list[str] = field(default_factory=list)

    def graph(self, kind: str) -> str:
        return str(uuid5(NAMES, f"{kind}-{self.number}"))


# --- the work ---------------------------------------------------------------------------------------------------------


def _batch(number: int) -> bytes:
    nodes = [{"kind": "node", "key": f"{number}.{i}", "content": f"fact {i}"} for i in range(BATCH)]
    edges = [
        {"kind": "edge", "source": f"{number}.{i - j}", "target": f"{number}.{i}", "edgeType": "SupportedBy"}
        for i in range(BATCH)
        for j in range(1, EDGES + 1)
        if i >= j
    ]
    return lines_of(*nodes, *edges)


def _rewrite(number: int) -> bytes:
    return lines_of(*({"kind": "node", "key": f"all.{i}", "category": str(number)} for i in range(BATCH)))


def _forest() -> bytes:
    rows: list[Json] = []
    for tree in range(TREES):
        root = str(tree)
        rows.append({"kind": "node", "key": root})
        for branch in range(BRANCHES):
            middle = f"{tree}/{branch}"
            rows += [{"kind": "node", "key": middle}, _requires(root, middle)]
            for leaf in range(LEAVES):
                rows += [{"kind": "node", "key": f"{middle}/{leaf}"}, _requires(middle, f"{middle}/{leaf}")]
    return lines_of(*rows)


def _requires(source: str, target: str) -> Json:
    return {"kind": "edge", "source": source, "target": target, "edgeType": "Requires"}


def _prepare(client: httpx.Client, work: Round) -> None:
    for kind in ("batches", "rewrites", "forest", "cells"):
        ok(client.post("/memory-graphs", json={"name": kind, "graphId": work.graph(kind)}), 201)
    _import(client, work.graph("rewrites"), _rewrite(0))
    _import(client, work.graph("forest"), _forest())
    load(client, work.graph("cells"), *({"kind": "node", "key": f"counter-{i}", "name": "0"} for i in range(3)))
    work.rewrites[0] = True
    work.counters = dict.fromkeys(range(3), (0, 0))


def _import(client: httpx.Client, graph: str, body: bytes) -> None:
    ok(client.post(f"/memory-graphs/{graph}/import", content=body, headers={"Content-Type": NDJSON}))


def _importing(client: httpx.Client, work: Round, _: random.Random) -> Iterator[None]:
    for number in count():
        work.batches[number] = False
        _import(client, work.graph("batches"), _batch(number))
        work.batches[number] = True
        yield


def _rewriting(client: httpx.Client, work: Round, _: random.Random) -> Iterator[None]:
    for number in count(1):
        work.rewrites[number] = False
        _import(client, work.graph("rewrites"), _rewrite(number))
        work.rewrites[number] = True
        yield


def _invalidating(client: httpx.Client, work: Round, chance: random.Random) -> Iterator[None]:
    for tree in range(TREES):
        later = chance.random() < 0.3
        work.trees[tree] = False
        answer = _invalidate(client, work, tree, {"Prefer": "respond-async"} if later else {})
        ok(answer, 202 if later else 201)
        work.trees[tree] = True
        yield


def _invalidate(client: httpx.Client, work: Round, tree: int, headers: dict[str, str]) -> httpx.Response:
    body = {"graphId": work.graph("forest"), "rootKeys": [str(tree)], "reason": f"{work.number}/{tree}"}
    key = {"Idempotency-Key": f"{work.number}/{tree}"}
    return client.post("/invalidations", json=body | {"effectiveTime": T}, headers=headers | key)


def _updating(client: httpx.Client, work: Round, chance: random.Random) -> Iterator[None]:
    ids = {node["key"]: node["memoryNodeId"] for node in pages(client, "/memory-nodes", graphId=work.graph("cells"))}
    for number in count():
        cell = chance.randrange(3)
        node = client.get(f"/memory-nodes/{ids[f'counter-{cell}']}")
        value = int(ok(node)["name"]) + 1
        work.counters[cell] = (work.counters[cell][0], value)
        change = {"name": str(value)}
        ok(client.patch(str(node.url), json=change, headers={"If-Match": node.headers["ETag"]}))
        work.counters[cell] = (value, value)
        work.created[number] = False
        made = client.post("/memory-nodes", json={"graphId": work.graph("cells"), "key": f"new-{number}"})
        work.created[number] = bool(ok(made, 201))
        if chance.random() < 0.3:
            work.deleted[number] = False
            ok(client.delete(f"/memory-nodes/{made.json()['memoryNodeId']}"))
            work.deleted[number] = True
        yield


Work = Callable[[httpx.Client, Round, random.Random], Iterator[None]]
CLIENTS: tuple[Work, ...] = (_importing, _rewriting, _invalidating, _updating)


def _run(server: Server, work: Round, doing: Work, seed: int, stop: Event) -> None:
    """Work until the server is gone; what is wrong while it is there counts."""
    chance = random.Random(seed)
    try:
        with server.client() as client:
            for _ in doing(client, work, chance):
                if stop.is_set():
                    return
    except httpx.TransportError as error:
        if not stop.is_set():
            work.failures.append(f"{doing.__name__}: the server went away by itself: {error!r}")
    except Exception as error:
        work.failures.append(f"{doing.__name__}: {error!r}")


# --- the checks -------------------------------------------------------------------------------------------------------


def _check(client: httpx.Client, work: Round) -> None:
    assert work.failures == []
    _check_imports(client, work)
    _check_cells(client, work)
    _check_cascades(client, work)


def _nodes(client: httpx.Client, graph: str) -> dict[str, Json]:
    rows = map(orjson.loads, export(client, graph).splitlines())
    return {row["key"]: row for row in rows if row["kind"] == "node"}


def _check_imports(client: httpx.Client, work: Round) -> None:
    rows = [orjson.loads(line) for line in export(client, work.graph("batches")).splitlines()]
    nodes = Counter(_batch_of(row["key"]) for row in rows if row["kind"] == "node")
    contents = Counter(_batch_of(row["key"]) for row in rows if "content" in row)
    edges = Counter(_batch_of(row["source"]) for row in rows if row["kind"] == "edge")
    assert len(rows) == nodes.total() + edges.total()
    for number, acknowledged in work.batches.items():
        found = (nodes.pop(number, 0), contents.pop(number, 0), edges.pop(number, 0))
        whole = (BATCH, BATCH, BATCH_EDGES)
        assert found == whole or (found == (0, 0, 0) and not acknowledged)
    assert not nodes
    assert not edges
    (category,) = {node["category"] for node in _nodes(client, work.graph("rewrites")).values()}
    last = max(number for number, acknowledged in work.rewrites.items() if acknowledged)
    assert last <= int(category) <= max(work.rewrites)


def _batch_of(key: str) -> int:
    return int(key.partition(".")[0])


def _check_cells(client: httpx.Client, work: Round) -> None:
    nodes = _nodes(client, work.graph("cells"))
    for cell, (acknowledged, sent) in work.counters.items():
        assert acknowledged <= int(nodes.pop(f"counter-{cell}")["name"]) <= sent
    for number, acknowledged in work.created.items():
        found = nodes.pop(f"new-{number}", None)
        if work.deleted.get(number):
            assert found is None
        elif acknowledged and number not in work.deleted:
            assert found
    assert not nodes


def _check_cascades(client: httpx.Client, work: Round) -> None:
    """A run is there if and only if its impacts and the statuses of its nodes are; once told of, it is there."""
    graph = work.graph("forest")
    keys = {node["memoryNodeId"]: node["key"] for node in pages(client, "/memory-nodes", graphId=graph)}
    runs = _runs(client, work)
    statuses: dict[int, Counter[str]] = {tree: Counter() for tree in range(TREES)}
    for key, node in _nodes(client, graph).items():
        statuses[int(key.partition("/")[0])][node["status"]] += 1
    for tree in range(TREES):
        run = runs.pop(tree, None)
        assert run or not work.trees.get(tree), f"run of tree {tree} was acknowledged and is gone"
        assert statuses[tree] == {"Invalid" if run else "Valid": TREE}
        if run:
            assert tree in work.trees
            impacts = pages(client, f"/invalidations/{run['runId']}/impacts", limit=1000)
            assert {keys[impact["memoryNodeId"]].partition("/")[0] for impact in impacts} == {str(tree)}
            assert len(impacts) == TREE
            assert {(impact["oldStatus"], impact["newStatus"]) for impact in impacts} == {("Valid", "Invalid")}
    assert not runs
    for tree, acknowledged in work.trees.items():
        if not acknowledged:  # the caller who never heard asks again, and it is done once
            again = _invalidate(client, work, tree, {})
            assert again.status_code in {201, 202}, again.text
            run = _runs(client, work)[tree]
            assert ok(client.get(f"/invalidations/{run['runId']}"))["counts"]["byDepth"] == [1, 3, 45]


def _runs(client: httpx.Client, work: Round) -> dict[int, Json]:
    """The runs of the round by tree, each of which may have one; what was accepted is carried out soon."""
    deadline = monotonic() + 20
    while True:
        found = [run for run in pages(client, "/invalidations") if run["reason"].startswith(f"{work.number}/")]
        if all(run["status"] == "Completed" for run in found):
            break
        assert monotonic() < deadline
        sleep(0.05)
    trees = [int(run["reason"].partition("/")[2]) for run in found]
    assert len(set(trees)) == len(trees)
    return dict(zip(trees, found, strict=True))


def _remember(client: httpx.Client, work: Round) -> None:
    for kind in ("rewrites", "forest", "cells"):
        graph = work.graph(kind)
        as_of = ok(client.get(f"/memory-graphs/{graph}/snapshot"))["asOf"]
        work.snapshots[graph, as_of] = _digest(client, graph, as_of)


def _digest(client: httpx.Client, graph: str, as_of: str) -> str:
    answer = client.get(f"/memory-graphs/{graph}/snapshot", params={"asOf": as_of})
    assert answer.status_code == 200, answer.text
    return hashlib.sha256(answer.content).hexdigest()


def _check_snapshots(client: httpx.Client, snapshots: dict[tuple[str, str], str]) -> None:
    for (graph, as_of), digest in snapshots.items():
        assert _digest(client, graph, as_of) == digest, f"the snapshot of {graph} at {as_of} has changed"


# --- the test ---------------------------------------------------------------------------------------------------------


def test_killed_at_random_moments(nursery: Nursery, tmp_path: Path) -> None:
    database = tmp_path / "memory.db"
    chance = random.Random(SEED)
    past: dict[tuple[str, str], str] = {}
    before: Round | None = None
    acknowledged: Counter[str] = Counter()
    for number in range(KILLS):
        if chance.random() < 0.15:  # while it starts, and recovers what was left before
            starting = nursery.start(database)
            sleep(chance.random() * 0.6)
            starting.kill()
            continue
        server = nursery.start(database)
        try:
            before = _play(server, number, chance, before, past)
        finally:
            server.kill()
        for name in ("batches", "rewrites", "trees", "created", "deleted"):
            acknowledged[name] += sum(getattr(before, name).values())
        acknowledged["updates"] += sum(value for value, _ in before.counters.values())
    with nursery.running(database) as last, last.client() as client:
        if before:
            _check(client, before)
        _check_snapshots(client, past)
        check_file(database)
    print(f"\n{KILLS} kills; acknowledged: {dict(acknowledged)}; {len(past)} snapshots")  # noqa: T201 - what -s shows
    assert KILLS < 10 or min(acknowledged.values()) > 0


def _play(
    server: Server, number: int, chance: random.Random, before: Round | None, past: dict[tuple[str, str], str]
) -> Round:
    """Check the round before, then work until a moment that chance names."""
    work = Round(number)
    with server.client() as client:
        if before:
            _check(client, before)
        sample = chance.sample(sorted(past), min(6, len(past)))
        _check_snapshots(client, {name: past[name] for name in sample})
        check_file(server.database)
        _prepare(client, work)
        _remember(client, work)
        past |= work.snapshots
    stop = Event()
    threads = [
        Thread(target=_run, args=(server, work, doing, chance.randrange(2**32), stop), name=doing.__name__)
        for doing in chance.sample(CLIENTS, chance.choice([1, 2, len(CLIENTS)]))
    ]
    for thread in threads:
        thread.start()
    _wait_for_a_moment(server.database, chance)
    stop.set()
    server.kill()
    with suppress(RuntimeError):
        for thread in threads:
            thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    return work


def _wait_for_a_moment(database: Path, chance: random.Random) -> None:
    """Any moment; two times out of three one at which something is being written, or was a moment ago."""
    sleep(chance.random() * 1.2)
    if chance.random() < 2 / 3:
        log = database.with_name(f"{database.name}-wal")
        before, deadline = log.stat().st_mtime_ns, monotonic() + 2
        while log.stat().st_mtime_ns == before and monotonic() < deadline:
            sleep(0.0002)
        sleep(chance.choice([0, chance.random() * 0.005, chance.random() * 0.02]))
