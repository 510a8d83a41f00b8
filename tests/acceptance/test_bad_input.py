"""Whatever a caller sends, the answer is a clear problem, nothing of it is kept, and the service goes on."""

import gzip
import socket
import zlib
from collections.abc import Iterator
from contextlib import closing, suppress
from time import monotonic
from typing import NamedTuple
from urllib.parse import urlsplit
from uuid import UUID

import httpx
import orjson
import pytest

from tests.acceptance.server import (
    NDJSON,
    PROBLEM,
    Json,
    Server,
    export,
    lines_of,
    load,
    new_graph,
    ok,
    pages,
    problem,
)

JSON = {"Content-Type": "application/json"}
UNKNOWN = "11111111-2222-4333-8444-555555555555"
OTHER_FLEET = UUID("99999999-0000-4000-8000-000000000001")
DEEP = 100_000
TWO_GIB = 2 * 2**30


class World(NamedTuple):
    """A small graph that every test leaves as it was."""

    client: httpx.Client
    graph: str
    node: str
    other: str
    edge: str
    assertion: str
    foreign_graph: str
    foreign_node: str

    def state(self) -> tuple[bytes, list[Json], list[Json], list[Json]]:
        """All that the caller's fleet holds."""
        return (
            export(self.client, self.graph),
            pages(self.client, "/memory-graphs"),
            pages(self.client, "/source-rules"),
            pages(self.client, "/invalidations"),
        )

    def values(self) -> dict[str, str]:
        return {name: value for name, value in self._asdict().items() if isinstance(value, str)}


@pytest.fixture(scope="module")
def world(server: Server) -> Iterator[World]:
    with server.client(fleet=OTHER_FLEET) as foreign:
        foreign_graph = new_graph(foreign, "foreign")
        load(foreign, foreign_graph, {"kind": "node", "key": "theirs"})
        (theirs,) = pages(foreign, "/memory-nodes", graphId=foreign_graph)
    with server.client() as client:
        graph = new_graph(client, "ours")
        load(
            client,
            graph,
            {"kind": "node", "key": "a", "content": "a is so"},
            {"kind": "node", "key": "b"},
            {"kind": "edge", "source": "a", "target": "b", "edgeType": "Requires"},
        )
        nodes = {node["key"]: node["memoryNodeId"] for node in pages(client, "/memory-nodes", graphId=graph)}
        (edge,) = pages(client, "/memory-edges", graphId=graph)
        (assertion,) = pages(client, "/memory-assertions", graphId=graph)
        yield World(
            client,
            graph,
            nodes["a"],
            nodes["b"],
            edge["memoryEdgeId"],
            assertion["memoryAssertionId"],
            foreign_graph,
            theirs["memoryNodeId"],
        )


@pytest.fixture(autouse=True)
def nothing_is_kept(world: World) -> Iterator[None]:
    """The export is the same afterwards, and the service is alive and has failed nowhere."""
    before = world.state()
    yield
    assert ok(world.client.get("/health/ready")) == {"status": "ready"}
    assert world.state() == before


# --- one bad value in an otherwise good body -------------------------------------------------------------------------

NODE = '{"graphId": "%(graph)s", "key": "new"'
EDGE = '{"graphId": "%(graph)s", "source": "b", "target": "a", "edgeType": "SupportedBy"'
ASSERTION = '{"memoryNodeId": "%(node)s", "content": "new"'
INVALIDATION = '{"graphId": "%(graph)s", "rootKeys": ["a"], "reason": "test"'

BAD_FIELDS = [
    # path, start of the body, the rest of it, pointer
    ("/memory-nodes", NODE, '"confidence": NaN', None),
    ("/memory-nodes", NODE, '"confidence": Infinity', None),
    ("/memory-nodes", NODE, '"confidence": -Infinity', None),
    ("/memory-nodes", NODE, '"confidence": 1e999', "/confidence"),
    ("/memory-nodes", NODE, '"confidence": "NaN"', "/confidence"),
    ("/memory-nodes", NODE, '"confidence": 1.0000001', "/confidence"),
    ("/memory-nodes", NODE, '"confidence": -0.1', "/confidence"),
    ("/memory-nodes", NODE, f'"confidence": 1{"0" * 400}', "/confidence"),
    ("/memory-nodes", NODE, f'"confidence": 1{"0" * 5000}', None),
    ("/memory-nodes", NODE, '"confidence": true', "/confidence"),
    ("/memory-nodes", NODE, f'"name": "{"n" * 257}"', "/name"),
    ("/memory-nodes", NODE, f'"name": "{"n" * 1_000_000}"', "/name"),
    ("/memory-nodes", NODE, '"name": ""', "/name"),
    ("/memory-nodes", NODE, '"name": 5', "/name"),
    ("/memory-nodes", NODE, '"name": "half \\ud800 pair"', None),
    ("/memory-nodes", NODE, '"name": "a\\u0000b"', "/name"),
    ("/memory-nodes", NODE, '"nodeType": {"deep": []}', "/nodeType"),
    ("/memory-nodes", NODE, '"createdAt": "2026-01-01T00:00:00"', "/createdAt"),
    ("/memory-nodes", NODE, '"createdAt": "2026-02-30T00:00:00Z"', "/createdAt"),
    ("/memory-nodes", NODE, '"createdAt": "0001-01-01T00:00:00+14:00"', "/createdAt"),
    ("/memory-nodes", NODE, '"createdAt": 1767225600', "/createdAt"),
    ("/memory-nodes", NODE, '"createdAt": "2026-01-01T00:00:00.0000001Z"', "/createdAt"),
    ("/memory-nodes", NODE, '"isPinned": true', "/pinnedBy"),
    ("/memory-nodes", NODE, '"status": "Invalid"', "/status"),
    ("/memory-nodes", NODE, '"memoryNodeId": "not-a-uuid"', "/memoryNodeId"),
    ("/memory-nodes", NODE, f'"content": "{"c" * 65_537}"', "/content"),
    ("/memory-nodes", NODE, f'"surprise": {"[" * 50}{"]" * 50}', "/surprise"),
    ("/memory-nodes", '{"graphId": "%(graph)s"', f'"key": "{"k" * 257}"', "/key"),
    ("/memory-nodes", '{"graphId": "%(graph)s"', '"category": "c"', "/name"),
    ("/memory-nodes", '{"key": "new"', '"category": "c"', "/graphId"),
    ("/memory-edges", EDGE, '"effectiveFrom": "2026-02-01T00:00:00Z", "effectiveTo": "2026-01-01T00:00:00Z"',
     "/effectiveTo"),
    ("/memory-edges", EDGE, '"effectiveFrom": "2026-01-01T00:00:00Z", "effectiveTo": "2026-01-01T01:00:00+01:00"',
     "/effectiveTo"),
    ("/memory-edges", EDGE, '"effectiveFrom": "2026-01-01T00:00:00"', "/effectiveFrom"),
    ("/memory-edges", EDGE, '"weight": NaN', None),
    ("/memory-edges", EDGE, '"weight": 2', "/weight"),
    ("/memory-edges", EDGE, '"minSupport": 2', "/minSupport"),
    ("/memory-edges", EDGE, '"supportGroup": "g", "minSupport": 0', "/minSupport"),
    ("/memory-edges", EDGE, '"supportGroup": "g", "minSupport": 9223372036854775808', "/minSupport"),
    ("/memory-edges", EDGE, f'"supportGroup": "g", "minSupport": 1{"0" * 4400}', None),
    ("/memory-edges", EDGE, '"supportGroup": "g", "minSupport": 1.5', "/minSupport"),
    ("/memory-edges", '{"graphId": "%(graph)s", "source": "b", "target": "a"', '"edgeType": "Causes"', "/edgeType"),
    ("/memory-edges", '{"graphId": "%(graph)s", "source": "b", "target": "a"',
     '"edgeType": "Requires", "supportGroup": "g"', "/supportGroup"),
    ("/memory-edges", '{"graphId": "%(graph)s", "edgeType": "Requires"', '"source": "a", "target": "a"', "/target"),
    ("/memory-edges", '{"edgeType": "Requires"', '"sourceNodeId": "%(node)s", "targetNodeId": "%(node)s"',
     "/targetNodeId"),
    ("/memory-edges", '{"graphId": "%(graph)s", "edgeType": "Requires"', '"source": "a", "targetNodeId": "%(node)s"',
     "/target"),
    ("/memory-edges", '{"edgeType": "Requires"', '"source": "a", "target": "b"', "/graphId"),
    ("/memory-assertions", ASSERTION, '"importance": Infinity', None),
    ("/memory-assertions", ASSERTION, '"importance": -1', "/importance"),
    ("/memory-assertions", ASSERTION,
     '"effectiveFrom": "2026-02-01T00:00:00Z", "effectiveTo": "2026-01-01T00:00:00Z"', "/effectiveTo"),
    ("/memory-assertions", '{"memoryNodeId": "%(node)s"', '"category": "c"', "/content"),
    ("/memory-assertions", '{"content": "c"', '"category": "c"', "/node"),
    ("/evidence-references", '{"memoryAssertionId": "%(assertion)s", "evidenceType": "Document"',
     f'"reference": "{"r" * 2001}"', "/reference"),
    ("/evidence-references", '{"evidenceType": "Document"', '"reference": "r"', "/memoryAssertionId"),
    ("/source-rules", '{"name": "r", "version": "1"',
     '"effectiveAt": "2026-02-01T00:00:00Z", "expiresAt": "2026-01-01T00:00:00Z"', "/expiresAt"),
    ("/source-rules", '{"name": "r", "version": "1"', '"expiresAt": "2020-01-01T00:00:00Z"', "/expiresAt"),
    ("/source-rules", '{"name": "r"', '"version": ""', "/version"),
    ("/invalidations", INVALIDATION, '"effectiveTime": "2026-01-01"', "/effectiveTime"),
    ("/invalidations", INVALIDATION, '"effectiveTime": "2026-01-01T00:00:00"', "/effectiveTime"),
    ("/invalidations", INVALIDATION, '"effectiveTime": "9999-12-31T23:59:59Z"', "/effectiveTime"),
    ("/invalidations", INVALIDATION, '"status": "Valid"', "/status"),
    ("/invalidations", INVALIDATION, '"policy": "lenient"', "/policy"),
    ("/invalidations", INVALIDATION, '"dryRun": "yes"', "/dryRun"),
    ("/invalidations", INVALIDATION, '"dryRun": true, "planToken": "t"', "/planToken"),
    ("/invalidations", INVALIDATION, '"rootNodeIds": ["%(node)s", "nonsense"]', "/rootNodeIds/1"),
    ("/invalidations", '{"graphId": "%(graph)s", "reason": "r"', '"rootKeys": []', "/rootNodeIds"),
    ("/invalidations", '{"graphId": "%(graph)s", "rootKeys": ["a"]', '"status": "Invalid"', "/reason"),
    ("/invalidations", '{"graphId": "%(graph)s", "reason": "r"',
     f'"rootKeys": [{",".join(f"{chr(34)}k{i}{chr(34)}" for i in range(1001))}]', "/rootKeys"),
    ("/invalidations", '{"reason": "r"', '"rootKeys": ["a"]', "/graphId"),
    ("/memory-graphs", '{"name": "g"', '"policy": null', "/policy"),
    ("/memory-graphs", '{"name": "g"', '"graphId": "{%(graph)s}"', "/graphId"),
    ("/memory-graphs", '{"policy": "strict"', '"propagation": "transitive"', "/name"),
    ("/memory-graphs/%(graph)s/snapshots", '{"name": "b"', '"asOf": "2026-01-01T00:00:00"', "/asOf"),
    ("/memory-graphs/%(graph)s/snapshots", '{"name": "b"', '"asOf": "9999-01-01T00:00:00Z"', "/asOf"),
]  # fmt: skip


def _short(value: object) -> str:
    return str(value)[:60]


@pytest.mark.parametrize(("path", "start", "rest", "pointer"), BAD_FIELDS, ids=_short)
def test_bad_field(world: World, path: str, start: str, rest: str, pointer: str | None) -> None:
    body = f"{start}, {rest}}}" % world.values()
    answer = world.client.post(path % world.values(), content=body.encode(), headers=JSON)
    found = problem(answer, 400, 422)
    assert len(answer.content) < 10_000
    if pointer is None:  # the body itself cannot be read, or the value is no JSON
        assert found["status"] == 400 or found["errors"][0]["pointer"]
    else:
        assert found["status"] == 422
        assert found["errors"][0]["pointer"] == pointer
        assert found["errors"][0]["detail"]


# --- bodies that are no JSON, or too much of it ----------------------------------------------------------------------

UNREADABLE = {
    "nothing": b"",
    "cut short": b'{"name": "g"',
    "two documents": b'{"name": "g"}{"name": "h"}',
    "single quotes": b"{'name': 'g'}",
    "trailing comma": b'{"name": "g",}',
    "a comment": b'{"name": "g" /* so */}',
    "no UTF-8": b'{"name": "\xff\xfe"}',
    "UTF-16": '{"name": "g"}'.encode("utf-16"),
    "byte order mark": b'\xef\xbb\xbf{"name": "g"}',
    "raw control character": b'{"name": "a\nb"}',
    "NaN alone": b"NaN",
    "a list": b'[{"name": "g"}]',
    "a string": b'"g"',
    "null": b"null",
    "gzip": gzip.compress(b'{"name": "g"}'),
    "deep lists": b"[" * DEEP + b"]" * DEEP,
    "deep lists left open": b"[" * DEEP,
    "deep objects": b'{"name":' * DEEP + b"1" + b"}" * DEEP,
    "deep inside a field": b'{"name": ' + b"[" * DEEP + b"]" * DEEP + b"}",
    "a huge number": b"1" * 1_000_000,
    "repeated names": b'{"name": "g", "name": 5}',
}
JSON_PATHS = [
    "/memory-graphs",
    "/memory-nodes",
    "/memory-edges",
    "/memory-assertions",
    "/evidence-references",
    "/source-rules",
    "/invalidations",
]


@pytest.mark.parametrize("body", UNREADABLE.values(), ids=UNREADABLE)
def test_unreadable_body(world: World, body: bytes) -> None:
    for path in JSON_PATHS:
        answer = world.client.post(path, content=body, headers=JSON)
        problem(answer, 400, 422)
        assert len(answer.content) < 10_000


def test_many_faults_are_not_all_repeated(world: World) -> None:
    for number in (50, 50_000):
        body = {"name": "g"} | {f"surprise{i}": i for i in range(number)}
        answer = world.client.post("/memory-graphs", json=body)
        assert len(problem(answer, 400, 422).get("errors", [])) <= 20
        assert len(answer.content) < 10_000


def test_body_larger_than_its_path_takes(world: World) -> None:
    body = b'{"name": "' + b"n" * 17_000_000 + b'"}'
    problem(world.client.post("/memory-graphs", content=body, headers=JSON), 413)


@pytest.mark.parametrize(
    "media_type",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/xml",
        "",
        "json",
    ],
)
def test_body_of_another_media_type(world: World, media_type: str) -> None:
    for path in JSON_PATHS:
        problem(world.client.post(path, content=b'{"name": "g"}', headers={"Content-Type": media_type}), 415)
    node = f"/memory-nodes/{world.node}"
    problem(world.client.patch(node, content=b'{"name": "g"}', headers={"Content-Type": media_type}), 415)


# --- ids, keys and edges ---------------------------------------------------------------------------------------------


def _bodies(world: World, node: str, graph: str, edge: str, assertion: str) -> list[tuple[str, str, Json | None]]:
    """Every call that names things of others: in its path or in its body."""
    return [
        ("GET", f"/memory-graphs/{graph}", None),
        ("PATCH", f"/memory-graphs/{graph}", {"name": "n"}),
        ("GET", f"/memory-graphs/{graph}/export", None),
        ("GET", f"/memory-graphs/{graph}/snapshot", None),
        ("GET", f"/memory-graphs/{graph}/snapshots", None),
        ("POST", f"/memory-graphs/{graph}/snapshots", {"name": "b"}),
        ("GET", f"/memory-nodes?graphId={graph}", None),
        ("GET", f"/memory-edges?graphId={graph}", None),
        ("GET", f"/memory-edges?sourceNodeId={node}", None),
        ("GET", f"/memory-assertions?memoryNodeId={node}", None),
        ("GET", f"/evidence-references?memoryAssertionId={assertion}", None),
        ("GET", f"/memory-nodes/{node}", None),
        ("PATCH", f"/memory-nodes/{node}", {"name": "n"}),
        ("DELETE", f"/memory-nodes/{node}", None),
        ("GET", f"/memory-nodes/{node}/history", None),
        ("GET", f"/memory-nodes/{node}/staleness", None),
        ("GET", f"/memory-edges/{edge}", None),
        ("PATCH", f"/memory-edges/{edge}", {"weight": 0.5}),
        ("DELETE", f"/memory-edges/{edge}", None),
        ("PATCH", f"/memory-assertions/{assertion}", {"importance": 0.5}),
        ("DELETE", f"/memory-assertions/{assertion}", None),
        ("POST", "/memory-nodes", {"graphId": graph, "key": "new"}),
        ("POST", "/memory-edges", {"sourceNodeId": node, "targetNodeId": world.node, "edgeType": "Requires"}),
        ("POST", "/memory-edges", {"sourceNodeId": world.node, "targetNodeId": node, "edgeType": "Requires"}),
        ("POST", "/memory-edges", {"graphId": graph, "source": "a", "target": "b", "edgeType": "Supersedes"}),
        ("POST", "/memory-assertions", {"memoryNodeId": node, "content": "c"}),
        ("POST", "/memory-assertions", {"memoryNodeId": world.node, "content": "c", "sourceRuleId": UNKNOWN}),
        ("POST", "/memory-assertions", {"memoryNodeId": world.node, "content": "c", "supersededBy": assertion}),
        ("POST", "/evidence-references", {"memoryAssertionId": assertion, "evidenceType": "t", "reference": "r"}),
        ("POST", "/invalidations", {"rootNodeIds": [node], "reason": "r"}),
        ("POST", "/invalidations", {"rootNodeIds": [world.node, node], "reason": "r"}),
        ("POST", "/invalidations", {"graphId": graph, "rootKeys": ["a"], "reason": "r"}),
        ("POST", "/invalidations", {"graphId": graph, "rootNodeIds": [world.node], "reason": "r"}),
        ("POST", "/invalidations", {"rootNodeIds": [node], "reason": "r", "dryRun": True}),
    ]


@pytest.mark.parametrize("whose", ["nobody's", "another fleet's"])
def test_ids_that_are_not_ours(world: World, whose: str) -> None:
    if whose == "nobody's":
        calls = _bodies(world, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN)
    else:
        calls = _bodies(world, world.foreign_node, world.foreign_graph, UNKNOWN, UNKNOWN)
    for method, path, body in calls:
        answer = world.client.request(method, path, json=body)
        assert answer.status_code == 404, (method, path, body, answer.text)
        problem(answer, 404)


def test_unknown_keys(world: World) -> None:
    for path, body in [
        ("/invalidations", {"graphId": world.graph, "rootKeys": ["a", "theirs"], "reason": "r"}),
        ("/memory-edges", {"graphId": world.graph, "source": "a", "target": "theirs", "edgeType": "Requires"}),
        ("/memory-assertions", {"graphId": world.graph, "node": "theirs", "content": "c"}),
        (
            "/evidence-references",
            {"graphId": world.graph, "node": "theirs", "evidenceType": "t", "reference": "r"},
        ),
    ]:
        assert "theirs" in problem(world.client.post(path, json=body), 404)["detail"]


@pytest.mark.parametrize("id_", ["1", "x" * 3000, UNKNOWN.replace("-", ""), f"{{{UNKNOWN}}}", "%00", "%ff", "..%2f.."])
def test_ids_that_are_none(world: World, id_: str) -> None:
    for kind in ("memory-graphs", "memory-nodes", "memory-edges", "memory-assertions", "source-rules", "invalidations"):
        problem(world.client.get(f"/{kind}/{id_}"), 404 if "2f" in id_ else 422)


def test_what_is_taken(world: World) -> None:
    for path, body in [
        ("/memory-nodes", {"graphId": world.graph, "key": "a"}),
        ("/memory-nodes", {"graphId": world.graph, "key": "new", "memoryNodeId": world.node}),
        ("/memory-edges", {"graphId": world.graph, "source": "a", "target": "b", "edgeType": "Requires"}),
        ("/memory-graphs", {"name": "again", "graphId": world.graph}),
    ]:
        problem(world.client.post(path, json=body), 409)


# --- headers, parameters, paths --------------------------------------------------------------------------------------

BAD_HEADERS = [
    ("X-Fleet-Id", "mine", 422),
    ("X-Fleet-Id", "", 422),
    ("X-Tenant-Id", "00000000-0000-0000-0000-00000000000g", 422),
    ("Idempotency-Key", "", 422),
    ("Idempotency-Key", "k" * 256, 422),
    ("If-Match", "3", 422),
    ("If-Match", '"3', 422),
    ("If-Match", '"no version"', 412),
    ("If-Match", '"99999999999999999999"', 412),
    ("If-Match", '"-1"', 412),
    ("If-Match", 'W/"1"', 412),
    ("If-Match", '"2"', 412),
]


@pytest.mark.parametrize(("name", "value", "status"), BAD_HEADERS, ids=_short)
def test_bad_header(world: World, name: str, value: str, status: int) -> None:
    answer = world.client.patch(f"/memory-nodes/{world.node}", json={"name": "changed"}, headers={name: value})
    found = problem(answer, status)
    if status == 422:
        assert found["errors"][0]["pointer"].lower() == f"/{name}".lower()


BAD_PARAMETERS = [
    ("/memory-nodes?graphId=%(graph)s&limit=0", "/limit"),
    ("/memory-nodes?graphId=%(graph)s&limit=1001", "/limit"),
    ("/memory-nodes?graphId=%(graph)s&limit=ten", "/limit"),
    ("/memory-nodes?graphId=%(graph)s&limit=99999999999999999999999", "/limit"),
    ("/memory-nodes?graphId=%(graph)s&status=Broken", "/status"),
    ("/memory-nodes?graphId=%(graph)s&key=", "/key"),
    ("/memory-nodes?graphId=%(graph)s&key=a%%00b", "/key"),
    ("/memory-nodes?graphId=%(graph)s&colour=red", "/colour"),
    ("/memory-nodes", "/graphId"),
    ("/memory-edges", "/graphId"),
    ("/memory-assertions", "/graphId"),
    ("/evidence-references", "/memoryAssertionId"),
    ("/memory-graphs/%(graph)s/snapshot?asOf=2026-01-01T00:00:00", "/asOf"),
    ("/memory-graphs/%(graph)s/snapshot?asOf=2026-01-01", "/asOf"),
    ("/memory-graphs/%(graph)s/snapshot?asOf=yesterday", "/asOf"),
    ("/memory-graphs/%(graph)s/snapshot?asOf=9999-12-31T23:59:59Z", "/asOf"),
    ("/memory-graphs/%(graph)s/snapshot?asof=2026-01-01T00:00:00Z", "/asof"),
    ("/memory-graphs/%(graph)s/export?asOf=2026-01-01T00:00:00", "/asOf"),
    ("/memory-graphs/%(graph)s/diff?from=2026-01-01T00:00:00Z", "/to"),
    ("/memory-graphs/%(graph)s/diff?to=2026-01-01T00:00:00Z", "/from"),
    ("/memory-graphs/%(graph)s/diff?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "/to"),
    ("/memory-graphs/%(graph)s/diff?from=2025-01-01T00:00:00Z&to=9999-01-01T00:00:00Z", "/to"),
]


@pytest.mark.parametrize(("path", "pointer"), BAD_PARAMETERS)
def test_bad_parameter(world: World, path: str, pointer: str) -> None:
    assert problem(world.client.get(path % world.values()), 422)["errors"][0]["pointer"] == pointer


BAD_CURSORS = [
    "x",
    "not base64!",
    "W10",  # []
    "WzFd",  # [1]
    "bnVsbA",  # null
    "eyJhIjoxfQ",  # {"a":1}
    "W251bGxd",  # [null]
    "WyIiXQ",  # [""]
    "WzFlOTk5LDJd",  # [1e999,2]
    "WzkyMjMzNzIwMzY4NTQ3NzU4MDgsIjExMTExMTExLTIyMjItNDMzMy04NDQ0LTU1NTU1NTU1NTU1NSJd",  # [2**63, a UUID]
    "WzFlMzAwLCIxMTExMTExMS0yMjIyLTQzMzMtODQ0NC01NTU1NTU1NTU1NTUiXQ",  # [1e300, a UUID]
    "W1tbW1tbW1tbW1tbW1tbW1tbW1tbW1tbW1tbW1tbW1td",
    "c" * 2001,
    "%00",
    "%f0%9f%90%98",
]


@pytest.mark.parametrize("cursor", BAD_CURSORS, ids=_short)
def test_bad_cursor(world: World, cursor: str) -> None:
    for path in [
        "/memory-graphs?",
        f"/memory-nodes?graphId={world.graph}&",
        f"/memory-edges?graphId={world.graph}&",
        f"/memory-assertions?graphId={world.graph}&",
        f"/evidence-references?memoryAssertionId={world.assertion}&",
        f"/memory-graphs/{world.graph}/snapshots?",
        f"/memory-nodes/{world.node}/history?",
        "/source-rules?",
        "/invalidations?",
    ]:
        answer = world.client.get(f"{path}cursor={cursor}")
        assert answer.status_code == 422, (path, answer.text)
        assert problem(answer, 422)["errors"][0]["pointer"] == "/cursor"


def test_bad_cursor_of_impacts(world: World, server: Server) -> None:
    with server.client(fleet=UUID(int=7)) as client:
        graph = new_graph(client)
        load(client, graph, {"kind": "node", "key": "root"})
        run = ok(client.post("/invalidations", json={"graphId": graph, "rootKeys": ["root"], "reason": "r"}), 201)
        for cursor in BAD_CURSORS:
            answer = client.get(f"/invalidations/{run['runId']}/impacts?cursor={cursor}")
            assert answer.status_code == 422, (cursor, answer.text)
            assert problem(answer, 422)["errors"][0]["pointer"] == "/cursor"


def test_paths_and_methods_that_are_none(world: World) -> None:
    problem(world.client.get("/memories"), 404)
    problem(world.client.get("/memory-graphs/"), 404)
    answer = world.client.put(f"/memory-nodes/{world.node}", json={})
    problem(answer, 405)
    assert set(answer.headers["Allow"].split(", ")) == {"GET", "PATCH", "DELETE"}


RAW = {
    "no HTTP": b"hello\r\n\r\n",
    "a header without a colon": b"GET / HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n",
    "two lengths": b"POST /memory-graphs HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
    "a length that is none": b"POST /memory-graphs HTTP/1.1\r\nHost: x\r\nContent-Length: ten\r\n\r\n{}",
    "a negative length": b"POST /memory-graphs HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    "a broken chunk": b"POST /memory-graphs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n",
    "endless headers": b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + b"x" * 1_000_000 + b"\r\n\r\n",
}


@pytest.mark.parametrize("request_", RAW.values(), ids=RAW)
def test_broken_http(world: World, server: Server, request_: bytes) -> None:
    assert _status(_exchange(server, [request_])) in {400, 431}


# --- imports ---------------------------------------------------------------------------------------------------------

GOOD = b'{"kind":"node","key":"new-%d","name":"n"}'


def _import(world: World, body: bytes, **headers: str) -> httpx.Response:
    named = {"Content-Type": NDJSON} | {name.replace("_", "-"): value for name, value in headers.items()}
    return world.client.post(f"/memory-graphs/{world.graph}/import", content=body, headers=named)


BAD_LINES = {
    "malformed": (b'{"kind":"node","key":', None),
    "no JSON at all": (b"node,key,name", None),
    "not an object": (b"[1]", None),
    "null": (b"null", None),
    "no UTF-8": (b'{"kind":"node","key":"\xff"}', None),
    "no kind": (b'{"key":"x"}', None),
    "unknown kind": (b'{"kind":"nodule","key":"x"}', None),
    "unknown field": (b'{"kind":"node","key":"x","colour":"red"}', "/colour"),
    "no key and no id": (b'{"kind":"node","name":"x"}', "/key"),
    "no name": (b'{"kind":"node"}', "/key"),
    "oversized key": (b'{"kind":"node","key":"%s"}' % (b"k" * 257), "/key"),
    "NUL": (b'{"kind":"node","key":"a\\u0000b"}', "/key"),
    "half a pair": (b'{"kind":"node","key":"\\udfff"}', None),
    "NaN": (b'{"kind":"node","key":"x","confidence":NaN}', "?"),
    "infinite": (b'{"kind":"node","key":"x","confidence":1e999}', "/confidence"),
    "a huge number": (b'{"kind":"node","key":"x","confidence":1%s}' % (b"0" * 6000), None),
    "time without offset": (b'{"kind":"node","key":"x","createdAt":"2026-01-01T00:00:00"}', "/createdAt"),
    "status that is none": (b'{"kind":"node","key":"x","status":"Broken"}', "/status"),
    "valid but invalidated": (b'{"kind":"node","key":"x","invalidation":"Direct"}', "/invalidation"),
    "a line too long": (b'{"kind":"node","key":"x","content":"%s"}' % (b"c" * 1_100_000), None),
    "deep": (b'{"kind":"node","key":' + b"[" * DEEP + b"]" * DEEP + b"}", None),
    "self-loop by key": (b'{"kind":"edge","source":"a","target":"a","edgeType":"Requires"}', "/target"),
    "self-loop by two names": (
        b'{"kind":"edge","source":"a","targetNodeId":"%(node)s","edgeType":"Requires"}', None,
    ),
    "unknown source": (b'{"kind":"edge","source":"nobody","target":"a","edgeType":"Requires"}', None),
    "unknown target": (b'{"kind":"edge","source":"a","target":"nobody","edgeType":"Requires"}', None),
    "foreign source": (
        b'{"kind":"edge","sourceNodeId":"%(foreign_node)s","target":"a","edgeType":"Requires"}', None,
    ),
    "foreign target": (
        b'{"kind":"edge","source":"a","targetNodeId":"%(foreign_node)s","edgeType":"Requires"}', None,
    ),
    "reversed edge": (
        b'{"kind":"edge","source":"b","target":"a","edgeType":"Requires",'
        b'"effectiveFrom":"2026-02-01T00:00:00Z","effectiveTo":"2026-01-01T00:00:00Z"}', "/effectiveTo",
    ),
    "edge type that is none": (b'{"kind":"edge","source":"a","target":"b","edgeType":"Causes"}', "/edgeType"),
    "group of what needs": (
        b'{"kind":"edge","source":"b","target":"a","edgeType":"Requires","supportGroup":"g"}', "/supportGroup",
    ),
    "edge under no rule": (
        b'{"kind":"edge","source":"b","target":"a","edgeType":"Requires","ruleName":"none","ruleVersion":"1"}', None,
    ),
    "half a rule": (b'{"kind":"edge","source":"b","target":"a","edgeType":"Requires","ruleName":"r"}', "/ruleVersion"),
    "assertion of nobody": (b'{"kind":"assertion","node":"nobody","content":"c"}', None),
    "foreign assertion": (b'{"kind":"assertion","memoryNodeId":"%(foreign_node)s","content":"c"}', None),
    "reversed assertion": (
        b'{"kind":"assertion","node":"a","content":"c",'
        b'"effectiveFrom":"2026-02-01T00:00:00Z","effectiveTo":"2026-01-01T00:00:00Z"}', "/effectiveTo",
    ),
    "empty assertion": (b'{"kind":"assertion","node":"a","content":""}', "/content"),
    "evidence for nothing": (b'{"kind":"evidence","node":"b","evidenceType":"t","reference":"r"}', None),
    "reversed rule": (
        b'{"kind":"rule","name":"r","version":"1","effectiveAt":"2026-02-01T00:00:00Z",'
        b'"expiresAt":"2026-01-01T00:00:00Z"}', "/expiresAt",
    ),
    "id of another node": (b'{"kind":"node","key":"other","memoryNodeId":"%(node)s"}', None),
    "key of another id": (
        b'{"kind":"node","key":"a","memoryNodeId":"11111111-2222-4333-8444-555555555555"}', None,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("line", "pointer"), BAD_LINES.values(), ids=BAD_LINES)
def test_bad_line(world: World, line: bytes, pointer: str | None) -> None:
    values = {name.encode(): value.encode() for name, value in world.values().items()}
    bad = line % values if b"%(" in line else line
    answer = _import(world, b"\n".join([GOOD % 1, b"", GOOD % 2, bad, GOOD % 3, GOOD % 4]) + b"\n")
    found = problem(answer, 422)
    assert found["line"] == 4
    assert "4" in found["detail"]
    assert len(answer.content) < 5000
    if pointer not in (None, "?"):
        assert found["errors"][0]["pointer"] == pointer


def test_the_same_key_twice(world: World) -> None:
    body = lines_of({"kind": "node", "key": "new", "name": "one"}, {"kind": "node", "key": "new", "name": "two"})
    assert problem(_import(world, body), 409, 422).get("line", 2) == 2


@pytest.mark.parametrize("packed", [False, True])
def test_broken_line_in_the_middle_of_100_000(world: World, *, packed: bool) -> None:
    lines = [GOOD % number for number in range(100_000)]
    lines[49_999] = b'{"kind":"node","key":"new-49999","name":"n"'
    body = b"\n".join(lines)
    answer = _import(world, gzip.compress(body, 1) if packed else body)
    found = problem(answer, 422)
    assert found["line"] == 50_000
    assert "50000" in found["detail"].replace(",", "")


def test_edge_to_nobody_in_the_middle_of_100_000(world: World) -> None:
    lines = [GOOD % number for number in range(100_000)]
    lines[70_000] = b'{"kind":"edge","source":"new-1","target":"nobody","edgeType":"Requires"}'
    assert problem(_import(world, b"\n".join(lines)), 422)["line"] == 70_001


PACKED = gzip.compress(b"\n".join(GOOD % number for number in range(1000)))
BAD_GZIP = {
    "cut short": PACKED[:-20],
    "cut in half": PACKED[: len(PACKED) // 2],
    "cut in the header": PACKED[:5],
    "only the magic": PACKED[:2],
    "a wrong checksum": PACKED[:-8] + bytes(4) + PACKED[-4:],
    "a wrong size": PACKED[:-4] + bytes(4),
    "broken in the middle": PACKED[: len(PACKED) // 2] + bytes(50) + PACKED[len(PACKED) // 2 + 50 :],
    "rubbish after the end": PACKED + b"rubbish",
    "gzip in gzip": gzip.compress(PACKED),
    "an unknown method": PACKED[:2] + b"\x07" + PACKED[3:],
}


@pytest.mark.parametrize("body", BAD_GZIP.values(), ids=BAD_GZIP)
def test_bad_gzip(world: World, body: bytes) -> None:
    problem(_import(world, body), 400, 422)
    problem(_import(world, body, Content_Encoding="gzip"), 400, 422)


def test_what_says_gzip_and_is_not(world: World) -> None:
    problem(_import(world, GOOD % 1, Content_Encoding="gzip"), 400, 415, 422)
    problem(_import(world, GOOD % 1, Content_Encoding="br"), 415)


def test_import_of_another_media_type(world: World) -> None:
    problem(_import(world, GOOD % 1, Content_Type="multipart/form-data; boundary=x"), 415)


def _bomb(unit: bytes, times: int, head: bytes = b"") -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join([packer.compress(head), *(packer.compress(unit) for _ in range(times)), packer.flush()])


def test_gzip_bomb_of_one_line(world: World, server: Server) -> None:
    """256 MiB of zeros, or of one string, from 256 KiB: refused where the line gets too long."""
    for body in (_bomb(bytes(2**20), 256), _bomb(b"x" * 2**20, 256, head=b'{"kind":"node","key":"')):
        assert problem(_import(world, body), 422)["line"] == 1
    assert server.peak_memory() < 2**30


def test_gzip_bomb_of_blank_lines(world: World, server: Server) -> None:
    """64 MiB of line ends from 64 KiB are not counted for minutes."""
    body = _bomb(b"\n" * 2**20, 64) + gzip.compress(b"broken")
    start = monotonic()
    problem(_import(world, body), 413, 422)
    assert monotonic() - start < 20
    assert server.peak_memory() < 2**30


# --- 2 GiB ------------------------------------------------------------------------------------------------------------


def _zeros(chunked: bool) -> Iterator[bytes]:
    block = bytes(2**20)
    frame = b"100000\r\n" + block + b"\r\n"
    for _ in range(TWO_GIB // len(block)):
        yield frame if chunked else block
    if chunked:
        yield b"0\r\n\r\n"


@pytest.mark.parametrize("chunked", [False, True], ids=["with its length", "in chunks"])
@pytest.mark.parametrize("path", ["/memory-graphs", "/invalidations", "/memory-graphs/%(graph)s/import"])
def test_two_gibibytes(world: World, server: Server, path: str, *, chunked: bool) -> None:
    """A client that sends everything before it reads gets its answer too."""
    length = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {TWO_GIB}"
    media_type = NDJSON if "import" in path else "application/json"
    head = f"POST {path % world.values()} HTTP/1.1\r\nHost: x\r\nContent-Type: {media_type}\r\n{length}\r\n\r\n"

    def parts() -> Iterator[bytes]:
        yield head.encode()
        yield from _zeros(chunked)

    answer = _exchange(server, parts())
    assert _status(answer) == 413
    head_, _, body = answer.partition(b"\r\n\r\n")
    assert f"content-type: {PROBLEM}".encode() in head_.lower()
    assert orjson.loads(body)["type"] == "/problems/too-large"
    assert server.peak_memory() < 2**30


def test_two_gibibytes_are_not_even_asked_for(world: World, server: Server) -> None:
    """A client that asks first, as curl does, is told before it sends anything."""
    head = (
        f"POST /memory-graphs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Content-Length: {TWO_GIB}\r\nExpect: 100-continue\r\n\r\n"
    )
    assert _status(_exchange(server, [head.encode()])) == 413


def _exchange(server: Server, parts: "Iterator[bytes] | list[bytes]") -> bytes:
    """Send all of it, whatever comes back; then read until the answer ends."""
    url = urlsplit(server.url)
    with closing(socket.create_connection((url.hostname or "", url.port or 0), timeout=120)) as connection:
        with suppress(ConnectionError):
            for part in parts:
                connection.sendall(part)
        received = b""
        with suppress(ConnectionError):
            while not _is_whole(received) and (block := connection.recv(65_536)):
                received += block
    return received


def _is_whole(answer: bytes) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return bool(end and lengths) and len(body) >= int(lengths[0].partition(b":")[2])


def _status(answer: bytes) -> int:
    assert answer.startswith(b"HTTP/1.1 "), answer[:200]
    return int(answer.split(b" ", 2)[1])
