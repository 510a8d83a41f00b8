"""Generated requests against every operation: no failure, no undocumented answer.

Half of the ids that are generated are replaced by those of things that exist, so that requests get beyond 404.
``MEMORY_GRAPH_TEST_EXAMPLES`` says how many requests each operation gets.
"""

import json
import os
from collections.abc import Iterator
from itertools import count, pairwise
from typing import Any
from uuid import UUID
from zlib import crc32

import httpx
import orjson
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.config import SchemathesisConfig

from app.main import create_app
from app.schemas import AssertionLine, EdgeLine, EvidenceLine, NodeLine
from app.schemas.lines import RuleLine
from app.settings import Settings
from tests.acceptance.server import Json, Server, export, load, new_graph, ok, pages, problem

EXAMPLES = int(os.environ.get("MEMORY_GRAPH_TEST_EXAMPLES", "15"))

schema = schemathesis.openapi.from_dict(
    orjson.loads(orjson.dumps(create_app(Settings()).openapi())), config=SchemathesisConfig()
)

SCOPE = {"x-fleet-id", "x-tenant-id"}
NOT_CHECKED: list[Any] = [
    schemathesis.checks.positive_data_acceptance,  # rules between fields cannot be said in a schema: 422 is right
]


@schemathesis.serializer("application/x-ndjson")
def _lines(_: schemathesis.SerializationContext, value: Any) -> bytes:
    return value.encode(errors="replace") if isinstance(value, str) else orjson.dumps(value)


@pytest.fixture(scope="module")
def connection(server: Server) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


@pytest.fixture
def known(connection: httpx.Client) -> dict[str, list[str]]:
    """Ids of things that exist, by the name of the field or parameter that takes them."""
    graph = new_graph(connection)
    keys = [f"k{number}" for number in range(12)]
    load(
        connection,
        graph,
        *({"kind": "node", "key": key, "content": f"{key} is so"} for key in keys),
        *(
            {"kind": "edge", "source": source, "target": target, "edgeType": "SupportedBy"}
            for source, target in pairwise(keys)
        ),
        *({"kind": "evidence", "node": key, "evidenceType": "Document", "reference": "r"} for key in keys),
        {"kind": "rule", "name": "rule", "version": "1"},
    )
    nodes = [node["memoryNodeId"] for node in pages(connection, "/memory-nodes", graphId=graph)]
    edges = [edge["memoryEdgeId"] for edge in pages(connection, "/memory-edges", graphId=graph)]
    assertions = [row["memoryAssertionId"] for row in pages(connection, "/memory-assertions", graphId=graph)]
    evidence = [
        row["evidenceReferenceId"]
        for assertion in assertions
        for row in pages(connection, "/evidence-references", memoryAssertionId=assertion)
    ]
    body = {"rootNodeIds": [nodes[0]], "reason": "r"}
    run = ok(connection.post("/invalidations", json=body), 201)["runId"]
    return {
        "graphId": [graph],
        "memoryNodeId": nodes,
        "sourceNodeId": nodes,
        "targetNodeId": nodes,
        "rootNodeIds": nodes,
        "memoryEdgeId": edges,
        "memoryAssertionId": assertions,
        "evidenceReferenceId": evidence,
        "sourceRuleId": [row["sourceRuleId"] for row in pages(connection, "/source-rules", name="rule")],
        "runId": [run],
    }


def _is_id(value: object) -> bool:
    try:
        return isinstance(value, str) and len(value) == 36 and bool(UUID(value))
    except ValueError:
        return False


def _put_known(values: Any, known: dict[str, list[str]], turn: int) -> None:
    """Replace the ids in ``values``; what is no id was generated to be refused, and stays."""
    if not isinstance(values, dict):
        return
    for name, value in values.items():
        if name not in known:
            continue
        choice = known[name][turn % len(known[name])]
        if _is_id(value):
            values[name] = choice
        elif isinstance(value, list) and value and all(map(_is_id, value)):
            values[name] = [known[name][(turn + i) % len(known[name])] for i in range(min(len(value), 5))]


@schema.exclude(path="/events").parametrize()  # a stream without an end; it has a test of its own
@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
def test_operation(case: schemathesis.Case[Any], server: Server, known: dict[str, list[str]]) -> None:
    turn = crc32(repr((case.path_parameters, case.query, case.body)).encode(errors="replace"))
    if turn % 2:
        for values in (case.path_parameters, case.query, case.body):
            _put_known(values, known, turn // 2)
        if isinstance(case.headers, dict):  # the fleet that has them
            case.headers = type(case.headers)(
                {name: value for name, value in case.headers.items() if name.lower() not in SCOPE or not _is_id(value)}
            )
    case.call_and_validate(base_url=server.url, excluded_checks=NOT_CHECKED)


# --- lines of an import, which the document has as text ---------------------------------------------------------------

IDS = [str(UUID(int=number)) for number in range(6)]
KEYS = [*"abcdeabcde", "\u00e9", "e\u0301", "k" * 256, " ", "|", "a|b"]
TIMES = [
    "2026-01-01T00:00:00Z",
    "2026-01-01T00:00:00.000001Z",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999Z",
    "2026-01-01T02:00:00+02:00",
]
ODD = [None, True, 0, -1, 1, 0.5, 1e-320, 1e308, 2**53, 2**63, 2**70, "", "x", "\u0000", [], {}, [1], {"a": 1}]
VALUES: dict[str, list[Any]] = {
    "key source target node name supportGroup ruleName": KEYS,
    "memoryNodeId sourceNodeId targetNodeId memoryEdgeId memoryAssertionId supersededBy": IDS,
    "evidenceReferenceId sourceRuleId": IDS,
    "invalidSince createdAt effectiveFrom effectiveTo observedAt lastVerifiedAt retractedAt recordedAt": TIMES,
    "effectiveAt expiresAt": TIMES,
    "confidence baseConfidence weight importance": [0, 1, 0.25, 1.0],
    "nodeType category evidenceType ruleVersion version": ["x", "y", "z" * 100],
    "content reference details description pinReason pinnedBy": ["text", "other"],
    "status": ["Valid", "PotentiallyStale", "Invalid"],
    "invalidation": ["Direct", "Derived"],
    "isPinned first": [True, False],
    "minSupport": [1, 2, 1_000_000, 2.0],
    "edgeType": ["Requires", "DerivedFrom", "SupportedBy", "Contradicts", "Supersedes"],
}
FIELDS = {name: values for names, values in VALUES.items() for name in names.split()}
FIELDS_OF = {
    kind: sorted(field.alias or name for name, field in model.model_fields.items() if name != "kind")
    for kind, model in (
        ("node", NodeLine),
        ("edge", EdgeLine),
        ("assertion", AssertionLine),
        ("evidence", EvidenceLine),
        ("rule", RuleLine),
    )
}
ESSENTIAL: dict[str, list[str]] = {
    "node": ["key"],
    "edge": ["source", "target", "edgeType"],
    "assertion": ["node", "content"],
    "evidence": ["node", "evidenceType", "reference"],
    "rule": ["name", "version"],
}


@st.composite
def _line(draw: st.DrawFn) -> Json:
    kind = draw(st.sampled_from(sorted(FIELDS_OF)))
    names = set(ESSENTIAL[kind]) | draw(st.sets(st.sampled_from(FIELDS_OF[kind]), max_size=2))
    row: Json = {"kind": kind}
    for name in sorted(names):
        odd = draw(st.integers(0, 60)) == 0
        row[name] = draw(st.sampled_from(ODD if odd else FIELDS[name]))
    return row


def test_generated_lines(connection: httpx.Client) -> None:
    """Lines are loaded, or the first bad one is named and nothing is kept; loading what came out changes nothing."""
    loaded: list[int] = []
    fleets = count(1)

    @settings(max_examples=EXAMPLES * 20, derandomize=True, deadline=None, database=None)
    @given(st.lists(st.lists(_line(), min_size=1, max_size=6), min_size=1, max_size=3))
    def check(batches: list[list[Json]]) -> None:
        connection.headers["X-Fleet-Id"] = str(UUID(int=next(fleets)))
        graph = new_graph(connection)
        load(connection, graph, *({"kind": "node", "key": key, "content": "c"} for key in KEYS[:5]))
        path = f"/memory-graphs/{graph}/import"
        for rows in batches:
            before = export(connection, graph)
            answer = connection.post(path, content=b"\n".join(map(_dumps, rows)), headers=LINES)
            after = export(connection, graph)
            if answer.status_code == 200:
                again = ok(connection.post(path, content=after, headers=LINES))
                assert not any([*again["added"].values(), *again["changed"].values()])
                assert export(connection, graph) == after
                loaded.append(len(rows))
            else:
                assert 1 <= problem(answer, 422)["line"] <= len(rows)
                assert after == before

    try:
        check()
    finally:
        del connection.headers["X-Fleet-Id"]
    assert len(loaded) > EXAMPLES


LINES = {"Content-Type": "application/x-ndjson"}


def _dumps(row: Json) -> bytes:
    return json.dumps(row).encode()  # orjson has no integers beyond 64 bits
