"""The whole service over HTTP, on graphs small enough to know every answer by hand."""

import gzip
from collections.abc import Iterator
from time import monotonic, sleep
from typing import Any
from uuid import UUID, uuid5

import httpx
import orjson
import pytest

from tests.acceptance.server import (
    NDJSON,
    Json,
    Nursery,
    Server,
    export,
    fresh_key,
    lines_of,
    load,
    new_graph,
    ok,
    pages,
    problem,
)

T = "2026-01-01T00:00:00Z"
EARLIER = "2025-06-01T00:00:00Z"

# a holds up b, which holds up c; d stands on a or on e; f only remembers b; p is pinned on b.
ROWS: list[Json] = [
    *({"kind": "node", "key": key, "name": f"Node {key}", "content": f"{key} is so"} for key in "abcdef"),
    {"kind": "node", "key": "p", "isPinned": True, "pinnedBy": "ana", "pinReason": "checked"},
    {"kind": "edge", "source": "a", "target": "b", "edgeType": "Requires"},
    {"kind": "edge", "source": "b", "target": "c", "edgeType": "DerivedFrom"},
    {"kind": "edge", "source": "a", "target": "d", "edgeType": "SupportedBy"},
    {"kind": "edge", "source": "e", "target": "d", "edgeType": "SupportedBy", "weight": 0.5},
    {"kind": "edge", "source": "b", "target": "f", "edgeType": "Contradicts"},
    {"kind": "edge", "source": "b", "target": "p", "edgeType": "ValidOnlyWhen"},
    {"kind": "evidence", "node": "a", "evidenceType": "Document", "reference": "https://example.org/a"},
    {"kind": "rule", "name": "returns", "version": "1", "effectiveAt": EARLIER},
    {"kind": "assertion", "node": "a", "content": "a was so", "effectiveFrom": EARLIER, "effectiveTo": T},
]
COUNTS = {"rules": 1, "nodes": 7, "edges": 6, "assertions": 7, "evidence": 1}
NOTHING = dict.fromkeys(COUNTS, 0)


@pytest.fixture(scope="module")
def server(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that does nothing but what it is asked: no worker changes nodes between two looks of a test."""
    with nursery.running(tmp_path_factory.mktemp("data") / "memory.db", "--worker", "none") as running:
        yield running


@pytest.fixture
def graph(client: httpx.Client) -> str:
    """A graph with ``ROWS``."""
    made = new_graph(client)
    load(client, made, *ROWS)
    return made


def node_id(graph: str, key: str) -> str:
    """Ids follow from keys."""
    return str(uuid5(UUID(graph), key))


def edge_id(graph: str, kind: str, source: str, target: str, group: str = "") -> str:
    return str(uuid5(UUID(graph), f"{kind}|{source}|{target}|{group}"))


def statuses(client: httpx.Client, graph: str, as_of: str | None = None) -> dict[str, str]:
    params = {"asOf": as_of} if as_of else {}
    nodes = ok(client.get(f"/memory-graphs/{graph}/snapshot", params=params))["nodes"]
    return {node["key"]: node["status"] for node in nodes}


def test_answers_are_not_held_back(client: httpx.Client) -> None:
    """Small answers on a kept connection leave at once, not after the 40 ms of a delayed acknowledgement."""
    client.get("/health/live")
    times = []
    for _ in range(40):
        start = monotonic()
        client.get("/health/live")
        times.append(monotonic() - start)
    assert sorted(times)[10] < 0.03


# --- graphs -----------------------------------------------------------------------------------------------------------


def test_graphs(client: httpx.Client) -> None:
    id_ = str(uuid5(UUID(int=1), fresh_key()))
    answer = client.post("/memory-graphs", json={"name": "ours", "graphId": id_, "policy": "strict"})
    made = ok(answer, 201)
    assert answer.headers["Location"] == f"/memory-graphs/{id_}"
    expected = {
        "graphId": id_,
        "name": "ours",
        "revalidationMode": "automatic",
        "policy": "strict",
        "propagation": "frontier",
        "createdAt": made["committedAt"],
    }
    assert made == expected | {"committedAt": made["committedAt"]}
    assert ok(client.get(f"/memory-graphs/{id_}")) == expected
    assert expected in pages(client, "/memory-graphs", limit=2)
    changed = ok(client.patch(f"/memory-graphs/{id_}", json={"propagation": "transitive"}))
    assert changed["propagation"] == "transitive"
    assert changed["committedAt"] > made["committedAt"]
    assert ok(client.get(f"/memory-graphs/{id_}")) == expected | {"propagation": "transitive"}
    problem(client.post("/memory-graphs", json={"name": "again", "graphId": id_}), 409)


# --- import and export ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["plain", "gzip body", "Content-Encoding"])
def test_import(client: httpx.Client, how: str) -> None:
    graph = new_graph(client)
    body = lines_of(*ROWS)
    headers = {"Content-Type": NDJSON} | ({"Content-Encoding": "gzip"} if how == "Content-Encoding" else {})
    content = body if how == "plain" else gzip.compress(body)
    path = f"/memory-graphs/{graph}/import"
    first = ok(client.post(path, content=content, headers=headers))
    assert {name: first[name] for name in ("graphId", "changed")} == {"graphId": graph, "changed": NOTHING}
    assert {**first["added"], "rules": 1} == COUNTS  # the rule may be there already: rules belong to the fleet
    again = ok(client.post(path, content=content, headers=headers))
    assert (again["added"], again["changed"]) == (NOTHING, NOTHING)
    assert [node["version"] for node in pages(client, "/memory-nodes", graphId=graph)] == [1] * 7


def test_lines_in_any_order_and_blank_ones(client: httpx.Client) -> None:
    graph = new_graph(client)
    body = b"\n \n".join(lines_of(row).strip() for row in reversed(ROWS))
    ok(client.post(f"/memory-graphs/{graph}/import", content=b"\n\n" + body, headers={"Content-Type": NDJSON}))
    other = new_graph(client)
    load(client, other, *ROWS)
    assert _without_times(export(client, graph)) == _without_times(export(client, other))


def test_empty_import(client: httpx.Client) -> None:
    graph = new_graph(client)
    answer = ok(client.post(f"/memory-graphs/{graph}/import", content=b"", headers={"Content-Type": NDJSON}))
    assert (answer["added"], answer["changed"]) == (NOTHING, NOTHING)
    assert export(client, graph) == b""


def test_import_of_an_export_is_the_identity(client: httpx.Client, graph: str) -> None:
    ok(
        client.post("/invalidations", json={"graphId": graph, "rootKeys": ["a"], "reason": "r", "effectiveTime": T}),
        201,
    )
    ok(client.patch(f"/memory-nodes/{node_id(graph, 'e')}", json={"baseConfidence": 0.25, "nodeType": "Fact"}))
    exported = export(client, graph)
    copy = new_graph(client)
    ok(client.post(f"/memory-graphs/{copy}/import", content=exported, headers={"Content-Type": NDJSON}))
    assert export(client, copy) == exported
    again = ok(client.post(f"/memory-graphs/{graph}/import", content=exported, headers={"Content-Type": NDJSON}))
    assert (again["added"], again["changed"]) == (NOTHING, NOTHING)
    assert export(client, graph) == exported


def test_changed_first_assertions_can_be_imported_elsewhere(client: httpx.Client, graph: str) -> None:
    ok(client.patch(f"/memory-nodes/{node_id(graph, 'e')}", json={"category": "changed"}))
    (assertion,) = pages(client, "/memory-assertions", memoryNodeId=node_id(graph, "f"))
    ok(client.patch(f"/memory-assertions/{assertion['memoryAssertionId']}", json={"importance": 0.75}))
    exported = export(client, graph)
    copy = new_graph(client)
    ok(client.post(f"/memory-graphs/{copy}/import", content=exported, headers={"Content-Type": NDJSON}))
    assert export(client, copy) == exported


def test_export_of_the_past(client: httpx.Client, graph: str) -> None:
    before = export(client, graph)
    stamp = ok(client.get(f"/memory-graphs/{graph}/snapshot"))["asOf"]
    ok(client.delete(f"/memory-nodes/{node_id(graph, 'e')}"))
    past = client.get(f"/memory-graphs/{graph}/export", params={"asOf": stamp})
    assert past.headers["Content-Type"] == NDJSON
    assert past.content == before
    assert export(client, graph) != before


def test_import_loads_states_and_cascades_nothing(client: httpx.Client, graph: str) -> None:
    load(client, graph, {"kind": "node", "key": "a", "status": "Invalid", "invalidSince": EARLIER})
    a, b = (ok(client.get(f"/memory-nodes/{node_id(graph, key)}")) for key in "ab")
    assert (a["status"], a["invalidation"], a["invalidSince"]) == ("Invalid", "Derived", EARLIER)
    assert a["name"] == "Node a" or a["name"] == "a"
    assert b["status"] == "Valid"


def _without_times(lines: bytes) -> list[Json]:
    rows = [orjson.loads(line) for line in lines.splitlines()]
    return [
        {name: value for name, value in row.items() if name not in {"createdAt", "observedAt", "recordedAt"}}
        for row in rows
    ]


# --- nodes, edges, assertions, evidence, rules ------------------------------------------------------------------------


def test_node_from_beginning_to_end(client: httpx.Client) -> None:
    graph = new_graph(client)
    body = {"graphId": graph, "key": "k/1", "nodeType": "Fact", "content": "so it is", "confidence": 0.5}
    answer = client.post("/memory-nodes", json=body)
    made = ok(answer, 201)
    id_ = node_id(graph, "k/1")
    assert answer.headers["Location"] == f"/memory-nodes/{id_}"
    assert answer.headers["ETag"] == '"1"'
    stamp = made.pop("committedAt")
    assert made == {
        "memoryNodeId": id_,
        "key": "k/1",
        "graphId": graph,
        "name": "k/1",
        "nodeType": "Fact",
        "category": None,
        "status": "Valid",
        "invalidSince": None,
        "invalidation": None,
        "confidence": 0.5,
        "baseConfidence": 0.5,
        "isPinned": False,
        "pinnedBy": None,
        "pinReason": None,
        "createdAt": stamp,
        "updatedAt": stamp,
        "validFrom": stamp,
        "validTo": None,
        "version": 1,
    }
    (assertion,) = pages(client, "/memory-assertions", memoryNodeId=id_)
    assert assertion["content"] == "so it is"

    path = f"/memory-nodes/{id_}"
    read = client.get(path)
    assert (read.json(), read.headers["ETag"]) == (made, '"1"')
    assert client.get(path, headers={"If-None-Match": '"1"'}).status_code == 304
    assert client.get(path, headers={"If-None-Match": '"0", W/"1"'}).status_code == 304
    assert client.get(path, headers={"If-None-Match": '"2"'}).status_code == 200
    assert pages(client, "/memory-nodes", graphId=graph, key="k/1") == [made]
    assert pages(client, "/memory-nodes", graphId=graph, status="Invalid") == []

    pin = {"isPinned": True, "pinnedBy": "ana", "pinReason": "checked"}
    changed = client.patch(path, json=pin, headers={"If-Match": '"1"'})
    assert changed.headers["ETag"] == '"2"'
    second = ok(changed)
    assert (second["pinnedBy"], second["validFrom"]) == ("ana", second["committedAt"])
    problem(client.patch(path, json={"name": "late"}, headers={"If-Match": '"1"'}), 412)
    assert client.get(path, headers={"If-None-Match": '"1"'}).json()["version"] == 2
    third = ok(
        client.patch(path, json={"isPinned": False, "pinnedBy": "ben", "name": "new"}, headers={"If-Match": "*"})
    )

    problem(client.delete(path, headers={"If-Match": '"2"'}), 412)
    gone = ok(client.delete(path, headers={"If-Match": '"3"'}))
    assert gone == {"memoryNodeId": id_, "committedAt": gone["committedAt"]}
    problem(client.get(path), 404)
    problem(client.delete(path), 404)
    history = pages(client, f"{path}/history", limit=1)
    assert [row["version"] for row in history] == [1, 2, 3]
    assert [row["validFrom"] for row in history] == [stamp, second["committedAt"], third["committedAt"]]
    assert [row["validTo"] for row in history] == [second["committedAt"], third["committedAt"], gone["committedAt"]]
    assert statuses(client, graph, third["committedAt"]) == {"k/1": "Valid"}
    assert statuses(client, graph) == {}


def test_edge_from_beginning_to_end(client: httpx.Client, graph: str) -> None:
    body = {"graphId": graph, "source": "e", "target": "c", "edgeType": "SupportedBy", "supportGroup": "g"}
    answer = client.post("/memory-edges", json=body | {"effectiveFrom": EARLIER})
    made = ok(answer, 201)
    id_ = edge_id(graph, "SupportedBy", "e", "c", "g")
    assert (answer.headers["Location"], answer.headers["ETag"]) == (f"/memory-edges/{id_}", '"1"')
    assert made.pop("invalidationRun") is None
    stamp = made.pop("committedAt")
    assert made == {
        "memoryEdgeId": id_,
        "graphId": graph,
        "sourceNodeId": node_id(graph, "e"),
        "targetNodeId": node_id(graph, "c"),
        "edgeType": "SupportedBy",
        "supportGroup": "g",
        "minSupport": 1,
        "weight": 1.0,
        "effectiveFrom": EARLIER,
        "effectiveTo": None,
        "sourceRuleId": None,
        "createdAt": stamp,
        "validFrom": stamp,
        "validTo": None,
        "version": 1,
    }
    path = f"/memory-edges/{id_}"
    assert client.get(path, headers={"If-None-Match": '"1"'}).status_code == 304
    changed = ok(client.patch(path, json={"weight": 0.25, "minSupport": 2}, headers={"If-Match": '"1"'}))
    assert (changed["weight"], changed["minSupport"], changed["version"]) == (0.25, 2, 2)
    assert problem(client.patch(path, json={"effectiveTo": EARLIER}), 422)["errors"][0]["pointer"] == "/effectiveTo"
    problem(client.patch(path, json={"weight": 1}, headers={"If-Match": '"1"'}), 412)
    into = pages(client, "/memory-edges", targetNodeId=node_id(graph, "c"), limit=1)
    assert [edge["sourceNodeId"] for edge in sorted(into, key=lambda edge: edge["edgeType"])] == [
        node_id(graph, "b"),
        node_id(graph, "e"),
    ]
    assert len(pages(client, "/memory-edges", graphId=graph, sourceNodeId=node_id(graph, "e"))) == 2
    gone = ok(client.delete(path))
    problem(client.get(path), 404)
    assert [edge["memoryEdgeId"] for edge in _snapshot(client, graph, changed["committedAt"])["edges"]].count(id_) == 1
    assert id_ not in [edge["memoryEdgeId"] for edge in _snapshot(client, graph, gone["committedAt"])["edges"]]


def test_superseding_edge(client: httpx.Client, graph: str) -> None:
    """The replaced node falls, what needs it falls with it, and its support of the replacing one ends."""
    body = {"graphId": graph, "source": "d", "target": "a", "edgeType": "Supersedes"}
    made = ok(client.post("/memory-edges", json=body), 201)
    run = made["invalidationRun"]
    assert run["counts"]["byStatus"] == {"Invalid": 3, "PotentiallyStale": 1}  # a, b, c; f, which b contradicts
    assert run["counts"]["byOutcome"] == {"Invalidated": 3, "MarkedPotentiallyStale": 1, "SkippedPinned": 1}
    assert statuses(client, graph) == {
        "a": "Invalid",
        "b": "Invalid",
        "c": "Invalid",
        "d": "Valid",
        "e": "Valid",
        "f": "PotentiallyStale",
        "p": "Valid",
    }
    (support,) = pages(client, "/memory-edges", sourceNodeId=node_id(graph, "a"), targetNodeId=node_id(graph, "d"))
    assert support["effectiveTo"] == made["committedAt"]
    (cause,) = ok(client.get(f"/memory-nodes/{node_id(graph, 'c')}/staleness"))["causes"]
    assert (cause["key"], cause["kind"]) == ("d", "Superseded")


def test_assertion_and_evidence_from_beginning_to_end(client: httpx.Client, graph: str) -> None:
    body = {"graphId": graph, "node": "b", "content": "b began", "effectiveFrom": EARLIER, "importance": 0.75}
    answer = client.post("/memory-assertions", json=body)
    made = ok(answer, 201)
    id_ = made["memoryAssertionId"]
    path = f"/memory-assertions/{id_}"
    assert (answer.headers["Location"], answer.headers["ETag"]) == (path, '"1"')
    assert (made["memoryNodeId"], made["observedAt"]) == (node_id(graph, "b"), made["committedAt"])
    assert client.get(path, headers={"If-None-Match": '"1"'}).status_code == 304
    changed = ok(client.patch(path, json={"effectiveTo": T}, headers={"If-Match": '"1"'}))
    assert (changed["effectiveTo"], changed["importance"], changed["version"]) == (T, 0.75, 2)
    problem(client.patch(path, json={"importance": 0.1}, headers={"If-Match": '"1"'}), 412)
    assert len(pages(client, "/memory-assertions", graphId=graph, memoryNodeId=node_id(graph, "b"), limit=1)) == 2

    proof = {"memoryAssertionId": id_, "evidenceType": "Observation", "reference": "seen", "details": "twice"}
    answer = client.post("/evidence-references", json=proof)
    evidence = ok(answer, 201)
    evidence_path = f"/evidence-references/{evidence['evidenceReferenceId']}"
    assert answer.headers["Location"] == evidence_path
    problem(client.post("/evidence-references", json=proof), 409)
    assert ok(client.get(evidence_path)) == {name: value for name, value in evidence.items() if name != "committedAt"}
    assert len(pages(client, "/evidence-references", memoryAssertionId=id_)) == 1
    ok(client.delete(evidence_path))
    problem(client.get(evidence_path), 404)

    ok(client.delete(path, headers={"If-Match": '"2"'}))
    problem(client.get(path), 404)
    problem(client.get("/evidence-references", params={"memoryAssertionId": id_}), 404)


def test_rules(client: httpx.Client, graph: str) -> None:
    """A new version takes the ground from what rested on the old one: statements fall, supports are doubted."""
    name = f"rule-{fresh_key()}"
    first = ok(client.post("/source-rules", json={"name": name, "version": "1", "effectiveAt": EARLIER}), 201)
    assert first["invalidationRuns"] == []
    rule = {"ruleName": name, "ruleVersion": "1"}
    ok(client.post("/memory-assertions", json={"graphId": graph, "node": "b", "content": "by rule"} | rule), 201)
    edge = {"graphId": graph, "source": "a", "target": "e", "edgeType": "SupportedBy"}
    ok(client.post("/memory-edges", json=edge | rule), 201)
    answer = client.post("/source-rules", json={"name": name, "version": "2", "effectiveAt": T})
    second = ok(answer, 201)
    assert answer.headers["Location"] == f"/source-rules/{second['sourceRuleId']}"
    roots = [(run["requestedStatus"], run["rootNodeIds"]) for run in second["invalidationRuns"]]
    assert roots == [("Invalid", [node_id(graph, "b")]), ("PotentiallyStale", [node_id(graph, "e")])]
    found = statuses(client, graph)
    assert (found["a"], found["b"], found["c"], found["e"]) == ("Valid", "Invalid", "Invalid", "PotentiallyStale")
    versions = {row["version"]: row for row in pages(client, "/source-rules", name=name, limit=1)}
    assert (versions["1"]["expiresAt"], versions["2"]["expiresAt"]) == (T, None)
    assert ok(client.get(f"/source-rules/{second['sourceRuleId']}"))["effectiveAt"] == T
    problem(client.post("/source-rules", json={"name": name, "version": "2"}), 409)


# --- idempotency ------------------------------------------------------------------------------------------------------


def test_idempotency_key_of_every_kind_of_write(client: httpx.Client, graph: str) -> None:
    a, e = node_id(graph, "a"), node_id(graph, "e")
    writes: list[tuple[str, str, Any]] = [
        ("POST", "/memory-graphs", {"name": "once"}),
        ("PATCH", f"/memory-graphs/{graph}", {"name": "once"}),
        ("POST", f"/memory-graphs/{graph}/snapshots", {"name": "once"}),
        ("POST", "/memory-nodes", {"graphId": graph, "name": "without a key"}),
        ("PATCH", f"/memory-nodes/{a}", {"name": "once"}),
        ("POST", "/memory-edges", {"sourceNodeId": e, "targetNodeId": a, "edgeType": "SupportedBy"}),
        ("POST", "/memory-assertions", {"memoryNodeId": e, "content": "once"}),
        ("POST", "/source-rules", {"name": fresh_key(), "version": "1"}),
        ("POST", "/invalidations", {"rootNodeIds": [e], "reason": "once"}),
        ("POST", "/revalidations", {"rootNodeIds": [e], "reason": "once"}),
        ("DELETE", f"/memory-nodes/{e}", None),
    ]
    for method, path, body in writes:
        key = {"Idempotency-Key": fresh_key()}
        first = client.request(method, path, json=body, headers=key)
        assert first.is_success, first.text
        assert "Idempotency-Replayed" not in first.headers
        lines = export(client, graph)
        again = client.request(method, path, json=body, headers=key)
        assert (again.status_code, again.content) == (first.status_code, first.content)
        assert again.headers["Idempotency-Replayed"] == "true"
        assert [again.headers.get(name) for name in ("ETag", "Location")] == [
            first.headers.get(name) for name in ("ETag", "Location")
        ]
        assert export(client, graph) == lines
        if body:
            other = body | {"name" if "name" in body else "reason": "another"}
            if path in {"/memory-edges", "/memory-assertions"}:
                other = body | {"category": "another"} if "content" in body else body | {"weight": 0.5}
            found = problem(client.request(method, path, json=other, headers=key), 422)
            assert found["type"] == "/problems/idempotency-mismatch"
        problem(client.request("POST", "/memory-graphs", json={"name": "elsewhere"}, headers=key), 422)


def test_idempotency_key_of_an_import(client: httpx.Client) -> None:
    graph = new_graph(client)
    path, key = f"/memory-graphs/{graph}/import", {"Idempotency-Key": fresh_key(), "Content-Type": NDJSON}
    first = client.post(path, content=lines_of({"kind": "node", "key": "a"}), headers=key)
    again = client.post(path, content=lines_of({"kind": "node", "key": "a"}), headers=key)
    assert (ok(first)["added"]["nodes"], again.content) == (1, first.content)
    assert again.headers["Idempotency-Replayed"] == "true"
    problem(client.post(path, content=lines_of({"kind": "node", "key": "b"}), headers=key), 422)
    assert list(statuses(client, graph)) == ["a"]


def test_idempotency_keys_belong_to_a_fleet(server: Server, client: httpx.Client) -> None:
    key = {"Idempotency-Key": fresh_key()}
    first = ok(client.post("/memory-graphs", json={"name": "g"}, headers=key), 201)
    with server.client(fleet=UUID(int=99)) as other:
        assert ok(other.post("/memory-graphs", json={"name": "h"}, headers=key), 201)["graphId"] != first["graphId"]


def test_a_failed_request_does_not_use_up_its_key(client: httpx.Client) -> None:
    graph = new_graph(client)
    key = {"Idempotency-Key": fresh_key()}
    body = {"graphId": graph, "rootKeys": ["late"], "reason": "r"}
    problem(client.post("/invalidations", json=body, headers=key), 404)
    load(client, graph, {"kind": "node", "key": "late"})
    ok(client.post("/invalidations", json=body, headers=key), 201)


# --- invalidations ----------------------------------------------------------------------------------------------------

BODY: Json = {"rootKeys": ["a"], "reason": "a was wrong", "effectiveTime": T}
FALLEN = {
    "a": "Invalid",
    "b": "Invalid",
    "c": "Invalid",
    "d": "PotentiallyStale",
    "e": "Valid",
    "f": "PotentiallyStale",
    "p": "Valid",
}


def _impact(graph: str, key: str, depth: int, outcome: str, via: str | None) -> Json:
    new = {"Invalidated": "Invalid", "MarkedPotentiallyStale": "PotentiallyStale", "SkippedPinned": "Valid"}[outcome]
    return {
        "memoryNodeId": node_id(graph, key),
        "key": key,
        "depth": depth,
        "oldStatus": "Valid",
        "newStatus": new,
        "outcome": outcome,
        "viaEdgeId": via,
        "component": None,
    }


def _expected_impacts(graph: str) -> list[Json]:
    impacts = [
        _impact(graph, "a", 0, "Invalidated", None),
        _impact(graph, "b", 1, "Invalidated", edge_id(graph, "Requires", "a", "b")),
        _impact(graph, "d", 1, "MarkedPotentiallyStale", edge_id(graph, "SupportedBy", "a", "d")),
        _impact(graph, "c", 2, "Invalidated", edge_id(graph, "DerivedFrom", "b", "c")),
        _impact(graph, "f", 2, "MarkedPotentiallyStale", edge_id(graph, "Contradicts", "b", "f")),
        _impact(graph, "p", 2, "SkippedPinned", edge_id(graph, "ValidOnlyWhen", "b", "p")),
    ]
    return sorted(impacts, key=lambda impact: (impact["depth"], impact["memoryNodeId"]))


def test_invalidation(client: httpx.Client, graph: str) -> None:
    before = _snapshot(client, graph)
    answer = client.post("/invalidations", json={"graphId": graph, **BODY})
    run = ok(answer, 201)
    assert answer.headers["Location"] == f"/invalidations/{run['runId']}"
    assert run == {
        "runId": run["runId"],
        "parentRunId": None,
        "status": "Completed",
        "supersededByRunId": None,
        "reason": "a was wrong",
        "requestedStatus": "Invalid",
        "effectiveTime": T,
        "policy": "evidential",
        "propagation": "frontier",
        "overridePinned": False,
        "requestedAt": run["committedAt"],
        "committedAt": run["committedAt"],
        "dryRun": False,
        "planToken": None,
        "rootNodeIds": [node_id(graph, "a")],
        "counts": {
            "byOutcome": {"Invalidated": 3, "MarkedPotentiallyStale": 2, "SkippedPinned": 1},
            "byStatus": {"Invalid": 3, "PotentiallyStale": 2},
            "byDepth": [1, 2, 3],
        },
        "cycles": [],
        "impacts": {"items": _expected_impacts(graph), "nextCursor": None},
    }
    assert statuses(client, graph) == FALLEN
    assert statuses(client, graph, run["committedAt"]) == FALLEN
    assert _snapshot(client, graph, before["asOf"]) == before
    a, b = (ok(client.get(f"/memory-nodes/{node_id(graph, key)}")) for key in "ab")
    assert (a["invalidation"], a["invalidSince"], a["version"]) == ("Direct", T, 2)
    assert (b["invalidation"], b["invalidSince"], b["validFrom"]) == ("Derived", T, run["committedAt"])

    path = f"/invalidations/{run['runId']}"
    assert ok(client.get(path)) == run
    listed = {row["runId"]: row for row in pages(client, "/invalidations", limit=2)}
    assert listed[run["runId"]].items() <= run.items()
    same = ok(client.post("/invalidations", json={"graphId": graph, **BODY}), 201)
    assert same["runId"] == run["runId"]  # the same roots, time and options: the same run


def test_impacts(client: httpx.Client, graph: str) -> None:
    run = ok(client.post("/invalidations", json={"graphId": graph, **BODY}), 201)
    path = f"/invalidations/{run['runId']}/impacts"
    expected = _expected_impacts(graph)
    for limit in (1, 2, 5, 6, 1000):
        assert pages(client, path, limit=limit) == expected
    assert [row["key"] for row in pages(client, path, outcome="SkippedPinned")] == ["p"]
    lines = client.get(path, headers={"Accept": NDJSON})
    assert lines.headers["Content-Type"] == NDJSON
    assert [orjson.loads(line) for line in lines.content.splitlines()] == expected
    steps = ok(client.get(f"{path}/{node_id(graph, 'c')}/path"))["items"]
    assert steps == [
        {"memoryNodeId": node_id(graph, "a"), "key": "a", "depth": 0, "viaEdgeId": None, "edgeType": None},
        {
            "memoryNodeId": node_id(graph, "b"),
            "key": "b",
            "depth": 1,
            "viaEdgeId": edge_id(graph, "Requires", "a", "b"),
            "edgeType": "Requires",
        },
        {
            "memoryNodeId": node_id(graph, "c"),
            "key": "c",
            "depth": 2,
            "viaEdgeId": edge_id(graph, "DerivedFrom", "b", "c"),
            "edgeType": "DerivedFrom",
        },
    ]
    problem(client.get(f"{path}/{node_id(graph, 'e')}/path"), 404)


def test_dry_run_and_plan(client: httpx.Client, graph: str) -> None:
    before, runs = export(client, graph), pages(client, "/invalidations")
    body = {"graphId": graph, **BODY}
    plan = ok(client.post("/invalidations", json=body | {"dryRun": True}))
    assert (plan["dryRun"], plan["runId"], plan["committedAt"]) == (True, None, None)
    assert plan["impacts"]["items"] == _expected_impacts(graph)
    assert (export(client, graph), pages(client, "/invalidations")) == (before, runs)

    load(client, graph, {"kind": "edge", "source": "a", "target": "e", "edgeType": "Requires"})
    changed = export(client, graph)
    refused = problem(client.post("/invalidations", json=body | {"planToken": plan["planToken"]}), 409)
    assert refused["type"] == "/problems/plan-changed"
    assert (export(client, graph), pages(client, "/invalidations")) == (changed, runs)

    plan = ok(client.post("/invalidations", json=body | {"dryRun": True}))
    run = ok(client.post("/invalidations", json=body | {"planToken": plan["planToken"]}), 201)
    assert run["impacts"] == plan["impacts"]
    assert run["counts"] == plan["counts"]
    assert statuses(client, graph) == FALLEN | {"e": "Invalid", "d": "Invalid"}


def test_invalidation_later(client: httpx.Client, graph: str) -> None:
    answer = client.post("/invalidations", json={"graphId": graph, **BODY}, headers={"Prefer": "respond-async"})
    run = ok(answer, 202)
    assert answer.headers["Preference-Applied"] == "respond-async"
    assert answer.headers["Location"] == f"/invalidations/{run['runId']}"
    assert (run["status"], run["counts"]["byDepth"]) == ("Pending", [])
    deadline = monotonic() + 10
    while (done := ok(client.get(f"/invalidations/{run['runId']}")))["status"] == "Pending":
        assert monotonic() < deadline
        sleep(0.02)
    assert (done["status"], done["impacts"]["items"]) == ("Completed", _expected_impacts(graph))
    assert done["committedAt"] > run["requestedAt"]
    assert statuses(client, graph) == FALLEN


def test_options_of_an_invalidation(client: httpx.Client, graph: str) -> None:
    strict = {"policy": "strict", "propagation": "transitive", "overridePinned": True}
    run = ok(client.post("/invalidations", json={"graphId": graph, **BODY, **strict}), 201)
    assert (run["policy"], run["propagation"], run["overridePinned"]) == ("strict", "transitive", True)
    assert statuses(client, graph) == {
        "a": "Invalid",
        "b": "Invalid",
        "c": "Invalid",
        "d": "Invalid",  # strict: one lost ground is enough
        "e": "Valid",
        "f": "PotentiallyStale",
        "p": "Invalid",
    }


def test_back_dating(client: httpx.Client, graph: str) -> None:
    ok(client.post("/invalidations", json={"graphId": graph, **BODY}), 201)
    run = ok(client.post("/invalidations", json={"graphId": graph, **BODY, "effectiveTime": EARLIER}), 201)
    assert run["counts"]["byOutcome"]["AlreadyAtStatus"] == 5
    since = {key: ok(client.get(f"/memory-nodes/{node_id(graph, key)}"))["invalidSince"] for key in "abcd"}
    assert since == {"a": EARLIER, "b": EARLIER, "c": EARLIER, "d": None}
    later = ok(client.post("/invalidations", json={"graphId": graph, **BODY, "effectiveTime": T[:-1] + "Z"}), 201)
    assert ok(client.get(f"/memory-nodes/{node_id(graph, 'a')}"))["invalidSince"] == EARLIER
    assert later["runId"] != run["runId"]


def test_cycles(client: httpx.Client) -> None:
    graph = new_graph(client)
    ring = [("a", "b"), ("b", "c"), ("c", "a"), ("root", "a")]
    load(
        client,
        graph,
        *({"kind": "node", "key": key} for key in ("a", "b", "c", "root")),
        *({"kind": "edge", "source": source, "target": target, "edgeType": "Requires"} for source, target in ring),
    )
    run = ok(client.post("/invalidations", json={"graphId": graph, "rootKeys": ["root"], "reason": "r"}), 201)
    members = sorted(node_id(graph, key) for key in "abc")
    component = run["cycles"][0]["component"]
    assert run["cycles"] == [{"component": component, "size": 3, "memoryNodeIds": members, "truncated": False}]
    assert {row["key"]: row["component"] for row in run["impacts"]["items"]} == {
        "root": None,
        "a": component,
        "b": component,
        "c": component,
    }
    assert run["counts"]["byDepth"] == [1, 1, 1, 1]


def test_staleness(client: httpx.Client, graph: str) -> None:
    run = ok(client.post("/invalidations", json={"graphId": graph, **BODY}), 201)
    cause = {
        "memoryNodeId": node_id(graph, "a"),
        "key": "a",
        "name": "Node a",
        "status": "Invalid",
        "kind": "Requested",
        "runId": run["runId"],
        "reason": "a was wrong",
        "effectiveTime": T,
    }
    for key, distance in (("a", 0), ("b", 1), ("c", 2), ("d", 1)):
        found = ok(client.get(f"/memory-nodes/{node_id(graph, key)}/staleness"))
        assert found == {
            "memoryNodeId": node_id(graph, key),
            "key": key,
            "status": FALLEN[key],
            "causes": [cause | {"distance": distance}],
        }
    assert ok(client.get(f"/memory-nodes/{node_id(graph, 'e')}/staleness"))["causes"] == []


# --- snapshots, diffs, bookmarks --------------------------------------------------------------------------------------


def _snapshot(client: httpx.Client, graph: str, as_of: str | None = None) -> Json:
    return ok(client.get(f"/memory-graphs/{graph}/snapshot", params={"asOf": as_of} if as_of else {}))


def test_snapshot(client: httpx.Client, graph: str) -> None:
    path = f"/memory-graphs/{graph}/snapshot"
    now = client.get(path)
    body = ok(now)
    assert list(body) == ["graphId", "asOf", "nodes", "edges", "assertions"]
    assert [len(body[name]) for name in ("nodes", "edges", "assertions")] == [7, 6, 7]
    for name, id_ in (("nodes", "memoryNodeId"), ("edges", "memoryEdgeId"), ("assertions", "memoryAssertionId")):
        ids = [row[id_] for row in body[name]]
        assert ids == sorted(ids)
        assert not any("validTo" in row for row in body[name])
    assert "immutable" not in now.headers["Cache-Control"]

    past = client.get(path, params={"asOf": body["asOf"]})
    assert past.content == now.content
    assert "immutable" in past.headers["Cache-Control"]
    tag = past.headers["ETag"]
    assert client.get(path, params={"asOf": body["asOf"]}, headers={"If-None-Match": tag}).status_code == 304

    lines = client.get(path, params={"asOf": body["asOf"]}, headers={"Accept": NDJSON})
    assert lines.headers["Content-Type"] == NDJSON
    assert lines.headers["ETag"] != tag
    head, *rows = map(orjson.loads, lines.content.splitlines())
    assert head == {"kind": "snapshot", "graphId": graph, "asOf": body["asOf"]}
    expected = [{"kind": kind, **row} for kind in ("node", "edge", "assertion") for row in body[f"{kind}s"]]
    assert rows == expected

    ok(client.post("/invalidations", json={"graphId": graph, **BODY}), 201)
    assert client.get(path, params={"asOf": body["asOf"]}).content == past.content
    assert client.get(path, params={"asOf": body["asOf"]}, headers={"Accept": NDJSON}).content == lines.content


def test_times_of_a_snapshot(client: httpx.Client, graph: str) -> None:
    stamp = _snapshot(client, graph)["asOf"]
    path = f"/memory-graphs/{graph}/snapshot"
    local = stamp.replace("Z", "+00:00")
    assert ok(client.get(path, params={"asOf": local}))["asOf"] == stamp
    assert ok(client.get(f"{path}?asOf={local}"))["asOf"] == stamp  # a plus that arrives as a space
    before = _snapshot(client, graph, "2020-01-01T01:00:00+01:00")
    assert before == {"graphId": graph, "asOf": "2020-01-01T00:00:00Z", "nodes": [], "edges": [], "assertions": []}


def test_every_stamp_can_be_asked_for(client: httpx.Client) -> None:
    graph = new_graph(client)
    stamps = []
    for number in range(10):
        made = ok(client.post("/memory-nodes", json={"graphId": graph, "key": f"k{number}"}), 201)
        stamps.append(made["committedAt"])
        assert len(_snapshot(client, graph, made["committedAt"])["nodes"]) == number + 1
    assert stamps == sorted(set(stamps))
    assert [len(_snapshot(client, graph, stamp)["nodes"]) for stamp in stamps] == list(range(1, 11))


def test_nodes_of_other_graphs(client: httpx.Client, graph: str) -> None:
    other = new_graph(client, "other")
    load(client, other, {"kind": "node", "key": "far", "name": "Far"})
    body = {"sourceNodeId": node_id(graph, "b"), "targetNodeId": node_id(other, "far"), "edgeType": "Requires"}
    edge = ok(client.post("/memory-edges", json=body), 201)
    assert edge["graphId"] == other
    stub = {"memoryNodeId": node_id(graph, "b"), "key": "b", "graphId": graph, "name": "Node b", "external": True}
    assert [node for node in _snapshot(client, other)["nodes"] if node["graphId"] != other] == [stub]
    run = ok(client.post("/invalidations", json={"graphId": graph, **BODY}), 201)
    assert {row["key"]: row["depth"] for row in run["impacts"]["items"]}["far"] == 2
    assert statuses_of(client, other) == {"far": "Invalid"}


def statuses_of(client: httpx.Client, graph: str) -> dict[str, str]:
    return {node["key"]: node["status"] for node in pages(client, "/memory-nodes", graphId=graph)}


def test_diff(client: httpx.Client, graph: str) -> None:
    start = _snapshot(client, graph)["asOf"]
    ok(client.patch(f"/memory-nodes/{node_id(graph, 'a')}", json={"name": "renamed"}))
    ok(client.delete(f"/memory-nodes/{node_id(graph, 'e')}"))
    ok(client.post("/memory-nodes", json={"graphId": graph, "key": "g"}), 201)
    ok(client.patch(f"/memory-nodes/{node_id(graph, 'c')}", json={"name": "there"}))
    end = ok(client.patch(f"/memory-nodes/{node_id(graph, 'c')}", json={"name": "Node c"}))["committedAt"]
    path = f"/memory-graphs/{graph}/diff"
    answer = client.get(path, params={"from": start, "to": end})
    found = ok(answer)
    assert (found["from"], found["to"]) == (start, end)
    changes = {(row["before"] or row["after"])["key"]: row for row in found["nodes"]}
    assert {key: row["change"] for key, row in changes.items()} == {"a": "changed", "e": "removed", "g": "added"}
    assert (changes["a"]["before"]["name"], changes["a"]["after"]["name"]) == ("Node a", "renamed")
    assert (changes["e"]["after"], changes["g"]["before"]) == (None, None)
    assert [row["change"] for row in found["edges"]] == ["removed"]
    assert [row["before"]["content"] for row in found["assertions"]] == ["e is so"]
    assert "immutable" in answer.headers["Cache-Control"]
    lines = client.get(path, params={"from": start, "to": end}, headers={"Accept": NDJSON}).content.splitlines()
    assert orjson.loads(lines[0]) == {"kind": "diff", "graphId": graph, "from": start, "to": end}
    assert [orjson.loads(line)["change"] for line in lines[1:]] == [
        row["change"] for name in ("nodes", "edges", "assertions") for row in found[name]
    ]
    nothing = ok(client.get(path, params={"from": end, "to": end}))
    assert (nothing["nodes"], nothing["edges"], nothing["assertions"]) == ([], [], [])


def test_bookmarks(client: httpx.Client, graph: str) -> None:
    stamp = _snapshot(client, graph)["asOf"]
    path = f"/memory-graphs/{graph}/snapshots"
    named = ok(client.post(path, json={"name": "then", "asOf": stamp}), 201)
    assert (named["name"], named["asOf"]) == ("then", stamp)
    latest = ok(client.post(path, json={"name": "now"}), 201)
    assert latest["asOf"] >= stamp
    ok(client.post("/invalidations", json={"graphId": graph, **BODY}), 201)
    assert set(statuses(client, graph, latest["asOf"]).values()) == {"Valid"}
    assert {row["name"] for row in pages(client, path, limit=1)} == {"then", "now"}


# --- isolation --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def owned(server: Server) -> Iterator[dict[str, str]]:
    """One of each kind of thing, by the name of its path parameter."""
    with server.client() as client:
        graph = new_graph(client)
        load(client, graph, *ROWS)
        run = ok(client.post("/invalidations", json={"graphId": graph, **BODY}), 201)
        (evidence,) = [
            row
            for assertion in pages(client, "/memory-assertions", memoryNodeId=node_id(graph, "a"))
            for row in pages(client, "/evidence-references", memoryAssertionId=assertion["memoryAssertionId"])
        ]
        rules = pages(client, "/source-rules", name="returns")
        yield {
            "graphId": graph,
            "memoryNodeId": node_id(graph, "a"),
            "memoryEdgeId": edge_id(graph, "Requires", "a", "b"),
            "memoryAssertionId": evidence["memoryAssertionId"],
            "evidenceReferenceId": evidence["evidenceReferenceId"],
            "sourceRuleId": rules[0]["sourceRuleId"],
            "runId": run["runId"],
            **_waiting(client, graph),
        }


def _waiting(client: httpx.Client, graph: str) -> dict[str, str]:
    """A review, a task, an event and a subscription."""
    doubt = {"graphId": graph, "rootKeys": ["e"], "reason": "who knows", "status": "PotentiallyStale"}
    ok(client.post("/invalidations", json=doubt), 201)
    asking = new_graph(client, revalidationMode="agent")
    load(client, asking, {"kind": "node", "key": "a"})
    ok(client.post("/revalidations", json={"graphId": asking, "wholeGraph": True}), 201)
    hook = ok(client.post("/webhooks", json={"url": "http://127.0.0.1:9/none"}), 201)
    return {
        "reviewId": pages(client, "/reviews")[0]["reviewId"],
        "taskId": pages(client, "/revalidation-tasks")[0]["taskId"],
        "outboxEventId": str(pages(client, "/outbox")[0]["outboxEventId"]),
        "webhookId": hook["webhookId"],
    }


@pytest.mark.parametrize("scope", ["fleet", "tenant"])
def test_others_find_nothing(server: Server, client: httpx.Client, owned: dict[str, str], scope: str) -> None:
    """Every path with an id of ours is 404 to another fleet and to another tenant; so are ids in bodies and queries."""
    stranger = server.client(**{scope: UUID(int=5)})  # type: ignore[arg-type]
    document = client.get("/openapi.json").json()
    before = export(client, owned["graphId"])
    tried = 0
    with stranger as other:
        for template, methods in document["paths"].items():
            if "{" not in template:
                continue
            path = template.format(**owned)
            for method, operation in methods.items():
                arguments = _arguments(document, operation)
                answer = other.request(method.upper(), path, **arguments)
                assert answer.status_code == 404, (method, template, answer.text)
                problem(answer, 404)
                tried += 1
        lists = ("memory-graphs", "source-rules", "invalidations", "revalidations", "reviews", "revalidation-tasks")
        for name in (*lists, "outbox", "webhooks"):
            assert pages(other, f"/{name}") == []
        for query in (
            f"/memory-nodes?graphId={owned['graphId']}",
            f"/memory-edges?sourceNodeId={owned['memoryNodeId']}",
            f"/memory-assertions?memoryNodeId={owned['memoryNodeId']}",
            f"/evidence-references?memoryAssertionId={owned['memoryAssertionId']}",
        ):
            problem(other.get(query), 404)
        problem(other.post("/invalidations", json={"rootNodeIds": [owned["memoryNodeId"]], "reason": "r"}), 404)
        problem(other.post("/revalidations", json={"rootNodeIds": [owned["memoryNodeId"]]}), 404)
        assert ok(other.post("/revalidation-tasks/claim", json={"owner": "eve", "limit": 100}), 201)["items"] == []
    assert tried >= 25
    assert export(client, owned["graphId"]) == before
    assert ok(client.get(f"/source-rules/{owned['sourceRuleId']}"))


def _arguments(document: Json, operation: Json) -> dict[str, Any]:
    """A body and the required parameters, from the examples of the document."""
    arguments: dict[str, Any] = {}
    required = [p for p in operation.get("parameters", []) if p["in"] == "query" and p.get("required")]
    if required:
        arguments["params"] = {parameter["name"]: T for parameter in required}
    content = operation.get("requestBody", {}).get("content", {})
    if NDJSON in content:
        return arguments | {"content": b"", "headers": {"Content-Type": NDJSON}}
    if content:
        name = content["application/json"]["schema"]["$ref"].rpartition("/")[2]
        arguments["json"] = document["components"]["schemas"][name]["examples"][0]
    return arguments


def test_the_same_ids_in_two_fleets(server: Server, client: httpx.Client) -> None:
    """Ids are a fleet's own: the same graph can be in two, and what happens in one is not seen in the other."""
    graph = new_graph(client)
    load(client, graph, *ROWS)
    with server.client(fleet=UUID(int=6)) as other:
        ok(other.post("/memory-graphs", json={"name": "copy", "graphId": graph}), 201)
        load(other, graph, *ROWS)
        ok(other.post("/invalidations", json={"graphId": graph, **BODY}), 201)
        assert statuses(other, graph) == FALLEN
    assert set(statuses(client, graph).values()) == {"Valid"}
