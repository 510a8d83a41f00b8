"""NDJSON in and out: any order, all or nothing, again and nothing changes, out and in and nothing is lost."""

import gzip
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import BytesIO
from random import Random
from typing import Any
from uuid import UUID, uuid4, uuid5

import orjson
import pytest
from hypothesis import given

from app.domain.errors import BadLine, IdempotencyMismatch, NotFound
from app.schemas import NodePatch
from app.services import assertions, edges, evidence, exchange, nodes
from app.services.export import export_lines
from app.store.ports import Store
from tests.contract.builder import DAY, GraphBuilder, Line, assertion, edge, ndjson, node, rule
from tests.contract.builder import evidence as evidence_line
from tests.contract.cases import examples, lines_of
from tests.contract.engines import Database, Engine
from tests.reference.strategies import Case, cases

HOUR = timedelta(hours=1)


@pytest.fixture(scope="module")
def copies(engine: Engine) -> Iterator[Store]:
    """A second database, for what is exported from the first."""
    database = engine.new_database()
    yield database.store
    database.store.dispose()


def exported(graph: GraphBuilder, as_of: datetime | None = None) -> bytes:
    with export_lines(graph.store, graph.who, graph.graph_id, as_of) as lines:
        return b"".join(lines)


def import_bytes(graph: GraphBuilder, body: bytes, **options: Any) -> dict[str, Any]:
    stored = exchange.import_lines(graph.store, graph.who, graph.graph_id, BytesIO(body), **options)
    answer: dict[str, Any] = orjson.loads(stored.body)
    return answer


def everything(fixed: dict[str, Any]) -> list[Line]:
    """A line of every kind and form whose ids follow from names, with the times that default to now given."""
    at: dict[str, Any] = {"created_at": DAY}
    return [
        rule("returns", "1", effective_at=DAY, expires_at=DAY + HOUR, description="Thirty days."),
        rule("taxes", "1", effective_at=DAY),
        node("a", content="It is.", category="facts", node_type="Fact", name="A", **at),
        node("b", status="Invalid", invalid_since=DAY, invalidation="Direct", **at),
        node("c", status="PotentiallyStale", confidence=0.25, base_confidence=0.5, **at),
        node("d ü\n", is_pinned=True, pinned_by="ana", pin_reason="Checked", **at),
        node("e", status="Invalid", invalid_since=DAY, **at),
        edge("a", "b", **at),
        edge("a", "b", "SupportedBy", support_group="g", min_support=2, weight=0.5, **at),
        edge("a", "b", "SupportedBy", support_group="h", **at),
        edge("b", "c", "Contradicts", effective_from=DAY, effective_to=DAY + HOUR, **at),
        edge("c", "d ü\n", "ObservedFrom", rule_name="returns", rule_version="1", **at),
        edge("d ü\n", "a", "Supersedes", **at),
        assertion("a", "It is said.", importance=0.75, confidence=0.5, category="talk", observed_at=DAY),
        assertion("a", "It is said.", effective_from=DAY, observed_at=DAY),
        assertion("b", "Under a rule.", rule_name="taxes", rule_version="1", observed_at=DAY, **fixed),
        evidence_line("a", "https://example.org/1", details="Page 2", recorded_at=DAY),
    ]


OVER = {"effective_from": DAY, "effective_to": DAY + HOUR, "last_verified_at": DAY, "retracted_at": DAY + HOUR}


# In


def test_lines_come_in_any_order(store: Store, graph: GraphBuilder) -> None:
    lines = everything(OVER)
    graph.load(*lines)
    wanted = exported(graph)

    for seed in range(6):
        other = GraphBuilder(store, graph.who)
        mixed = [line for line in lines if line["kind"] != "rule" or seed % 2]
        Random(seed).shuffle(mixed)
        answer = other.imported(*mixed)
        assert answer["added"] == {"rules": 0, "nodes": 5, "edges": 6, "assertions": 4, "evidence": 1}
        assert exported(other) == wanted


def test_the_answer_counts_what_was_added_and_what_changed(graph: GraphBuilder) -> None:
    lines = everything(OVER)

    first = graph.imported(*lines)
    second = graph.imported(*lines)
    third = graph.imported(node("a", name="Another"), edge("a", "b", weight=0.5), node("new"))

    nothing = {"rules": 0, "nodes": 0, "edges": 0, "assertions": 0, "evidence": 0}
    assert first["added"] == {"rules": 2, "nodes": 5, "edges": 6, "assertions": 4, "evidence": 1}
    assert (first["changed"], second["added"], second["changed"]) == (nothing, nothing, nothing)
    assert (third["added"], third["changed"]) == (nothing | {"nodes": 1}, nothing | {"nodes": 1, "edges": 1})
    assert UUID(first["graphId"]) == graph.graph_id


def test_again_changes_nothing_history_included(graph: GraphBuilder, database: Database) -> None:
    lines = everything(OVER)
    graph.load(*lines)
    rows = database.rows(graph.who)

    graph.load(*lines)

    assert database.rows(graph.who) == rows


def test_a_field_left_out_keeps_what_is_stored(graph: GraphBuilder) -> None:
    graph.load(
        rule("returns", "1", effective_at=DAY),
        node(
            "a", name="A", node_type="Fact", category="facts", confidence=0.25, base_confidence=0.5,
            is_pinned=True, pinned_by="ana", pin_reason="Checked", status="Invalid", invalid_since=DAY,
            invalidation="Direct", created_at=DAY,
        ),
        node("b"),
        edge("a", "b", "SupportedBy", support_group="g", min_support=2, weight=0.5, effective_from=DAY,
             effective_to=DAY + HOUR, rule_name="returns", rule_version="1", created_at=DAY),
        assertion("a", "It is.", category="facts", importance=0.75, confidence=0.5, effective_from=DAY, observed_at=DAY,
                  effective_to=DAY + HOUR, last_verified_at=DAY, rule_name="returns", rule_version="1"),
    )  # fmt: skip
    a = graph.node("a")
    edge_id = graph.edge_id("a", "b", "SupportedBy", "g")
    held = graph.read(lambda view: edges.get(view, edge_id))
    (said,) = graph.read(lambda view: assertions.page(view, graph_id=graph.graph_id, limit=2, cursor=None)).items

    answer = graph.imported(
        node("a"),
        edge("a", "b", "SupportedBy", support_group="g"),
        assertion("a", "It is.", effective_from=DAY),
    )

    assert set(answer["changed"].values()) == {0}
    assert graph.node("a") == a
    assert graph.read(lambda view: edges.get(view, edge_id)) == held

    graph.load(node("a", category="other"), edge("a", "b", "SupportedBy", support_group="g", weight=0.125))
    graph.load(assertion("a", "It is.", effective_from=DAY, confidence=1.0))

    later = graph.node("a")
    assert later == a._replace(category="other", version=2, updated_at=later.updated_at, valid_from=later.valid_from)
    heavier = graph.read(lambda view: edges.get(view, edge_id))
    assert heavier == held._replace(weight=0.125, version=2, valid_from=heavier.valid_from)
    surer = graph.read(lambda view: assertions.get(view, said.memory_assertion_id))
    assert surer == said._replace(confidence=1.0, version=2, valid_from=surer.valid_from)


NODE = {
    "name": "A", "nodeType": "Fact", "category": "facts", "status": "Invalid", "invalidSince": "2024-01-01T00:00:00Z",
    "invalidation": "Direct", "confidence": 0.25, "baseConfidence": 0.5, "isPinned": True, "pinnedBy": "ana",
    "pinReason": "Checked", "content": "It is.",
}  # fmt: skip


@pytest.mark.parametrize("field", NODE)
def test_a_null_counts_as_left_out(graph: GraphBuilder, field: str, database: Database) -> None:
    graph.load(node("a") | NODE)
    rows = database.rows(graph.who)

    graph.load(node("a") | {field: None})

    assert database.rows(graph.who) == rows


def test_a_null_of_an_edge_or_assertion_counts_as_left_out(graph: GraphBuilder, database: Database) -> None:
    graph.load(
        *map(node, "ab"), edge("a", "b", weight=0.5, effective_to=DAY), assertion("a", "It is.", importance=0.75)
    )
    rows = database.rows(graph.who)

    graph.load(
        edge("a", "b") | {"weight": None, "effectiveTo": None, "supportGroup": None, "minSupport": None},
        assertion("a", "It is.") | {"importance": None, "confidence": None, "effectiveFrom": None},
    )

    assert database.rows(graph.who) == rows


def test_a_status_is_loaded_as_given_and_nothing_cascades(graph: GraphBuilder, database: Database) -> None:
    stamp = graph.load(
        *map(node, "bc"), node("a", status="Invalid"), node("d", status="PotentiallyStale"), edge("a", "b")
    )

    assert graph.statuses() == {"a": "Invalid", "d": "PotentiallyStale"}
    # API: "an import of an Invalid node without it means Derived".
    assert (graph.node("a").invalidation, graph.node("a").invalid_since) == ("Derived", stamp)
    assert database.outbox(graph.who) == []

    graph.load(node("a", status="Valid"), node("c", status="Invalid", invalidation="Direct", invalid_since=DAY))
    assert graph.node("a")[6:9] == ("Valid", None, None)
    assert graph.node("c")[6:9] == ("Invalid", DAY, "Direct")


def test_a_node_that_was_made_by_a_call_is_found_by_its_key(graph: GraphBuilder) -> None:
    # Its id is not the one that follows from its key, which the lines are about all the same.
    id_ = uuid4()
    graph.load(node("a", memory_node_id=id_))

    graph.load(node("a", name="A"), node("b"), edge("a", "b"), assertion("a", "It is."))

    (found,) = graph.read(lambda view: nodes.page(view, graph_id=graph.graph_id, key="a", limit=2, cursor=None)).items
    assert (found.memory_node_id, found.name, found.version) == (id_, "A", 2)
    assert graph.read(lambda view: edges.get(view, graph.edge_id("a", "b"))).source_node_id == id_


def test_ends_and_owners_may_be_named_by_id(store: Store, graph: GraphBuilder) -> None:
    other = GraphBuilder(store, graph.who)
    other.load(node("far"))
    nameless = uuid4()
    graph.load(
        node("a"),
        node(None, memory_node_id=nameless, name="Nameless", content="It is."),
        {"kind": "edge", "sourceNodeId": other.id("far"), "target": "a", "edgeType": "Requires"},
        {"kind": "edge", "source": "a", "targetNodeId": nameless, "edgeType": "Requires"},
        {"kind": "assertion", "memoryNodeId": graph.id("a"), "content": "It is."},
    )

    found = graph.read(lambda view: edges.page(view, graph_id=graph.graph_id, limit=9, cursor=None)).items
    assert {row.memory_edge_id for row in found} == {
        uuid5(graph.graph_id, f"Requires|{other.id('far')}|a|"),
        uuid5(graph.graph_id, f"Requires|a|{nameless}|"),
    }
    said = graph.read(lambda view: assertions.page(view, graph_id=graph.graph_id, limit=9, cursor=None)).items
    assert {(row.memory_node_id, row.memory_assertion_id) for row in said} == {
        (nameless, uuid5(graph.graph_id, f"assertion|{nameless}")),
        (graph.id("a"), uuid5(graph.graph_id, "assertion|a||It is.")),
    }


def test_new_content_of_a_node_line_changes_its_first_assertion(graph: GraphBuilder) -> None:
    graph.load(node("a", content="It is."))
    graph.load(node("a", content="It was."))

    (said,) = graph.read(lambda view: assertions.page(view, graph_id=graph.graph_id, limit=9, cursor=None)).items
    assert (said.content, said.version) == ("It was.", 2)


def test_blank_lines_count_and_nothing_is_nothing(graph: GraphBuilder, database: Database) -> None:
    rows = database.rows(graph.who)
    for empty in (b"", b"\n", b"\n  \n\r\n"):
        assert set(import_bytes(graph, empty)["added"].values()) == {0}
    assert database.rows(graph.who) == rows

    with pytest.raises(BadLine) as refused:
        import_bytes(graph, b'\n\n{"kind":"node","key":"a"}\n\n{"kind":"node"}\n')
    assert refused.value.line == 5
    assert import_bytes(graph, b'\r\n{"kind":"node","key":"a"}\r\n')["added"]["nodes"] == 1
    assert import_bytes(graph, b'{"kind":"node","key":"b"}')["added"]["nodes"] == 1  # no newline at the end


def test_progress_hears_of_every_line(graph: GraphBuilder) -> None:
    heard: list[int] = []

    import_bytes(graph, ndjson(*(node(f"n{i}") for i in range(7000))), progress=heard.append)

    assert sum(heard) == 7000
    assert len(heard) > 1


def test_the_same_key_answers_the_same_and_imports_once(graph: GraphBuilder, database: Database) -> None:
    body = ndjson(node("a", status="Invalid"))
    first = import_bytes(graph, body, key="k", fingerprint="f")
    graph.load(node("a", status="Valid"))
    rows = database.rows(graph.who)

    assert import_bytes(graph, body, key="k", fingerprint="f") == first
    with pytest.raises(IdempotencyMismatch):
        import_bytes(graph, ndjson(node("b")), key="k", fingerprint="another")
    assert database.rows(graph.who) == rows


def test_an_unknown_graph_or_another_fleets_is_not_found(store: Store, graph: GraphBuilder) -> None:
    theirs = GraphBuilder(store)
    for graph_id in (uuid4(), theirs.graph_id):
        with pytest.raises(NotFound):
            exchange.import_lines(store, graph.who, graph_id, BytesIO(ndjson(node("a"))))
        with pytest.raises(NotFound), export_lines(store, graph.who, graph_id, None):
            pass
    assert theirs.nodes() == {}


# Faults: the bad line stands third of five, after others of its kind, and nothing is kept.

DEEP = b'{"kind":"node","key":"x","name":' + b"[" * 5000 + b"]" * 5000 + b"}\n"
SOMEBODY = "6f1f3c52-0b5e-5f0e-9d3c-2f6b8f0a4c11"

FAULTS: dict[str, Line | bytes] = {
    "not JSON": b'{"kind":"node",\n',
    "half a line": b'{"kind":"node","key":"x"\n',
    "no object": b"[1, 2]\n",
    "a number": b"7\n",
    "not UTF-8": b'{"kind":"node","key":"\xff"}\n',
    "deeply nested": DEEP,
    "NaN": b'{"kind":"node","key":"x","confidence":NaN}\n',
    "Infinity": b'{"kind":"node","key":"x","confidence":1e999}\n',
    "half a surrogate pair": b'{"kind":"node","key":"\\ud800"}\n',
    "NUL": b'{"kind":"node","key":"x\\u0000"}\n',
    "no kind": {"key": "x"},
    "unknown kind": {"kind": "vertex", "key": "x"},
    "unknown field": node("x", colour="red"),
    "nameless": {"kind": "node", "name": "x"},
    "key too long": node("x" * 257),
    "empty key": node(""),
    "key no text": node("x") | {"key": 7},
    "confidence too high": node("x", confidence=1.5),
    "confidence no number": node("x", confidence="0.5"),
    "bad id": node("x", memory_node_id="7"),
    "unknown status": node("x", status="Stale"),
    "invalidation of a valid node": node("x", invalidation="Direct"),
    "invalid since of a valid node": node("x", invalid_since=DAY),
    "time without offset": node("x", created_at="2024-01-01T00:00:00"),
    "time too fine": node("x", created_at="2024-01-01T00:00:00.0000001Z"),
    "day that does not exist": node("x", created_at="2024-02-30T00:00:00Z"),
    "node twice": node("a"),
    "node twice by id": node(None, memory_node_id="<id of a>", name="x"),
    "key of a node with another id": node("old", memory_node_id=SOMEBODY),
    "id of a node with another key": node("x", memory_node_id="<id of old>"),
    "id of a node in another graph": node("x", memory_node_id="<id of far>"),
    "self-loop": edge("a", "a"),
    "self-loop by id": edge("a", "") | {"targetNodeId": "<id of a>"},
    "unknown source": edge("nobody", "a"),
    "unknown target": edge("a", "nobody"),
    "unknown source by id": edge("", "a", source_node_id=SOMEBODY),
    "source of another fleet": edge("", "a", source_node_id="<id of theirs>"),
    "target in another graph": edge("a", "", target_node_id="<id of far>"),
    "no source": edge("", "a"),
    "two sources": edge("a", "b") | {"sourceNodeId": SOMEBODY},
    "unknown edge type": edge("a", "b", "Likes"),
    "group of a necessary edge": edge("a", "b", support_group="g"),
    "minSupport without group": edge("a", "b", "SupportedBy", min_support=2),
    "minSupport of 0": edge("a", "b", "SupportedBy", support_group="g", min_support=0),
    "reversed interval": edge("a", "b", effective_from=DAY, effective_to=DAY - HOUR),
    "empty interval": edge("a", "b", effective_from=DAY, effective_to=DAY),
    "interval reversed by what is stored": edge("old", "older", effective_to=DAY - HOUR),
    "edge twice": edge("b", "a"),
    "edge id of another edge": edge("a", "b", memory_edge_id="<id of old edge>"),
    "edge under an unknown rule": edge("a", "b", rule_name="returns", rule_version="9"),
    "edge under another fleet's rule": edge("a", "b", source_rule_id="<id of their rule>"),
    "rule name without version": edge("a", "b") | {"ruleName": "returns"},
    "assertion of an unknown node": assertion("nobody", "x"),
    "assertion of a node in another graph": assertion("", "x") | {"node": None, "memoryNodeId": "<id of far>"},
    "assertion without content": {"kind": "assertion", "node": "a"},
    "assertion twice": assertion("a", "It is."),
    "assertion id of another node's": assertion("b", "x", memory_assertion_id="<id of old assertion>"),
    "assertion superseded by nobody's": assertion("a", "x", superseded_by=SOMEBODY),
    "assertion superseded by another fleet's": assertion("a", "x", superseded_by="<id of their assertion>"),
    "assertion under an unknown rule": assertion("a", "x", rule_name="returns", rule_version="9"),
    "assertion interval reversed": assertion("a", "x", effective_from=DAY, effective_to=DAY),
    "evidence for nothing": evidence_line("b", "x"),
    "evidence for an unknown assertion": {
        "kind": "evidence", "memoryAssertionId": SOMEBODY,
        "evidenceType": "Document", "reference": "x",
    },
    "evidence for another fleet's assertion": {
        "kind": "evidence", "memoryAssertionId": "<id of their assertion>",
        "evidenceType": "Document", "reference": "x",
    },
    "evidence twice": evidence_line("a", "one"),
    "rule twice": rule("taxes", "1", effective_at=DAY),
    "rule stored otherwise": rule("returns", "1", effective_at=DAY + HOUR),
    "rule that ends before it begins": rule("new", "1", effective_at=DAY, expires_at=DAY - HOUR),
    "line too long": node("x", content="x" * (1 << 20)),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_names_its_line_and_nothing_is_kept(
    store: Store, graph: GraphBuilder, database: Database, fault: str
) -> None:
    theirs = GraphBuilder(store, graph.who._replace(fleet_id=uuid4()))
    theirs.load(node("theirs", content="Theirs."), rule("theirs", "1", effective_at=DAY))
    far = GraphBuilder(store, graph.who)
    far.load(node("far"))
    graph.load(
        rule("returns", "1", effective_at=DAY),
        *map(node, ["old", "older"]),
        edge("old", "older", effective_from=DAY),
        assertion("old", "It was."),
    )
    names = {
        "<id of a>": graph.id("a"),
        "<id of old>": graph.id("old"),
        "<id of far>": far.id("far"),
        "<id of theirs>": theirs.id("theirs"),
        "<id of old edge>": graph.edge_id("old", "older"),
        "<id of their rule>": uuid5(theirs.who.fleet_id, "rule|theirs|1"),
        "<id of old assertion>": uuid5(graph.graph_id, "assertion|old||It was."),
        "<id of their assertion>": uuid5(theirs.graph_id, "assertion|theirs"),
    }
    bad = FAULTS[fault]
    if isinstance(bad, dict):
        bad = {name: names.get(value, value) if isinstance(value, str) else value for name, value in bad.items()}
    rows = database.rows(graph.who)

    with pytest.raises(BadLine) as refused:
        graph.load(_many_good_lines("a"), _many_good_lines("b"), bad, node("y"), edge("y", "b"))

    assert refused.value.line == _LINES_BEFORE + 1, refused.value.detail
    assert refused.value.detail
    assert database.rows(graph.who) == rows
    graph.load(_many_good_lines("a"), _many_good_lines("b"), node("y"), edge("y", "b"))  # the rest was in order


def test_the_first_of_several_faults_of_a_kind_is_named(graph: GraphBuilder) -> None:
    with pytest.raises(BadLine) as refused:
        graph.load(node("a"), edge("a", "nobody"), edge("nobody", "a"), edge("a", "no one"))
    assert refused.value.line == 2


def test_a_fault_far_into_a_large_import_keeps_nothing(graph: GraphBuilder, database: Database) -> None:
    rows = database.rows(graph.who)
    lines: list[Line | bytes] = [node(f"n{i}") for i in range(12_000)]
    lines[11_000] = b"{broken\n"

    with pytest.raises(BadLine) as refused:
        graph.load(*lines)

    assert refused.value.line == 11_001
    assert database.rows(graph.who) == rows


# Gzip


def test_gzip_is_known_by_its_first_bytes(graph: GraphBuilder) -> None:
    body = gzip.compress(ndjson(*(node(f"n{i}") for i in range(100))))

    assert import_bytes(graph, body)["added"]["nodes"] == 100
    two_members = gzip.compress(ndjson(node("x"))) + gzip.compress(ndjson(node("y")))
    assert import_bytes(graph, two_members)["added"]["nodes"] == 2


@pytest.mark.parametrize("kept", [0.3, 0.9, 0.999])
def test_a_truncated_gzip_is_refused_and_nothing_is_kept(graph: GraphBuilder, database: Database, kept: float) -> None:
    body = gzip.compress(ndjson(*(node(f"n{i}", name=str(uuid4())) for i in range(500))))
    rows = database.rows(graph.who)

    with pytest.raises(BadLine):
        import_bytes(graph, body[: int(len(body) * kept)])

    assert database.rows(graph.who) == rows


@pytest.mark.parametrize("damage", ["middle", "checksum", "tail", "header"])
def test_a_damaged_gzip_is_refused_and_nothing_is_kept(graph: GraphBuilder, database: Database, damage: str) -> None:
    body = bytearray(gzip.compress(ndjson(*(node(f"n{i}", name=str(uuid4())) for i in range(500)))))
    rows = database.rows(graph.who)
    match damage:
        case "middle":
            body[len(body) // 2] ^= 0xFF
        case "checksum":
            body[-8] ^= 0xFF
        case "tail":
            body += b"more that is no gzip"
        case "header":
            body = body[:3]

    with pytest.raises(BadLine):
        import_bytes(graph, bytes(body))

    assert database.rows(graph.who) == rows


# Out and in


def test_import_after_export_is_the_identity(copies: Store, graph: GraphBuilder) -> None:
    """Everything there is, ids that do not follow from names included, into an empty database."""
    graph.load(
        *everything(OVER),
        node("given", memory_node_id=uuid4()),
        node(None, memory_node_id=uuid4(), name="Nameless", content="It is."),
        edge("a", "b", memory_edge_id=uuid4(), effective_to=DAY),
        edge("given", "a"),
        assertion("a", "Older.", memory_assertion_id=uuid4()),
        rule("given", "1", source_rule_id=uuid4(), effective_at=DAY),
        assertion("given", "Under it.", rule_name="given", rule_version="1"),
        {"kind": "evidence", "evidenceType": "Observation", "reference": "y",
         "memoryAssertionId": uuid5(graph.graph_id, "assertion|a||It is said.")},
    )  # fmt: skip
    graph.invalidate("a")
    body = exported(graph)
    assert body.count(b"\n") == 7 + 8 + 5 + 2 + 3  # nodes, edges, other assertions, evidence, rules

    copy = GraphBuilder(copies, graph.who, graph.graph_id)
    import_bytes(copy, body)

    assert exported(copy) == body
    assert import_bytes(copy, body)["changed"] == dict.fromkeys(
        ("rules", "nodes", "edges", "assertions", "evidence"), 0
    )


def test_import_into_another_graph_of_the_fleet_is_the_identity(store: Store, graph: GraphBuilder) -> None:
    graph.load(*everything(OVER))
    graph.invalidate("c")
    body = exported(graph)

    copy = GraphBuilder(store, graph.who)
    import_bytes(copy, body)

    assert exported(copy) == body
    assert set(copy.nodes()) == set(graph.nodes())
    assert copy.id("a") != graph.id("a")


@examples(60)
@given(case=cases())
def test_import_after_export_is_the_identity_whatever_the_graph(database: Database, copies: Store, case: Case) -> None:
    graph = GraphBuilder(database.store)
    graph.load(*lines_of(case))
    body = exported(graph)

    copy = GraphBuilder(copies, graph.who, graph.graph_id)
    import_bytes(copy, body)

    assert exported(copy) == body


def test_an_export_of_the_past_is_what_an_export_was_then(copies: Store, graph: GraphBuilder) -> None:
    # Evidence and rules are not versioned: those of assertions and edges known then are given.
    stamp = graph.load(*everything(OVER))
    body = exported(graph)

    graph.invalidate("a")
    graph.load(node("later"), edge("later", "a"), assertion("a", "It is said.", importance=0.1), node("b", name="B"))
    graph.write(lambda uow: nodes.update(uow, graph.id("c"), NodePatch(name="C"), None))
    graph.write(lambda uow: edges.delete(uow, graph.edge_id("a", "b"), None))
    graph.write(lambda uow: nodes.delete(uow, graph.id("d ü\n"), None))

    assert exported(graph, stamp) == body
    copy = GraphBuilder(copies, graph.who, graph.graph_id)
    import_bytes(copy, exported(graph, stamp))
    assert exported(copy) == body


def test_an_export_shows_nothing_of_others(graph: GraphBuilder, stranger: GraphBuilder, store: Store) -> None:
    graph.load(node("a"))
    stranger.load(node("a", content="Theirs."), node("theirs"), edge("a", "theirs"), evidence_line("a", "x"))
    GraphBuilder(store, graph.who).load(node("elsewhere"))

    lines = exported(graph).splitlines()

    assert [orjson.loads(line)["key"] for line in lines] == ["a"]


def test_an_empty_graph_exports_no_line(graph: GraphBuilder) -> None:
    assert exported(graph) == b""
    assert exported(graph, datetime(2000, 1, 1, tzinfo=UTC)) == b""


def test_evidence_can_be_read_after_an_import(graph: GraphBuilder) -> None:
    graph.load(node("a", content="It is."), evidence_line("a", "x"))
    first = uuid5(graph.graph_id, "assertion|a")

    (found,) = graph.read(lambda view: evidence.page(view, memory_assertion_id=first, limit=2, cursor=None)).items

    assert (found.reference, found.evidence_type, found.graph_id) == ("x", "Document", graph.graph_id)


def _many_good_lines(key: str) -> bytes:
    """Lines of every kind about one node."""
    if key == "a":
        return ndjson(
            node("a", content="Content."), assertion("a", "It is."), evidence_line("a", "one"),
            rule("taxes", "1", effective_at=DAY),
        )  # fmt: skip
    return ndjson(node("b"), edge("b", "a"))


_LINES_BEFORE = 4 + 2
