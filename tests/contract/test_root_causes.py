"""Why a node is not Valid, where the edges of now no longer tell (API: the root causes, not just the neighbour)."""

from datetime import UTC, datetime

from app.schemas import EdgePatch, NewEdge, NewNode, NodePatch
from app.services import edges, nodes, staleness
from app.services.reports import Cause
from tests.contract.builder import GraphBuilder, edge, node, rule

START = datetime(2026, 1, 1, tzinfo=UTC)
MARCH = datetime(2026, 3, 1, tzinfo=UTC)
JUNE = datetime(2026, 6, 1, tzinfo=UTC)


def causes(graph: GraphBuilder, key: str) -> list[Cause]:
    return graph.read(lambda view: staleness.staleness(view, graph.id(key))).causes


def in_short(found: list[Cause]) -> list[tuple[str | None, str, int]]:
    return [(cause.key, cause.kind, cause.distance) for cause in found]


def supersede(graph: GraphBuilder, source: str, target: str, **options: object) -> None:
    body = NewEdge(graph_id=graph.graph_id, source=source, target=target, edge_type="Supersedes", **options)  # type: ignore[arg-type]
    graph.write(lambda uow: edges.create(uow, body))


def test_what_is_to_be_reexamined_has_the_fallen_replacement_as_cause(graph: GraphBuilder) -> None:
    graph.load(node("new"), node("old"))
    supersede(graph, "new", "old")
    graph.invalidate("new", reason="It was no improvement.")
    assert graph.node("old").status == "PotentiallyStale"

    found = causes(graph, "old")

    assert ("new", "Requested", 1) in in_short(found)
    assert "It was no improvement." in [cause.reason for cause in found]
    assert "LoadedState" not in [cause.kind for cause in found]


def test_an_edge_that_was_deleted_since_still_tells(graph: GraphBuilder) -> None:
    # root -> a -> b -> c -> a: once root -> a is gone, the circle would only explain itself.
    graph.load(*map(node, ["root", "a", "b", "c"]), edge("root", "a"), edge("a", "b"), edge("b", "c"), edge("c", "a"))
    graph.invalidate("root")
    graph.write(lambda uow: edges.delete(uow, graph.edge_id("root", "a"), None))

    assert in_short(causes(graph, "c")) == [("root", "Requested", 3)]
    assert in_short(causes(graph, "a")) == [("root", "Requested", 1)]


def test_a_root_that_was_deleted_since_is_still_named(graph: GraphBuilder) -> None:
    graph.load(node("a"), node("b"), edge("a", "b"))
    graph.invalidate("a")
    graph.write(lambda uow: nodes.delete(uow, graph.id("a"), None))

    assert in_short(causes(graph, "b")) == [("a", "Requested", 1)]


def test_an_edge_that_has_ended_since_still_tells(graph: GraphBuilder) -> None:
    graph.load(
        node("a"),
        node("b"),
        edge("a", "b", effectiveFrom="2026-01-01T00:00:00Z", effectiveTo="2026-06-01T00:00:00Z"),
    )
    graph.invalidate("a", effective_time=MARCH)
    assert graph.node("b").status == "Invalid"

    assert in_short(causes(graph, "b")) == [("a", "Requested", 1)]


def test_a_replacement_under_a_rule_that_is_not_in_force_replaces_nothing(graph: GraphBuilder) -> None:
    # SEMANTICS 3: active "when T lies in its interval and its rule, if any, is in force at T".
    graph.load(
        rule("r", "1", effectiveAt="2020-01-01T00:00:00Z", expiresAt="2021-01-01T00:00:00Z"),
        *map(node, "abc"),
        edge("b", "c"),
    )
    supersede(graph, "a", "b", rule_name="r", rule_version="1")

    assert graph.statuses() == {}


def test_a_support_that_begins_after_the_replacement_ends_too(graph: GraphBuilder) -> None:
    # SEMANTICS 3: "a replacement does not rest on what it replaces". Nothing of the support's interval is left.
    graph.load(node("new"), node("old"), edge("old", "new", "SupportedBy", effectiveFrom="2026-06-01T00:00:00Z"))
    supersede(graph, "new", "old", effective_from=MARCH)

    assert graph.statuses() == {"old": "Invalid"}
    assert graph.read(lambda view: view.edges.find(graph.edge_id("old", "new", "SupportedBy"))) is None


def test_what_is_superseded_stands_for_what_it_supersedes_however_long_the_chain(graph: GraphBuilder) -> None:
    # z replaces y, y replaces x, x replaces w: only z is Valid, and each of the others is superseded.
    graph.load(*map(node, "zyxw"))
    for source, target in ("zy", "yx", "xw"):
        supersede(graph, source, target)

    assert graph.statuses() == dict.fromkeys("yxw", "Invalid")
    assert in_short(causes(graph, "y")) == [("z", "Superseded", 1)]


def test_versions_go_on_where_those_of_a_deleted_row_ended(graph: GraphBuilder) -> None:
    # The same key gives the same id: an ETag of the row before must not stand for the row after.
    graph.load(node("a"), node("b"), edge("a", "b"))
    graph.write(lambda uow: nodes.update(uow, graph.id("a"), NodePatch(name="A"), None))
    graph.write(lambda uow: edges.update(uow, graph.edge_id("a", "b"), EdgePatch(weight=0.5), None))
    assert graph.node("a").version == 2
    graph.write(lambda uow: nodes.delete(uow, graph.id("a"), None))

    again = graph.write(lambda uow: nodes.create(uow, NewNode(graph_id=graph.graph_id, key="a")))
    body = NewEdge(graph_id=graph.graph_id, source="a", target="b", edge_type="Requires")
    edge_again, _ = graph.write(lambda uow: edges.create(uow, body))

    assert (again.version, graph.node("a").version, edge_again.version) == (3, 3, 3)
    graph.write(lambda uow: nodes.delete(uow, graph.id("b"), None))
    graph.load(node("b"))
    assert graph.node("b").version == 2


def test_a_replacement_inside_a_circle_is_no_cause(graph: GraphBuilder) -> None:
    # old supports new, so "new replaces old" closes a circle and does not count: only root is why old fell.
    graph.load(
        *map(node, ["root", "old", "new"]),
        edge("root", "old"),
        edge("new", "old", "Supersedes"),
        edge("old", "new", "SupportedBy"),
    )
    graph.invalidate("root")

    assert in_short(causes(graph, "old")) == [("root", "Requested", 1)]


def test_the_defaults_are_those_of_the_graphs_of_the_roots(graph: GraphBuilder) -> None:
    strict = GraphBuilder(graph.store, graph.who, policy="strict")
    strict.load(*map(node, "abc"), edge("a", "c", "DerivedFrom"), edge("b", "c", "DerivedFrom"))

    report = graph.invalidate(root_node_ids=[strict.id("a")])

    assert report.run.policy == "strict"
    assert strict.statuses() == {"a": "Invalid", "c": "Invalid"}
