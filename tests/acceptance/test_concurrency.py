"""Many clients at once on one fleet: no failure, no lost update, and snapshots that are atomic and repeatable.

``MEMORY_GRAPH_TEST_SECONDS`` says for how long.
"""

import hashlib
import os
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock, Thread
from time import monotonic

import httpx

from tests.acceptance.server import (
    Json,
    Nursery,
    Server,
    check_file,
    lines_of,
    load,
    new_graph,
    ok,
    pages,
)

SECONDS = float(os.environ.get("MEMORY_GRAPH_TEST_SECONDS", "8"))
COUNTERS, PAIRS, TREES, LEAVES = 3, 100, 120, 6
NDJSON = {"Content-Type": "application/x-ndjson"}


@dataclass
class Arena:
    """The graph that all clients work on, and what they were told."""

    servers: list[Server]
    graph: str
    ids: dict[str, str]
    end: float
    lock: Lock = field(default_factory=Lock)
    done: Counter[str] = field(default_factory=Counter)
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    increments: Counter[str] = field(default_factory=Counter)
    created: list[str] = field(default_factory=list)
    trees: list[int] = field(default_factory=list)
    pairs: list[int] = field(default_factory=list)
    stamps: list[str] = field(default_factory=list)
    snapshots: dict[str, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def seen(self, answer: httpx.Response) -> httpx.Response:
        with self.lock:
            self.statuses[answer.request.method, answer.status_code] += 1
        assert answer.status_code < 500, f"{answer.request.method} {answer.request.url}: {answer.text}"
        return answer

    def count(self, what: str) -> int:
        with self.lock:
            self.done[what] += 1
            return self.done[what]

    def committed(self, body: Json) -> None:
        with self.lock:
            self.stamps.append(body["committedAt"])


def _counting(client: httpx.Client, arena: Arena, chance: random.Random) -> None:
    """Read, add one, write if nobody else did."""
    counter = f"counter-{chance.randrange(COUNTERS)}"
    path = f"/memory-nodes/{arena.ids[counter]}"
    node = arena.seen(client.get(path))
    value = int(ok(node)["name"])
    answer = arena.seen(client.patch(path, json={"name": str(value + 1)}, headers={"If-Match": node.headers["ETag"]}))
    if answer.status_code == 412:
        arena.count("refused increments")
        return
    arena.committed(ok(answer))
    with arena.lock:
        arena.increments[counter] += 1
    arena.count("increments")


def _creating(client: httpx.Client, arena: Arena, chance: random.Random) -> None:
    """A node and an edge to it from a counter."""
    key = f"new-{arena.count('creations')}"
    arena.committed(ok(arena.seen(client.post("/memory-nodes", json={"graphId": arena.graph, "key": key})), 201))
    edge = {"graphId": arena.graph, "source": f"counter-{chance.randrange(COUNTERS)}", "target": key}
    ok(arena.seen(client.post("/memory-edges", json=edge | {"edgeType": "DerivedFrom"})), 201)
    with arena.lock:
        arena.created.append(key)


def _pairing(client: httpx.Client, arena: Arena, _: random.Random) -> None:
    """All pairs get the same new category by one import."""
    number = arena.count("imports")
    rows = [
        {"kind": "node", "key": f"pair-{pair}-{side}", "category": str(number)}
        for pair in range(PAIRS)
        for side in "ab"
    ]
    path = f"/memory-graphs/{arena.graph}/import"
    arena.committed(ok(arena.seen(client.post(path, content=lines_of(*rows), headers=NDJSON))))
    with arena.lock:
        arena.pairs.append(number)


def _invalidating(client: httpx.Client, arena: Arena, chance: random.Random) -> None:
    """Fell a tree; two clients now and then choose the same one."""
    tree = chance.randrange(TREES)
    body = {"graphId": arena.graph, "rootKeys": [f"tree-{tree}"], "reason": "felled"}
    arena.committed(ok(arena.seen(client.post("/invalidations", json=body)), 201))
    with arena.lock:
        arena.trees.append(tree)
    arena.count("invalidations")


def _looking(client: httpx.Client, arena: Arena, chance: random.Random) -> None:
    """The present, a past that a write was told of, or this very moment by the clock."""
    with arena.lock:
        told = chance.choice(arena.stamps) if arena.stamps else None
    stamp = chance.choice([None, told, _soon(chance), _soon(chance)])
    answer = arena.seen(_snapshot(client, arena, stamp))
    if answer.status_code == 422:
        assert "future" in answer.text
        arena.count("too early")
        return
    body = ok(answer)
    _check_snapshot(body)
    assert stamp is None or datetime.fromisoformat(stamp) == datetime.fromisoformat(body["asOf"])
    digest = hashlib.sha256(answer.content).hexdigest()
    with arena.lock:
        assert arena.snapshots.setdefault(body["asOf"], digest) == digest, "the same time, another answer"
    arena.count("snapshots")


def _soon(chance: random.Random) -> str:
    """About the time at which the server gets to read it: the hardest one to keep to."""
    then = datetime.now(UTC) + timedelta(milliseconds=chance.random() * 60)
    return then.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _snapshot(client: httpx.Client, arena: Arena, as_of: str | None) -> httpx.Response:
    return client.get(f"/memory-graphs/{arena.graph}/snapshot", params={"asOf": as_of} if as_of else {})


def _check_snapshot(body: Json) -> None:
    """Whole imports and whole cascades only."""
    ids: set[str] = set()
    pairs: set[str] = set()
    trees: dict[str, set[str]] = {}
    for node in body["nodes"]:
        kind, *rest = node["key"].split("-")
        ids.add(node["memoryNodeId"])
        if kind == "pair":
            pairs.add(node["category"])
        if kind == "tree":
            trees.setdefault(rest[0], set()).add(node["status"])
    assert len(pairs) == 1, f"half an import: {pairs}"
    assert len(trees) == TREES
    assert all(len(statuses) == 1 for statuses in trees.values()), "half a cascade"
    assert all(edge["sourceNodeId"] in ids and edge["targetNodeId"] in ids for edge in body["edges"])


Work = Callable[[httpx.Client, Arena, random.Random], None]
CLIENTS: list[Work] = [*[_counting] * 4, *[_creating] * 2, *[_pairing] * 2, *[_invalidating] * 3, *[_looking] * 5]


def _run(arena: Arena, number: int, work: Work) -> None:
    chance = random.Random(number)
    try:
        with arena.servers[number % len(arena.servers)].client() as client:
            while monotonic() < arena.end and not arena.faults:
                work(client, arena, chance)
    except BaseException as error:
        with arena.lock:
            arena.faults.append(f"{work.__name__}: {error!r}")


def _fight(servers: list[Server], seconds: float) -> Arena:
    """Sixteen clients at once, spread over the servers."""
    with servers[0].client() as client:
        graph = new_graph(client)
        load(client, graph, *_first_rows())
        ids = {node["key"]: node["memoryNodeId"] for node in pages(client, "/memory-nodes", graphId=graph, limit=1000)}
        arena = Arena(servers, graph, ids, monotonic() + seconds)
        threads = [Thread(target=_run, args=(arena, number, work)) for number, work in enumerate(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(seconds + 60)
        assert arena.faults == []
        assert not any(thread.is_alive() for thread in threads)
        _check_end(client, arena)
    print(f"\n{len(CLIENTS)} clients, {seconds:g} s, {len(servers)} server(s): {dict(arena.done)}")  # noqa: T201 - what -s shows
    print({f"{method} {status}": number for (method, status), number in sorted(arena.statuses.items())})  # noqa: T201 - what -s shows
    return arena


def _first_rows() -> list[Json]:
    rows: list[Json] = [{"kind": "node", "key": f"counter-{i}", "name": "0"} for i in range(COUNTERS)]
    rows += [{"kind": "node", "key": f"pair-{i}-{side}", "category": "0"} for i in range(PAIRS) for side in "ab"]
    for tree in range(TREES):
        rows.append({"kind": "node", "key": f"tree-{tree}"})
        for leaf in range(LEAVES):
            rows.append({"kind": "node", "key": f"tree-{tree}-{leaf}"})
            edge = {"kind": "edge", "source": f"tree-{tree}", "target": f"tree-{tree}-{leaf}"}
            rows.append(edge | {"edgeType": "Requires"})
    return rows


def _check_end(client: httpx.Client, arena: Arena) -> None:
    nodes = {node["key"]: node for node in pages(client, "/memory-nodes", graphId=arena.graph, limit=1000)}
    for counter in range(COUNTERS):
        node = nodes[f"counter-{counter}"]
        assert int(node["name"]) == arena.increments[f"counter-{counter}"], "a lost update"
        assert node["version"] == arena.increments[f"counter-{counter}"] + 1
    for key in arena.created:
        assert key in nodes
    edges = pages(client, "/memory-edges", graphId=arena.graph, limit=1000)
    targets = {edge["targetNodeId"] for edge in edges}
    assert all(nodes[key]["memoryNodeId"] in targets for key in arena.created)
    fallen = {int(key.split("-")[1]) for key, node in nodes.items() if node["status"] == "Invalid"}
    assert fallen == set(arena.trees)
    assert {nodes[f"pair-{i}-{side}"]["category"] for i in range(PAIRS) for side in "ab"} <= {
        str(number) for number in [0, *arena.pairs]
    }
    assert len(set(arena.stamps)) == len(arena.stamps), "two writes with one stamp"
    for as_of, digest in arena.snapshots.items():
        answer = _snapshot(client, arena, as_of)
        assert hashlib.sha256(answer.content).hexdigest() == digest, f"the snapshot of {as_of} has changed"
    for work in ("increments", "creations", "imports", "invalidations", "snapshots"):
        assert arena.done[work] > 0


def test_sixteen_clients_on_one_fleet(nursery: Nursery, tmp_path: Path) -> None:
    with nursery.running(tmp_path / "memory.db") as server:
        _fight([server], SECONDS)
        check_file(server.database)
        assert server.peak_memory() < 2**30
        assert "Traceback" not in server.output()


def test_two_servers_on_one_file(nursery: Nursery, tmp_path: Path) -> None:
    database = tmp_path / "memory.db"
    with nursery.running(database) as one, nursery.running(database) as other:
        _fight([one, other], min(SECONDS, 15) / 2)
        check_file(database)
        assert "Traceback" not in one.output() + other.output()
