"""Graphs, nodes, edges, assertions, evidence and rules, call by call."""

import base64
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID, uuid4, uuid5

import pytest

from app.domain.errors import Conflict, Invalid, NotFound, VersionMismatch
from app.domain.models import MemoryAssertion, Page
from app.schemas import (
    AssertionPatch,
    EdgePatch,
    GraphPatch,
    NewAssertion,
    NewEdge,
    NewEvidence,
    NewGraph,
    NewNode,
    NewRule,
    NodePatch,
)
from app.services import (
    assertions,
    cursors,
    edges,
    evidence,
    graphs,
    invalidate,
    nodes,
    rules,
    runs,
    snapshot,
    staleness,
)
from app.store.ports import Store
from app.store.unit import UnitOfWork, View
from tests.contract.builder import DAY, GraphBuilder, assertion, edge, node, rule
from tests.contract.conftest import NewDatabase
from tests.contract.engines import Database

HOUR = timedelta(hours=1)


def new_node(graph: GraphBuilder, **fields: Any) -> Any:
    return graph.write(lambda uow: nodes.create(uow, NewNode(graph_id=graph.graph_id, **fields)))


def new_edge(graph: GraphBuilder, source: str, target: str, edge_type: Any = "Requires", **fields: Any) -> Any:
    body = NewEdge(graph_id=graph.graph_id, source=source, target=target, edge_type=edge_type, **fields)
    return graph.write(lambda uow: edges.create(uow, body))[0]


def new_assertion(graph: GraphBuilder, of: str, content: str, **fields: Any) -> MemoryAssertion:
    body = NewAssertion(graph_id=graph.graph_id, node=of, content=content, **fields)
    return graph.write(lambda uow: assertions.create(uow, body))


def new_rule(graph: GraphBuilder, name: str, version: str, **fields: Any) -> Any:
    return graph.write(lambda uow: rules.create(uow, NewRule(name=name, version=version, **fields)))[0]


def every_page(fetch: Callable[[int, str | None], Page[Any]], limit: int) -> list[Any]:
    """Page by page to the end; every page but the last one is full."""
    found: list[Any] = []
    cursor = None
    while True:
        page = fetch(limit, cursor)
        found += page.items
        if page.next_cursor is None:
            assert len(page.items) <= limit
            return found
        assert len(page.items) == limit
        cursor = page.next_cursor


# Graphs


def test_a_graph_is_made_read_and_changed(store: Store) -> None:
    graph = GraphBuilder(store, policy="strict", propagation="transitive", revalidation_mode="agent")

    made = graph.read(lambda view: graphs.get(view, graph.graph_id))
    assert made[:5] == (graph.graph_id, "graph", "agent", "strict", "transitive")

    graph.write(lambda uow: graphs.update(uow, graph.graph_id, GraphPatch(name="Other", policy="evidential")))
    assert graph.read(lambda view: graphs.get(view, graph.graph_id)) == made._replace(name="Other", policy="evidential")


def test_a_graph_has_the_defaults_of_the_semantics(graph: GraphBuilder) -> None:
    made = graph.read(lambda view: graphs.get(view, graph.graph_id))

    assert made[2:5] == ("automatic", "evidential", "frontier")


def test_a_graph_id_is_taken_once_in_a_fleet(graph: GraphBuilder, stranger: GraphBuilder) -> None:
    assert stranger.graph_id == graph.graph_id  # which is no conflict: another fleet

    with pytest.raises(Conflict):
        graph.write(lambda uow: graphs.create(uow, NewGraph(name="again", graph_id=graph.graph_id)))


def test_a_change_of_one_fleets_graph_leaves_the_others(graph: GraphBuilder, stranger: GraphBuilder) -> None:
    graph.write(lambda uow: graphs.update(uow, graph.graph_id, GraphPatch(name="Ours")))

    assert stranger.read(lambda view: graphs.get(view, graph.graph_id)).name == "graph"


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 100])
def test_pages_of_graphs_show_each_once_in_order(store: Store, graph: GraphBuilder, limit: int) -> None:
    GraphBuilder(store)  # of another fleet
    ids = [graph.graph_id, *(GraphBuilder(store, graph.who).graph_id for _ in range(4))]

    found = every_page(lambda size, cursor: graph.read(lambda view: graphs.page(view, size, cursor)), limit)

    assert [row.graph_id for row in found] == sorted(ids)


# Nodes


def test_a_node_takes_its_id_and_name_from_its_key(graph: GraphBuilder) -> None:
    made = new_node(graph, key="libc6")

    assert made.memory_node_id == uuid5(graph.graph_id, "libc6")
    assert (made.name, made.status, made.confidence, made.base_confidence) == ("libc6", "Valid", 1.0, 1.0)
    assert (made.version, made.valid_to) == (1, None)
    assert made.created_at == made.updated_at == made.valid_from
    assert graph.node("libc6") == made


def test_a_node_without_key_gets_an_id_of_its_own(graph: GraphBuilder) -> None:
    first, second = new_node(graph, name="Nameless"), new_node(graph, name="Nameless")

    assert first.memory_node_id != second.memory_node_id
    assert (first.key, first.name) == (None, "Nameless")


def test_a_base_confidence_stands_for_a_confidence_left_out_and_the_other_way(graph: GraphBuilder) -> None:
    assert new_node(graph, key="a", base_confidence=0.5).confidence == 0.5
    assert new_node(graph, key="b", confidence=0.25).base_confidence == 0.25
    assert new_node(graph, key="c", confidence=0.0)[9:11] == (0.0, 0.0)


def test_the_content_of_a_node_is_its_first_assertion(graph: GraphBuilder) -> None:
    made = new_node(graph, key="a", content="It is.", category="facts")

    (first,) = _assertions(graph, "a")
    assert first.memory_assertion_id == uuid5(graph.graph_id, "assertion|a")
    assert (first.content, first.category, first.observed_at) == ("It is.", "facts", made.created_at)
    assert (first.importance, first.confidence) == (0.5, 1.0)


# Keys are compared byte for byte: nothing is trimmed, folded or composed.
KEYS = ["a", "A", "a ", " a", "ä", "a\u0308", "Ａ", "ß", "ss", "a\n", "x" * 256, "😀", "%", "_", "'"]


def test_keys_are_compared_byte_for_byte(graph: GraphBuilder) -> None:
    ids = {key: new_node(graph, key=key).memory_node_id for key in KEYS}

    assert len(set(ids.values())) == len(KEYS)
    for key in KEYS:
        (found,) = graph.read(
            lambda view, key=key: nodes.page(view, graph_id=graph.graph_id, key=key, limit=10, cursor=None)
        ).items
        assert (found.key, found.memory_node_id) == (key, ids[key])
    report = graph.invalidate("A", "ä")
    assert {impact.key for impact in report.impacts.items} == {"A", "ä"}
    with pytest.raises(Conflict):
        new_node(graph, key="a")


def test_a_key_or_id_is_taken_once(store: Store, graph: GraphBuilder) -> None:
    made = new_node(graph, key="a")
    other = GraphBuilder(store, graph.who)

    with pytest.raises(Conflict):
        new_node(graph, key="a", memory_node_id=uuid4())
    with pytest.raises(Conflict):
        new_node(graph, key="b", memory_node_id=made.memory_node_id)
    with pytest.raises(Conflict):
        new_node(other, key="b", memory_node_id=made.memory_node_id)
    assert new_node(other, key="a").memory_node_id != made.memory_node_id


def test_a_node_is_changed_field_by_field(graph: GraphBuilder) -> None:
    before = new_node(graph, key="a", name="A", node_type="Fact", category="libs")

    after = graph.write(lambda uow: nodes.update(uow, graph.id("a"), NodePatch(name="B", category=None), None))

    assert after == graph.node("a")
    assert after == before._replace(
        name="B", category=None, updated_at=after.valid_from, valid_from=after.valid_from, version=2
    )
    assert after.valid_from > before.valid_from


def test_if_match_lets_the_version_read_through_and_no_other(graph: GraphBuilder, database: Database) -> None:
    graph.load(*map(node, "ab"), edge("a", "b"), assertion("a", "It is."))
    a, a_to_b = graph.id("a"), graph.edge_id("a", "b")
    (stated,) = (row.memory_assertion_id for row in _assertions(graph, "a"))
    graph.write(lambda uow: nodes.update(uow, a, NodePatch(name="A"), 1))
    graph.write(lambda uow: edges.update(uow, a_to_b, EdgePatch(weight=0.5), 1))
    graph.write(lambda uow: assertions.update(uow, stated, AssertionPatch(importance=0.9), 1))
    rows = database.rows(graph.who)

    for stale in (0, 1, 3):
        calls: list[Callable[[UnitOfWork], object]] = [
            lambda uow, stale=stale: nodes.update(uow, a, NodePatch(name="B"), stale),
            lambda uow, stale=stale: nodes.delete(uow, a, stale),
            lambda uow, stale=stale: edges.update(uow, a_to_b, EdgePatch(weight=0.1), stale),
            lambda uow, stale=stale: edges.delete(uow, a_to_b, stale),
            lambda uow, stale=stale: assertions.update(uow, stated, AssertionPatch(importance=0.1), stale),
            lambda uow, stale=stale: assertions.delete(uow, stated, stale),
        ]
        for call in calls:
            with pytest.raises(VersionMismatch):
                graph.write(call)
    assert database.rows(graph.who) == rows

    graph.write(lambda uow: assertions.delete(uow, stated, 2))
    graph.write(lambda uow: edges.delete(uow, a_to_b, 2))
    graph.write(lambda uow: nodes.delete(uow, a, 2))
    assert set(graph.nodes()) == {"b"}


def test_pins_say_who_and_why_and_their_removal_is_an_event(graph: GraphBuilder, database: Database) -> None:
    graph.load(node("a"))
    pin = NodePatch(is_pinned=True, pinned_by="ana", pin_reason="Checked")
    pinned = graph.write(lambda uow: nodes.update(uow, graph.id("a"), pin, None))
    assert (pinned.is_pinned, pinned.pinned_by, pinned.pin_reason) == (True, "ana", "Checked")
    assert database.outbox(graph.who) == []

    unpin = NodePatch(is_pinned=False, pinned_by="bo")
    freed = graph.write(lambda uow: nodes.update(uow, graph.id("a"), unpin, None))

    assert (freed.is_pinned, freed.pinned_by) == (False, "bo")
    assert database.outbox(graph.who) == [("NodeUnpinned", graph.id("a"))]
    graph.write(lambda uow: nodes.update(uow, graph.id("a"), unpin, None))  # nothing is taken away twice
    assert database.outbox(graph.who) == [("NodeUnpinned", graph.id("a"))]


def test_a_new_base_confidence_is_an_event(graph: GraphBuilder, database: Database) -> None:
    graph.load(node("a", base_confidence=0.5))
    for value in (0.5, 0.75):
        body = NodePatch(base_confidence=value)
        graph.write(lambda uow, body=body: nodes.update(uow, graph.id("a"), body, None))

    assert graph.node("a").base_confidence == 0.75
    assert database.outbox(graph.who) == [("BaseConfidenceChanged", graph.id("a"))]


def test_a_deleted_node_takes_its_edges_and_assertions_along(
    graph: GraphBuilder, stranger: GraphBuilder, database: Database
) -> None:
    lines = [*map(node, "abcd"), edge("a", "b"), edge("b", "c"), edge("c", "d"), assertion("b", "It is.")]
    graph.load(*lines)
    stranger.load(*lines)
    theirs = database.rows(stranger.who)

    graph.write(lambda uow: nodes.delete(uow, graph.id("b"), None))

    assert set(graph.nodes()) == {"a", "c", "d"}
    found = graph.read(lambda view: edges.page(view, graph_id=graph.graph_id, limit=10, cursor=None)).items
    assert [row.memory_edge_id for row in found] == [graph.edge_id("c", "d")]
    left = graph.read(lambda view: assertions.page(view, graph_id=graph.graph_id, limit=10, cursor=None))
    assert left.items == []
    # c has lost a ground and is to be looked at; so is the other end of every edge that went.
    assert ("EdgeRemoved", graph.id("c")) in database.outbox(graph.who)
    assert {event for event, _ in database.outbox(graph.who)} == {"EdgeRemoved"}
    with pytest.raises(NotFound):
        graph.write(lambda uow: nodes.delete(uow, graph.id("b"), None))
    assert database.rows(stranger.who) == theirs


@pytest.mark.parametrize("limit", [1, 3, 7, 8, 100])
def test_pages_of_nodes_show_each_once_in_order(graph: GraphBuilder, stranger: GraphBuilder, limit: int) -> None:
    keys = [f"n{i}" for i in range(7)]
    graph.load(*(node(key, status="Invalid" if key < "n3" else "Valid") for key in keys))
    stranger.load(*(node(f"n{i}", status="Invalid") for i in range(9)))

    def fetch(size: int, cursor: str | None, **filters: Any) -> Page[Any]:
        return graph.read(lambda view: nodes.page(view, graph_id=graph.graph_id, limit=size, cursor=cursor, **filters))

    found = every_page(fetch, limit)
    assert [row.memory_node_id for row in found] == sorted(map(graph.id, keys))
    fallen = every_page(lambda size, cursor: fetch(size, cursor, status="Invalid"), limit)
    assert {row.key for row in fallen} == {"n0", "n1", "n2"}
    assert fetch(limit, None, key="n9").items == []
    assert fetch(limit, None, key="n4", status="Invalid").items == []


def test_a_page_neither_repeats_nor_skips_while_rows_come_and_go(graph: GraphBuilder) -> None:
    keys = [f"n{i}" for i in range(10)]
    graph.load(*map(node, keys))
    in_order = sorted(keys, key=graph.id)
    first = graph.read(lambda view: nodes.page(view, graph_id=graph.graph_id, limit=4, cursor=None))

    # The last row of the first page goes, and one comes that would have stood on it.
    graph.write(lambda uow: nodes.delete(uow, graph.id(in_order[3]), None))
    graph.load(node("early", memory_node_id=UUID(int=1)))

    rest = graph.read(lambda view: nodes.page(view, graph_id=graph.graph_id, limit=100, cursor=first.next_cursor))
    assert [row.key for row in first.items + rest.items] == in_order


def test_the_history_of_a_node_pages_oldest_first(graph: GraphBuilder) -> None:
    for number in range(5):
        graph.load(node("a", name=f"version {number}"))

    def fetch(size: int, cursor: str | None) -> Page[Any]:
        return graph.read(lambda view: nodes.history(view, graph.id("a"), size, cursor))

    for limit in (1, 2, 5, 9):
        found = every_page(fetch, limit)
        assert [row.name for row in found] == [f"version {number}" for number in range(5)]
        assert [row.version for row in found] == [1, 2, 3, 4, 5]
        assert [row.valid_to for row in found] == [*(row.valid_from for row in found[1:]), None]


# Edges


def test_an_edge_takes_its_id_from_what_it_joins(graph: GraphBuilder) -> None:
    graph.load(*map(node, "ab"))

    plain = new_edge(graph, "a", "b")
    grouped = new_edge(graph, "a", "b", "SupportedBy", support_group="g", min_support=2, weight=0.5)

    assert plain.memory_edge_id == uuid5(graph.graph_id, "Requires|a|b|")
    assert grouped.memory_edge_id == uuid5(graph.graph_id, "SupportedBy|a|b|g")
    assert (plain.min_support, plain.weight, plain.support_group) == (1, 1.0, None)
    assert (grouped.min_support, grouped.weight, grouped.support_group) == (2, 0.5, "g")
    with pytest.raises(Conflict):
        new_edge(graph, "a", "b")
    # One that differs in time only needs an id of its own.
    id_ = uuid4()
    assert new_edge(graph, "a", "b", memory_edge_id=id_, effective_to=DAY).memory_edge_id == id_


def test_an_edge_of_ids_has_the_id_that_keys_would_give_it(graph: GraphBuilder) -> None:
    graph.load(*map(node, "ab"))
    body = NewEdge(source_node_id=graph.id("a"), target_node_id=graph.id("b"), edge_type="Requires")

    made, report = graph.write(lambda uow: edges.create(uow, body))

    assert (made.memory_edge_id, made.graph_id, report) == (graph.edge_id("a", "b"), graph.graph_id, None)


def test_an_edge_belongs_to_the_graph_of_its_target(store: Store, graph: GraphBuilder) -> None:
    other = GraphBuilder(store, graph.who)
    graph.load(node("a"))
    other.load(node("b"))

    def create(**fields: Any) -> Any:
        body = NewEdge(target_node_id=other.id("b"), source_node_id=graph.id("a"), edge_type="Requires", **fields)
        return graph.write(lambda uow: edges.create(uow, body))[0]

    with pytest.raises(Invalid) as refused:
        create(graph_id=graph.graph_id)
    assert refused.value.pointer == "/graphId"
    made = create()
    assert made.graph_id == other.graph_id
    assert made.memory_edge_id == uuid5(other.graph_id, f"Requires|{graph.id('a')}|b|")
    assert graph.read(lambda view: edges.page(view, graph_id=graph.graph_id, limit=9, cursor=None)).items == []
    out = graph.read(lambda view: edges.page(view, source_node_id=graph.id("a"), limit=9, cursor=None))
    assert out.items == [made]


def test_what_an_edge_may_not_be(graph: GraphBuilder) -> None:
    graph.load(*map(node, "ab"), edge("a", "b", effective_from=DAY), edge("a", "b", "SupportedBy", support_group="g"))
    necessary = graph.edge_id("a", "b")
    grouped = graph.edge_id("a", "b", "SupportedBy", "g")
    by_key_and_id = NewEdge(graph_id=graph.graph_id, source="a", target_node_id=graph.id("a"), edge_type="Requires")

    with pytest.raises(Invalid) as refused:
        graph.write(lambda uow: edges.create(uow, by_key_and_id))
    assert refused.value.pointer == "/target"
    for patch, edge_id, pointer in [
        (EdgePatch(support_group="g"), necessary, "/supportGroup"),
        (EdgePatch(min_support=2), necessary, "/minSupport"),
        (EdgePatch(effective_to=DAY), necessary, "/effectiveTo"),
        (EdgePatch(effective_to=DAY - HOUR), necessary, "/effectiveTo"),
        (EdgePatch(support_group=None, min_support=2), grouped, "/minSupport"),
    ]:
        with pytest.raises(Invalid) as refused:
            graph.write(lambda uow, patch=patch, edge_id=edge_id: edges.update(uow, edge_id, patch, None))
        assert refused.value.pointer == pointer
    for unknown in (EdgePatch(source_rule_id=uuid4()),):
        with pytest.raises(NotFound):
            graph.write(lambda uow, patch=unknown: edges.update(uow, necessary, patch, None))


def test_an_edge_is_changed_field_by_field(graph: GraphBuilder) -> None:
    graph.load(
        *map(node, "ab"),
        edge("a", "b", "SupportedBy", support_group="g", min_support=2, weight=0.5, effective_from=DAY),
    )
    edge_id = graph.edge_id("a", "b", "SupportedBy", "g")
    before = graph.read(lambda view: edges.get(view, edge_id))

    ended = graph.write(lambda uow: edges.update(uow, edge_id, EdgePatch(effective_to=DAY + HOUR), 1))
    assert ended == before._replace(effective_to=DAY + HOUR, valid_from=ended.valid_from, version=2)

    plain = graph.write(lambda uow: edges.update(uow, edge_id, EdgePatch(support_group=None), 2))
    assert (plain.support_group, plain.min_support, plain.effective_from) == (None, 1, DAY)


def test_every_change_of_an_edge_is_an_event_for_its_target(graph: GraphBuilder, database: Database) -> None:
    graph.load(*map(node, "ab"))
    assert database.outbox(graph.who) == []

    made = new_edge(graph, "a", "b")
    graph.write(lambda uow: edges.update(uow, made.memory_edge_id, EdgePatch(weight=0.5), None))
    graph.write(lambda uow: edges.delete(uow, made.memory_edge_id, None))

    assert database.outbox(graph.who) == [(kind, graph.id("b")) for kind in ("EdgeAdded", "EdgeChanged", "EdgeRemoved")]


@pytest.mark.parametrize("limit", [1, 2, 5, 100])
def test_pages_of_edges_show_each_once_in_order(graph: GraphBuilder, stranger: GraphBuilder, limit: int) -> None:
    for each in (graph, stranger):
        each.load(*map(node, "abcde"), *(edge(a, b) for a in "abc" for b in "cde" if a != b))
    stranger.load(edge("d", "e"), edge("a", "b"))

    def fetch(size: int, cursor: str | None, **filters: Any) -> Page[Any]:
        return graph.read(lambda view: edges.page(view, limit=size, cursor=cursor, **filters))

    def ids(**filters: Any) -> list[UUID]:
        found = every_page(lambda size, cursor: fetch(size, cursor, **filters), limit)
        return [row.memory_edge_id for row in found]

    a, c, of = graph.id("a"), graph.id("c"), graph.edge_id
    every = {(s, t): of(s, t) for s in "abc" for t in "cde" if s != t}
    assert ids(graph_id=graph.graph_id) == sorted(every.values())
    assert ids(source_node_id=a) == sorted(of("a", t) for t in "cde")
    assert ids(target_node_id=c) == sorted(of(s, "c") for s in "ab")
    assert ids(source_node_id=a, target_node_id=c) == [of("a", "c")]
    assert ids(graph_id=graph.graph_id, source_node_id=a) == sorted(of("a", t) for t in "cde")
    with pytest.raises(Invalid):
        fetch(limit, None)


# Edges of type Supersedes


def test_a_supersedes_edge_invalidates_its_target_and_cascades(graph: GraphBuilder, database: Database) -> None:
    # new replaces old; user requires old. old falls, derived: its ground is gone, not its word; user with it.
    graph.load(*map(node, ["old", "new", "user"]), edge("old", "user"))
    body = NewEdge(graph_id=graph.graph_id, source="new", target="old", edge_type="Supersedes", effective_from=DAY)

    made, report = graph.write(lambda uow: edges.create(uow, body))

    assert report is not None
    assert report.by_outcome == {"Invalidated": 2}
    assert report.root_node_ids == [graph.id("old")]
    assert graph.statuses() == {"old": "Invalid", "user": "Invalid"}
    assert (graph.node("old").invalidation, graph.node("old").invalid_since) == ("Derived", DAY)
    assert report.run.effective_time == DAY
    assert report.run.committed_at == made.valid_from
    assert database.outbox(graph.who) == [
        ("EdgeAdded", graph.id("old")),
        ("InvalidationCompleted", report.run.run_id),
    ]


def test_a_replacement_does_not_rest_on_what_it_replaces(graph: GraphBuilder, stranger: GraphBuilder) -> None:
    # new is derived from old, and requires it; base supports new as well. Both edges from old end at that time.
    lines = [
        *map(node, ["old", "new", "base"]),
        edge("old", "new", "DerivedFrom"),
        edge("old", "new"),
        edge("base", "new"),
    ]
    graph.load(*lines)
    stranger.load(*lines)

    new_edge(graph, "new", "old", "Supersedes", effective_from=DAY)

    def ends(of: GraphBuilder) -> dict[UUID, datetime | None]:
        found = of.read(lambda view: edges.page(view, target_node_id=of.id("new"), limit=9, cursor=None))
        return {row.memory_edge_id: row.effective_to for row in found.items}

    assert ends(graph) == {
        graph.edge_id("old", "new", "DerivedFrom"): DAY,
        graph.edge_id("old", "new"): DAY,
        graph.edge_id("base", "new"): None,
    }
    assert graph.statuses() == {"old": "Invalid"}
    assert set(ends(stranger).values()) == {None}


def test_a_source_that_does_not_stand_replaces_nothing(graph: GraphBuilder) -> None:
    graph.load(node("old"), node("new", status="Invalid"))

    body = NewEdge(graph_id=graph.graph_id, source="new", target="old", edge_type="Supersedes")
    _, report = graph.write(lambda uow: edges.create(uow, body))

    assert report is None
    assert graph.node("old").status == "Valid"


def test_a_source_in_doubt_stands_and_so_does_one_that_was_itself_superseded(graph: GraphBuilder) -> None:
    graph.load(*map(node, ["v1", "v2", "v3"]), node("w1"), node("w2", status="PotentiallyStale"))

    new_edge(graph, "w2", "w1", "Supersedes")
    assert graph.statuses() == {"w1": "Invalid", "w2": "PotentiallyStale"}

    new_edge(graph, "v3", "v2", "Supersedes")
    assert graph.node("v2").status == "Invalid"
    new_edge(graph, "v2", "v1", "Supersedes")
    assert graph.node("v1").status == "Invalid"


def test_a_replacement_inside_a_circle_does_not_count(graph: GraphBuilder) -> None:
    # old → between → new, and new supersedes old: a strongly connected component, so the edge does not count.
    graph.load(*map(node, ["old", "between", "new"]), edge("old", "between"), edge("between", "new"))

    new_edge(graph, "new", "old", "Supersedes")

    assert graph.statuses() == {}


def test_a_direct_support_ends_and_so_closes_no_circle(graph: GraphBuilder) -> None:
    graph.load(*map(node, ["old", "new"]), edge("old", "new"))

    new_edge(graph, "new", "old", "Supersedes")

    assert graph.statuses() == {"old": "Invalid"}


def test_two_nodes_that_supersede_each_other_are_a_circle(graph: GraphBuilder) -> None:
    graph.load(*map(node, ["one", "other"]))
    new_edge(graph, "one", "other", "Supersedes")
    assert graph.statuses() == {"other": "Invalid"}

    # `other` is superseded, so it stands; yet each would replace the other, and the second edge does not count.
    new_edge(graph, "other", "one", "Supersedes")
    assert graph.statuses() == {"other": "Invalid"}


def test_a_replacement_that_is_over_or_yet_to_come_invalidates_nothing_now(graph: GraphBuilder) -> None:
    graph.load(*map(node, ["old", "new"]))
    tomorrow = datetime.now(UTC) + 24 * HOUR

    new_edge(graph, "new", "old", "Supersedes", effective_to=DAY)
    new_edge(graph, "new", "old", "Supersedes", memory_edge_id=uuid4(), effective_from=tomorrow)

    assert graph.statuses() == {}


def test_when_the_replacement_falls_the_replaced_is_to_be_examined_again(graph: GraphBuilder) -> None:
    graph.load(*map(node, ["old", "new"]))
    new_edge(graph, "new", "old", "Supersedes")

    report = graph.invalidate("new")

    assert {i.key: i.outcome for i in report.impacts.items} == {"new": "Invalidated", "old": "Reexamine"}
    old = graph.node("old")
    assert (old.status, old.invalidation, old.invalid_since) == ("PotentiallyStale", None, None)


# Assertions and evidence


def test_an_assertion_is_made_read_and_changed(graph: GraphBuilder) -> None:
    graph.load(node("a"))
    made = new_assertion(graph, "a", "It is.", importance=0.75, effective_from=DAY)

    assert made.memory_node_id == graph.id("a")
    assert (made.importance, made.confidence, made.effective_from, made.effective_to) == (0.75, 1.0, DAY, None)
    assert made.observed_at == made.valid_from
    patch = AssertionPatch(effective_to=DAY + HOUR, category="facts")
    after = graph.write(lambda uow: assertions.update(uow, made.memory_assertion_id, patch, 1))
    assert after == made._replace(effective_to=DAY + HOUR, category="facts", valid_from=after.valid_from, version=2)
    with pytest.raises(Invalid) as refused:
        graph.write(
            lambda uow: assertions.update(uow, made.memory_assertion_id, AssertionPatch(effective_to=DAY), None)
        )
    assert refused.value.pointer == "/effectiveTo"


def test_an_assertion_is_stated_once_and_refers_to_what_is_known(graph: GraphBuilder) -> None:
    graph.load(node("a"), rule("policy", "1", effective_at=DAY))
    first = new_assertion(graph, "a", "It is.")

    with pytest.raises(Conflict):
        new_assertion(graph, "a", "It is.")
    with pytest.raises(NotFound):
        new_assertion(graph, "a", "It was.", superseded_by=uuid4())
    with pytest.raises(NotFound):
        new_assertion(graph, "a", "It was.", rule_name="policy", rule_version="2")
    with pytest.raises(NotFound):
        new_assertion(graph, "b", "It was.")
    was = new_assertion(
        graph, "a", "It was.", superseded_by=first.memory_assertion_id, rule_name="policy", rule_version="1"
    )
    assert was.superseded_by == first.memory_assertion_id
    assert was.source_rule_id == uuid5(graph.who.fleet_id, "rule|policy|1")


@pytest.mark.parametrize("what", ["node", "assertion"])
def test_a_commit_that_is_refused_leaves_the_store_in_order(new_database: NewDatabase, what: str) -> None:
    # The assertion of `new` is named as the superseder of another one, which a store may find out as late as in the
    # commit. Whether it is refused or the reference goes: the next writers must not notice.
    database = new_database()
    graph = GraphBuilder(database.store)
    id_ = uuid4()
    graph.load(
        node("old"),
        node("new"),
        assertion("new", "It is.", memory_assertion_id=id_),
        assertion("old", "It was.", superseded_by=id_),
    )
    rows = database.rows(graph.who)

    def delete(uow: UnitOfWork) -> None:
        if what == "node":
            nodes.delete(uow, graph.id("new"), None)
        else:
            assertions.delete(uow, id_, None)

    try:
        graph.write(delete)
    except Conflict:
        assert database.rows(graph.who) == rows

    for number in range(6):  # more than there are connections for writers
        graph.load(node(f"n{number}"))
    assert {f"n{number}" for number in range(6)} <= set(graph.nodes())


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_pages_of_assertions_show_each_once_in_order(graph: GraphBuilder, stranger: GraphBuilder, limit: int) -> None:
    for each in (graph, stranger):
        each.load(node("a"), node("b"), *(assertion("a", f"{i}") for i in range(4)), assertion("b", "b"))
    stranger.load(assertion("a", "theirs"))

    def fetch(size: int, cursor: str | None, **filters: Any) -> Page[Any]:
        return graph.read(lambda view: assertions.page(view, limit=size, cursor=cursor, **filters))

    by_node = every_page(lambda size, cursor: fetch(size, cursor, memory_node_id=graph.id("a")), limit)
    by_graph = every_page(lambda size, cursor: fetch(size, cursor, graph_id=graph.graph_id), limit)

    assert {row.content for row in by_node} == {"0", "1", "2", "3"}
    assert {row.content for row in by_graph} == {"0", "1", "2", "3", "b"}
    for found in (by_node, by_graph):
        ids = [row.memory_assertion_id for row in found]
        assert ids == sorted(set(ids))
    with pytest.raises(Invalid):
        fetch(limit, None)


def test_evidence_is_for_an_assertion_and_goes_with_it(graph: GraphBuilder) -> None:
    new_node(graph, key="a", content="It is.")

    def create(reference: str, **fields: Any) -> Any:
        body = NewEvidence(evidence_type="Document", reference=reference, **fields)
        return graph.write(lambda uow: evidence.create(uow, body))

    first_id = uuid5(graph.graph_id, "assertion|a")
    by_node = create("one", graph_id=graph.graph_id, node="a")
    by_id = create("two", memory_assertion_id=first_id, details="Page 2")
    assert {by_node.memory_assertion_id, by_id.memory_assertion_id} == {first_id}
    with pytest.raises(Conflict):
        create("one", memory_assertion_id=first_id)
    with pytest.raises(NotFound):
        create("three", memory_assertion_id=uuid4())
    found = every_page(
        lambda size, cursor: graph.read(
            lambda view: evidence.page(view, memory_assertion_id=first_id, limit=size, cursor=cursor)
        ),
        1,
    )
    assert found == sorted([by_node, by_id], key=lambda row: row.evidence_reference_id)

    graph.write(lambda uow: evidence.delete(uow, by_node.evidence_reference_id))
    with pytest.raises(NotFound):
        graph.read(lambda view: evidence.get(view, by_node.evidence_reference_id))
    graph.write(lambda uow: assertions.delete(uow, first_id, None))
    with pytest.raises(NotFound):
        graph.read(lambda view: evidence.get(view, by_id.evidence_reference_id))


# Rules


def test_a_rule_version_is_known_once_in_a_fleet(graph: GraphBuilder, stranger: GraphBuilder) -> None:
    made = new_rule(graph, "returns", "1", effective_at=DAY, description="Thirty days.")
    theirs = new_rule(stranger, "returns", "1", effective_at=DAY)

    assert made.source_rule_id == uuid5(graph.who.fleet_id, "rule|returns|1")
    assert graph.read(lambda view: rules.get(view, made.source_rule_id)) == made
    with pytest.raises(Conflict):
        new_rule(graph, "returns", "1", source_rule_id=uuid4())
    with pytest.raises(Conflict):
        new_rule(graph, "taxes", "1", source_rule_id=made.source_rule_id)
    with pytest.raises(NotFound):
        graph.read(lambda view: rules.get(view, theirs.source_rule_id))


def test_a_further_version_takes_effect_now_or_earlier(graph: GraphBuilder) -> None:
    first = new_rule(graph, "returns", "1", effective_at=DAY)
    now = datetime.now(UTC)

    with pytest.raises(Invalid) as refused:
        new_rule(graph, "returns", "2", effective_at=now + HOUR)
    assert refused.value.pointer == "/effectiveAt"
    with pytest.raises(Invalid) as refused:
        new_rule(graph, "taxes", "1", expires_at=now - HOUR)  # effective now
    assert refused.value.pointer == "/expiresAt"

    second = new_rule(graph, "returns", "2")
    assert graph.read(lambda view: rules.get(view, first.source_rule_id)).expires_at == second.effective_at


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_pages_of_rules_show_each_once_in_order(graph: GraphBuilder, stranger: GraphBuilder, limit: int) -> None:
    made = [new_rule(graph, name, "1", effective_at=DAY) for name in ("r", "s", "t")]
    made.append(new_rule(graph, "r", "2", effective_at=DAY + HOUR))
    new_rule(stranger, "r", "9")

    def fetch(size: int, cursor: str | None, name: str | None = None) -> Page[Any]:
        return graph.read(lambda view: rules.page(view, name=name, limit=size, cursor=cursor))

    assert [row.source_rule_id for row in every_page(fetch, limit)] == sorted(row.source_rule_id for row in made)
    named = every_page(lambda size, cursor: fetch(size, cursor, "r"), limit)
    assert {row.version for row in named} == {"1", "2"}


# Cursors, and what belongs to others

BAD_CURSORS = [
    "x",
    "not base64 !",
    "é",
    "W10",  # []
    "e30",  # {}
    cursors.encode("not an id"),
    cursors.encode(str(uuid4()), str(uuid4())),
    cursors.encode(None),
    cursors.encode(1, 2, 3),
]


LISTS: dict[str, Callable[[View, GraphBuilder, UUID, str], Page[Any]]] = {
    "graphs": lambda view, graph, run, cursor: graphs.page(view, 10, cursor),
    "nodes": lambda view, graph, run, cursor: nodes.page(view, graph_id=graph.graph_id, limit=10, cursor=cursor),
    "history": lambda view, graph, run, cursor: nodes.history(view, graph.id("a"), 10, cursor),
    "edges": lambda view, graph, run, cursor: edges.page(view, graph_id=graph.graph_id, limit=10, cursor=cursor),
    "assertions": lambda view, graph, run, cursor: assertions.page(
        view, graph_id=graph.graph_id, limit=10, cursor=cursor
    ),
    "evidence": lambda view, graph, run, cursor: evidence.page(
        view, memory_assertion_id=uuid5(graph.graph_id, "assertion|a"), limit=10, cursor=cursor
    ),
    "rules": lambda view, graph, run, cursor: rules.page(view, limit=10, cursor=cursor),
    "runs": lambda view, graph, run, cursor: runs.page(view, limit=10, cursor=cursor),
    "impacts": lambda view, graph, run, cursor: runs.impacts(view, run, limit=10, cursor=cursor),
    "bookmarks": lambda view, graph, run, cursor: snapshot.bookmarks(view, graph.graph_id, 10, cursor),
}


@pytest.mark.parametrize("name", LISTS)
def test_a_bad_cursor_is_refused_by_every_list(graph: GraphBuilder, name: str) -> None:
    new_node(graph, key="a", content="It is.")
    run_id = graph.invalidate("a").run.run_id

    for cursor in BAD_CURSORS:
        with pytest.raises(Invalid) as refused:
            graph.read(lambda view, cursor=cursor: LISTS[name](view, graph, run_id, cursor))
        assert refused.value.pointer == "/cursor"


def test_a_cursor_with_a_number_no_depth_can_have_is_refused(graph: GraphBuilder) -> None:
    graph.load(node("a"))
    run_id = graph.invalidate("a").run.run_id

    for depth in (2**63, -(2**63) - 1, 2**64 - 1):
        with pytest.raises(Invalid):
            graph.read(lambda view, depth=depth: runs.impacts(view, run_id, limit=1, cursor=_encoded(depth, uuid4())))


class Theirs(NamedTuple):
    """Ids of another fleet's rows of every kind."""

    graph: UUID
    node: UUID
    edge: UUID
    assertion: UUID
    evidence: UUID
    rule: UUID
    run: UUID


@pytest.fixture
def theirs(store: Store, graph: GraphBuilder) -> Theirs:
    other = GraphBuilder(store, graph.who._replace(fleet_id=uuid4()))
    new_node(other, key="a", content="It is.")
    other.load(node("b"), edge("a", "b"), {**_evidence_line(), "node": "a"}, rule("returns", "1"))
    said = uuid5(other.graph_id, "assertion|a")
    (given,) = other.read(lambda view: evidence.page(view, memory_assertion_id=said, limit=2, cursor=None)).items
    return Theirs(
        other.graph_id,
        other.id("a"),
        other.edge_id("a", "b"),
        said,
        given.evidence_reference_id,
        uuid5(other.who.fleet_id, "rule|returns|1"),
        other.invalidate("a").run.run_id,
    )


READS: dict[str, Callable[[View, Theirs], object]] = {
    "graphs.get": lambda view, ids: graphs.get(view, ids.graph),
    "nodes.get": lambda view, ids: nodes.get(view, ids.node),
    "nodes.page": lambda view, ids: nodes.page(view, graph_id=ids.graph, limit=1, cursor=None),
    "nodes.history": lambda view, ids: nodes.history(view, ids.node, 1, None),
    "edges.get": lambda view, ids: edges.get(view, ids.edge),
    "edges.page of graph": lambda view, ids: edges.page(view, graph_id=ids.graph, limit=1, cursor=None),
    "edges.page of source": lambda view, ids: edges.page(view, source_node_id=ids.node, limit=1, cursor=None),
    "edges.page of target": lambda view, ids: edges.page(view, target_node_id=ids.node, limit=1, cursor=None),
    "assertions.get": lambda view, ids: assertions.get(view, ids.assertion),
    "assertions.page": lambda view, ids: assertions.page(view, graph_id=ids.graph, limit=1, cursor=None),
    "assertions.page of node": lambda view, ids: assertions.page(view, memory_node_id=ids.node, limit=1, cursor=None),
    "evidence.get": lambda view, ids: evidence.get(view, ids.evidence),
    "evidence.page": lambda view, ids: evidence.page(view, memory_assertion_id=ids.assertion, limit=1, cursor=None),
    "rules.get": lambda view, ids: rules.get(view, ids.rule),
    "runs.get": lambda view, ids: runs.get(view, ids.run),
    "runs.impacts": lambda view, ids: runs.impacts(view, ids.run, limit=1, cursor=None),
    "runs.all_impacts": lambda view, ids: list(runs.all_impacts(view, ids.run)),
    "runs.path": lambda view, ids: runs.path(view, ids.run, ids.node),
    "staleness": lambda view, ids: staleness.staleness(view, ids.node),
    "snapshot.bookmarks": lambda view, ids: snapshot.bookmarks(view, ids.graph, 1, None),
}

WRITES: dict[str, Callable[[UnitOfWork, Theirs, GraphBuilder], object]] = {
    "graphs.update": lambda uow, ids, _: graphs.update(uow, ids.graph, GraphPatch(name="Ours")),
    "nodes.create": lambda uow, ids, _: nodes.create(uow, NewNode(graph_id=ids.graph, key="c")),
    "nodes.update": lambda uow, ids, _: nodes.update(uow, ids.node, NodePatch(name="Ours"), None),
    "nodes.delete": lambda uow, ids, _: nodes.delete(uow, ids.node, None),
    "edges.create from": lambda uow, ids, ours: edges.create(
        uow, NewEdge(source_node_id=ids.node, target_node_id=ours.id("a"), edge_type="Requires")
    ),
    "edges.create to": lambda uow, ids, ours: edges.create(
        uow, NewEdge(source_node_id=ours.id("a"), target_node_id=ids.node, edge_type="Requires")
    ),
    "edges.create under": lambda uow, ids, ours: edges.create(
        uow,
        NewEdge(graph_id=ours.graph_id, source="a", target="b", edge_type="Requires", source_rule_id=ids.rule),
    ),
    "edges.update": lambda uow, ids, _: edges.update(uow, ids.edge, EdgePatch(weight=0.5), None),
    "edges.delete": lambda uow, ids, _: edges.delete(uow, ids.edge, None),
    "assertions.create": lambda uow, ids, _: assertions.create(
        uow, NewAssertion(memory_node_id=ids.node, content="Ours.")
    ),
    "assertions.create superseded": lambda uow, ids, ours: assertions.create(
        uow, NewAssertion(memory_node_id=ours.id("a"), content="Ours.", superseded_by=ids.assertion)
    ),
    "assertions.create under": lambda uow, ids, ours: assertions.create(
        uow, NewAssertion(memory_node_id=ours.id("a"), content="Ours.", source_rule_id=ids.rule)
    ),
    "assertions.update": lambda uow, ids, _: assertions.update(
        uow, ids.assertion, AssertionPatch(importance=0.1), None
    ),
    "assertions.delete": lambda uow, ids, _: assertions.delete(uow, ids.assertion, None),
    "evidence.create": lambda uow, ids, _: evidence.create(
        uow, NewEvidence(memory_assertion_id=ids.assertion, evidence_type="Document", reference="x")
    ),
    "evidence.delete": lambda uow, ids, _: evidence.delete(uow, ids.evidence),
    "invalidate": lambda uow, ids, ours: invalidate.invalidate(uow, ours.request(root_node_ids=[ids.node])),
    "invalidate in graph": lambda uow, ids, ours: invalidate.invalidate(uow, ours.request("a", graph_id=ids.graph)),
    "accept": lambda uow, ids, ours: invalidate.accept(uow, ours.request("a", root_node_ids=[ids.node])),
}


@pytest.mark.parametrize("call", READS)
def test_what_belongs_to_another_fleet_is_not_found(graph: GraphBuilder, theirs: Theirs, call: str) -> None:
    with pytest.raises(NotFound):
        graph.read(lambda view: READS[call](view, theirs))


@pytest.mark.parametrize("call", WRITES)
def test_what_belongs_to_another_fleet_cannot_be_written(
    graph: GraphBuilder, theirs: Theirs, call: str, database: Database
) -> None:
    graph.load(*map(node, "ab"))
    rows = database.rows(graph.who)

    with pytest.raises(NotFound):
        graph.write(lambda uow: WRITES[call](uow, theirs, graph))

    assert database.rows(graph.who) == rows


def test_another_fleets_pending_run_is_not_resumed(graph: GraphBuilder, stranger: GraphBuilder) -> None:
    for each in (graph, stranger):
        each.load(node("a"))
    run = stranger.write(lambda uow: invalidate.accept(uow, stranger.request("a")))

    invalidate.resume(graph.store, graph.who, run.run.run_id)

    assert stranger.statuses() == graph.statuses() == {}


def test_another_fleets_lists_are_empty_for_us(store: Store, stranger: GraphBuilder) -> None:
    stranger.load(node("a"), rule("returns", "1"))
    stranger.invalidate("a")
    other = GraphBuilder(store, stranger.who._replace(tenant_id=uuid4()))  # the same fleet id of another tenant

    assert other.read(lambda view: graphs.page(view, 10, None)).items == [
        other.read(lambda view: graphs.get(view, other.graph_id))
    ]
    assert other.read(lambda view: rules.page(view, limit=10, cursor=None)).items == []
    assert other.read(lambda view: runs.page(view, limit=10, cursor=None)).items == []


def _assertions(graph: GraphBuilder, key: str) -> list[MemoryAssertion]:
    return graph.read(lambda view: assertions.page(view, memory_node_id=graph.id(key), limit=100, cursor=None)).items


def _evidence_line() -> dict[str, Any]:
    return {"kind": "evidence", "evidenceType": "Document", "reference": "x"}


def _encoded(*key: object) -> str:
    """A cursor that the service never gave out: numbers of any size."""
    return base64.urlsafe_b64encode(json.dumps([str(k) if isinstance(k, UUID) else k for k in key]).encode()).decode()
