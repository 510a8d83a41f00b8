"""Invalidations, call by call: what is refused, what is answered, and why a node is stale."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID, uuid4

import pytest

from app.domain.errors import Invalid, NotFound, PlanChanged
from app.domain.models import Impact, InvalidationRun, Page
from app.schemas import EdgePatch, GraphPatch, NewEdge, NewRule
from app.services import edges, graphs, nodes, rules, runs, staleness
from app.services.reports import Cause, Report
from app.store.ports import Store
from app.store.repositories.invalidations import PathStep
from tests.contract.builder import DAY, GraphBuilder, assertion, edge, node, outcomes, rule
from tests.contract.engines import Database

HOUR = timedelta(hours=1)


def causes(graph: GraphBuilder, key: str) -> list[Cause]:
    return graph.read(lambda view: staleness.staleness(view, graph.id(key))).causes


def in_short(found: list[Cause]) -> list[tuple[str | None, str, int]]:
    return [(cause.key, cause.kind, cause.distance) for cause in found]


def path(graph: GraphBuilder, report: Report, key: str) -> list[PathStep]:
    return graph.read(lambda view: runs.path(view, report.run.run_id, graph.id(key)))


# Requests


def test_a_report_tells_of_the_request_and_of_what_it_did(graph: GraphBuilder, database: Database) -> None:
    graph.load(*map(node, "abc"), edge("a", "b"), edge("a", "c", "SupportedBy"), edge("b", "c", "SupportedBy"))

    report = graph.invalidate("a", reason="Withdrawn.", policy="strict", propagation="transitive")

    run = report.run
    assert run == InvalidationRun(
        run_id=run.run_id,
        parent_run_id=None,
        run_status="Completed",
        superseded_by_run_id=None,
        reason="Withdrawn.",
        requested_status="Invalid",
        effective_time=run.requested_at,  # "default: now"
        policy="strict",
        propagation="transitive",
        override_pinned=False,
        requested_at=run.requested_at,
        committed_at=run.requested_at,
    )
    assert graph.node("a").valid_from == run.committed_at
    assert graph.node("a").invalid_since == run.effective_time
    assert report.root_node_ids == [graph.id("a")]
    assert (report.plan_token, report.dry_run, report.cycles) == (None, False, [])
    assert graph.read(lambda view: runs.get(view, run.run_id)) == report
    assert database.outbox(graph.who) == [("InvalidationCompleted", run.run_id)]


def test_roots_are_named_by_id_or_key_and_count_once(store: Store, graph: GraphBuilder) -> None:
    other = GraphBuilder(store, graph.who)
    graph.load(*map(node, "ab"))
    other.load(node("a"))

    report = graph.invalidate("a", "a", root_node_ids=[graph.id("a"), other.id("a"), other.id("a"), graph.id("b")])

    assert report.root_node_ids == sorted([graph.id("a"), graph.id("b"), other.id("a")])
    assert report.by_depth == [3]


def test_a_thousand_roots(graph: GraphBuilder) -> None:
    keys = [f"n{i}" for i in range(1000)]
    graph.load(*map(node, keys))

    report = graph.invalidate(*keys)

    assert report.by_outcome == {"Invalidated": 1000}
    assert len(report.impacts.items) == 100
    assert report.impacts.next_cursor is not None


def test_what_is_refused(graph: GraphBuilder, database: Database) -> None:
    graph.load(node("a"))
    rows = database.rows(graph.who)

    with pytest.raises(Invalid) as refused:
        graph.invalidate("a", effective_time=datetime.now(UTC) + HOUR)
    assert refused.value.pointer == "/effectiveTime"
    with pytest.raises(NotFound, match="nobody"):
        graph.invalidate("a", "nobody")
    unknown = uuid4()
    with pytest.raises(NotFound, match=str(unknown)):
        graph.invalidate("a", root_node_ids=[unknown])
    with pytest.raises(NotFound):
        graph.invalidate("a", graph_id=uuid4())
    assert database.rows(graph.who) == rows


def test_the_defaults_are_those_of_the_graph_or_of_the_graphs_that_agree(store: Store) -> None:
    strict = GraphBuilder(store, policy="strict")
    other = GraphBuilder(store, strict.who, policy="strict", propagation="transitive")
    for each in (strict, other):
        each.load(node("a"))
    roots = [strict.id("a"), other.id("a")]

    with pytest.raises(Invalid) as refused:
        strict.invalidate(root_node_ids=roots, graph_id=None)
    assert refused.value.pointer == "/propagation"
    report = strict.invalidate(root_node_ids=roots, graph_id=None, propagation="frontier")
    assert (report.run.policy, report.run.propagation) == ("strict", "frontier")
    # A graph that is named decides, whatever graphs the roots are of.
    named = strict.invalidate(root_node_ids=roots)
    assert (named.run.policy, named.run.propagation) == ("strict", "frontier")

    other.write(lambda uow: graphs.update(uow, other.graph_id, GraphPatch(policy="evidential")))
    with pytest.raises(Invalid) as refused:
        strict.invalidate(root_node_ids=roots, graph_id=None)
    assert refused.value.pointer == "/policy"


def test_an_edge_counts_while_its_interval_and_its_rule_hold(graph: GraphBuilder) -> None:
    # Half-open: at DAY an edge from DAY on counts, one up to DAY does not; likewise with the rule's interval.
    graph.load(
        *map(node, ["a", "from", "to", "after", "rule from", "rule to", "rule over", "both"]),
        rule("from", "1", effective_at=DAY),
        rule("to", "1", effective_at=DAY - HOUR, expires_at=DAY),
        rule("open", "1", effective_at=DAY - HOUR),
        edge("a", "from", effective_from=DAY),
        edge("a", "to", effective_to=DAY),
        edge("a", "after", effective_from=DAY + timedelta(microseconds=1)),
        edge("a", "rule from", rule_name="from", rule_version="1"),
        edge("a", "rule to", rule_name="to", rule_version="1"),
        edge("a", "rule over", rule_name="open", rule_version="1", effective_to=DAY),
        edge("a", "both", rule_name="open", rule_version="1", effective_from=DAY, effective_to=DAY + HOUR),
    )

    report = graph.invalidate("a", effective_time=DAY)

    assert set(outcomes(report)) == {"a", "from", "rule from", "both"}


def test_two_edges_of_one_source_in_a_group_count_once(graph: GraphBuilder) -> None:
    # x needs two of its group. p gives two edges and q one: two sources. Without q one is left, however many edges.
    group = {"support_group": "g", "min_support": 2}
    graph.load(
        *map(node, "pqx"),
        edge("p", "x", "SupportedBy", **group),
        edge("p", "x", "DerivedFrom", **group),
        edge("q", "x", "SupportedBy", **group),
    )

    graph.invalidate("q")

    assert graph.statuses() == {"q": "Invalid", "x": "Invalid"}


def test_of_differing_minima_in_a_group_the_largest_active_one_counts(graph: GraphBuilder) -> None:
    # x asks for 1 by one edge, for 2 by another: 2 counts. y asked for 2 by an edge that is over: 1 counts.
    graph.load(
        *map(node, "pqxy"),
        edge("p", "x", "SupportedBy", support_group="g", min_support=1),
        edge("q", "x", "SupportedBy", support_group="g", min_support=2),
        edge("p", "y", "SupportedBy", support_group="g", min_support=1),
        edge("q", "y", "SupportedBy", support_group="g", min_support=1),
        edge("q", "y", "DerivedFrom", support_group="g", min_support=2, effective_to=DAY),
    )

    graph.invalidate("p", effective_time=DAY)

    assert graph.statuses() == {"p": "Invalid", "x": "Invalid"}


def test_a_group_that_cannot_hold_falls_with_its_first_loss(graph: GraphBuilder) -> None:
    # "k above the number of sources never holds" - which is found out when a member fires.
    graph.load(
        *map(node, "pqx"),
        *(edge(source, "x", "SupportedBy", support_group="g", min_support=5) for source in "pq"),
    )

    graph.invalidate("p")

    assert graph.statuses() == {"p": "Invalid", "x": "Invalid"}


def test_a_replacement_in_doubt_still_stands_for_what_it_replaces(graph: GraphBuilder) -> None:
    # root → new by one necessary edge, new supersedes old. A root in doubt makes new PotentiallyStale under
    # transitive, and new fires; only "an affected node with C = Invalid" gives old to be examined again.
    graph.load(
        *map(node, ["root", "new"]),
        node("old", status="Invalid", invalidation="Derived"),
        edge("root", "new"),
        edge("new", "old", "Supersedes"),
    )

    doubted = graph.invalidate("root", status="PotentiallyStale", propagation="transitive")
    assert outcomes(doubted) == dict.fromkeys(["root", "new"], "MarkedPotentiallyStale")
    assert graph.node("old").status == "Invalid"

    fallen = graph.invalidate("root", propagation="transitive")
    assert outcomes(fallen)["old"] == "Reexamine"


# Plans


def test_a_plan_token_lets_the_planned_run_through_once_more(graph: GraphBuilder) -> None:
    graph.load(*map(node, "ab"), edge("a", "b"))
    planned = graph.plan("a")

    done = graph.invalidate("a", plan_token=planned.plan_token)

    assert done.by_outcome == planned.by_outcome == {"Invalidated": 2}


def test_a_plan_that_no_longer_holds_is_refused_and_nothing_is_changed(graph: GraphBuilder, database: Database) -> None:
    graph.load(*map(node, "abc"), edge("a", "b"))
    planned = graph.plan("a")
    graph.load(edge("b", "c"))
    rows = database.rows(graph.who)

    with pytest.raises(PlanChanged):
        graph.invalidate("a", plan_token=planned.plan_token)
    with pytest.raises(PlanChanged):
        graph.invalidate("a", policy="strict", plan_token=graph.plan("a").plan_token)
    with pytest.raises(PlanChanged):
        graph.invalidate("a", plan_token="made up")

    assert database.rows(graph.who) == rows


def test_a_plan_is_not_upset_by_what_it_does_not_touch(graph: GraphBuilder, stranger: GraphBuilder) -> None:
    for each in (graph, stranger):
        each.load(*map(node, "abcd"), edge("a", "b"))
    planned = graph.plan("a")

    graph.load(edge("c", "d"), node("d", name="D"))
    stranger.load(edge("b", "c"))

    assert graph.invalidate("a", plan_token=planned.plan_token).by_outcome == {"Invalidated": 2}


# Runs, impacts, paths


def test_runs_page_newest_first(graph: GraphBuilder, stranger: GraphBuilder) -> None:
    for each in (graph, stranger):
        each.load(node("a"))
    made = [graph.invalidate("a").run for _ in range(7)]
    stranger.invalidate("a")

    def fetch(size: int, cursor: str | None) -> Page[InvalidationRun]:
        return graph.read(lambda view: runs.page(view, limit=size, cursor=cursor))

    for limit in (1, 3, 7, 100):
        assert _every_page(fetch, limit) == made[::-1]


def test_runs_of_one_transaction_page_by_id(graph: GraphBuilder) -> None:
    # The two runs of a new rule version have one stamp.
    graph.load(
        rule("r", "1", effective_at=DAY - HOUR),
        *map(node, "abc"),
        assertion("a", "It is.", rule_name="r", rule_version="1"),
        edge("b", "c", rule_name="r", rule_version="1"),
    )
    _, reports = graph.write(lambda uow: rules.create(uow, NewRule(name="r", version="2")))
    assert len(reports) == 2

    found = _every_page(lambda size, cursor: graph.read(lambda view: runs.page(view, limit=size, cursor=cursor)), 1)

    assert [run.run_id for run in found] == sorted(report.run.run_id for report in reports)


def test_impacts_page_by_depth_and_id_and_by_outcome(graph: GraphBuilder) -> None:
    # a takes b0…b8 down; each b takes a c down; p is pinned; s had been Invalid.
    bs, cs = [f"b{i}" for i in range(9)], [f"c{i}" for i in range(9)]
    graph.load(
        *map(node, ["a", *bs, *cs]),
        node("p", is_pinned=True),
        node("s", status="Invalid"),
        *(edge("a", b) for b in [*bs, "p", "s"]),
        *(edge(b, c) for b, c in zip(bs, cs, strict=True)),
    )
    run_id = graph.invalidate("a").run.run_id

    def fetch(size: int, cursor: str | None, outcome: str | None = None) -> Page[Impact]:
        return graph.read(lambda view: runs.impacts(view, run_id, outcome=outcome, limit=size, cursor=cursor))

    wanted = [*sorted([graph.id(k) for k in [*bs, "p", "s"]]), *sorted(graph.id(c) for c in cs)]
    for limit in (1, 4, 21, 100):
        found = _every_page(fetch, limit)
        assert [impact.memory_node_id for impact in found] == [graph.id("a"), *wanted]
        assert [impact.depth for impact in found] == [0] + [1] * 11 + [2] * 9
        assert graph.read(lambda view: list(runs.all_impacts(view, run_id))) == found
        pinned = _every_page(lambda size, cursor: fetch(size, cursor, "SkippedPinned"), limit)
        assert [impact.key for impact in pinned] == ["p"]
        fallen = _every_page(lambda size, cursor: fetch(size, cursor, "Invalidated"), limit)
        assert [impact.memory_node_id for impact in fallen] == [
            id_ for id_ in [graph.id("a"), *wanted] if id_ not in {graph.id("p"), graph.id("s")}
        ]
    assert fetch(10, None, "Reexamine") == ([], None)


def test_a_path_is_read_back_by_via_edges(store: Store, graph: GraphBuilder) -> None:
    # Two ways to d; b's edge ids decide in round 1, and in round 2 the smaller of the two edges into d.
    other = GraphBuilder(store, graph.who)
    graph.load(*map(node, "abc"), edge("a", "b"), edge("a", "c"))
    other.load(
        node("d"),
        node("e"),
        edge("", "d", source_node_id=graph.id("b"), memory_edge_id=UUID(int=2)),
        edge("", "d", source_node_id=graph.id("c"), memory_edge_id=UUID(int=1)),
        edge("d", "e", "Contradicts"),
    )

    report = graph.invalidate("a")

    assert [(step.key, step.depth, step.edge_type) for step in path(graph, report, "a")] == [("a", 0, None)]
    steps = graph.read(lambda view: runs.path(view, report.run.run_id, other.id("e")))
    assert steps == [
        PathStep(graph.id("a"), "a", 0, None, None),
        PathStep(graph.id("c"), "c", 1, graph.edge_id("a", "c"), "Requires"),
        PathStep(other.id("d"), "d", 2, UUID(int=1), "Requires"),
        PathStep(other.id("e"), "e", 3, other.edge_id("d", "e", "Contradicts"), "Contradicts"),
    ]


def test_a_path_over_a_contradiction_that_points_the_other_way(graph: GraphBuilder) -> None:
    graph.load(*map(node, "ab"), edge("b", "a", "Contradicts"))

    report = graph.invalidate("a")

    assert [(step.key, step.edge_type) for step in path(graph, report, "b")] == [("a", None), ("b", "Contradicts")]


def test_a_path_outlives_its_edges_and_nodes(graph: GraphBuilder) -> None:
    graph.load(*map(node, "abc"), edge("a", "b"), edge("b", "c"))
    report = graph.invalidate("a")
    before = path(graph, report, "c")

    graph.write(lambda uow: edges.delete(uow, graph.edge_id("b", "c"), None))
    assert path(graph, report, "c") == before
    graph.write(lambda uow: edges.update(uow, graph.edge_id("a", "b"), EdgePatch(weight=0.5), None))
    graph.write(lambda uow: nodes.delete(uow, graph.id("b"), None))
    assert [step.memory_node_id for step in path(graph, report, "c")] == [step.memory_node_id for step in before]
    assert graph.read(lambda view: runs.get(view, report.run.run_id)).by_outcome == {"Invalidated": 3}


def test_a_node_that_the_run_did_not_reach_has_no_path(graph: GraphBuilder) -> None:
    graph.load(*map(node, "ab"))
    report = graph.invalidate("a")

    for unreached in (graph.id("b"), uuid4()):
        with pytest.raises(NotFound):
            graph.read(lambda view, id_=unreached: runs.path(view, report.run.run_id, id_))
    with pytest.raises(NotFound):
        graph.read(lambda view: runs.path(view, uuid4(), graph.id("a")))


# Why a node is stale


def test_a_valid_node_has_no_cause(graph: GraphBuilder) -> None:
    graph.load(node("a"))
    found = graph.read(lambda view: staleness.staleness(view, graph.id("a")))

    assert found == (graph.node("a"), [])


def test_the_cause_is_the_requested_root_far_away(graph: GraphBuilder) -> None:
    keys = [f"n{i}" for i in range(6)]
    graph.load(*map(node, keys), *(edge(a, b) for a, b in pairwise(keys)))
    report = graph.invalidate("n0", reason="Withdrawn.", effective_time=DAY)

    (cause,) = causes(graph, "n5")

    assert cause == Cause(
        graph.id("n0"), "n0", "n0", "Invalid", "Requested", report.run.run_id, "Withdrawn.", DAY, distance=5
    )
    assert in_short(causes(graph, "n0")) == [("n0", "Requested", 0)]


def test_of_two_causes_the_nearer_comes_first(graph: GraphBuilder) -> None:
    # far → mid → x and near → x; the sound s and the unrelated u are no causes.
    graph.load(
        *map(node, ["far", "mid", "near", "s", "u", "x"]),
        edge("far", "mid"),
        edge("mid", "x"),
        edge("near", "x"),
        edge("s", "x"),
        edge("x", "u", "SupportedBy"),
    )
    for key in ("far", "near"):
        graph.invalidate(key)

    assert in_short(causes(graph, "x")) == [("near", "Requested", 1), ("far", "Requested", 2)]


def test_the_newest_request_that_left_the_root_so_is_the_cause(graph: GraphBuilder) -> None:
    graph.load(node("a"), node("b"), edge("a", "b"))
    graph.invalidate("a", reason="Doubted.", status="PotentiallyStale")
    graph.invalidate("a", reason="Wrong.")

    (cause,) = causes(graph, "b")

    assert (cause.key, cause.reason, cause.status) == ("a", "Wrong.", "Invalid")


def test_a_replaced_node_has_its_replacement_as_cause(graph: GraphBuilder) -> None:
    graph.load(*map(node, ["old", "new", "user"]), edge("old", "user"))
    body = NewEdge(graph_id=graph.graph_id, source="new", target="old", edge_type="Supersedes")
    graph.write(lambda uow: edges.create(uow, body))

    (cause,) = causes(graph, "user")

    assert (cause.key, cause.kind, cause.status, cause.distance) == ("new", "Superseded", "Valid", 2)


def test_a_contradicted_node_has_the_other_as_cause(graph: GraphBuilder) -> None:
    # a falls, b contradicts it and is to be looked at. When a is Valid again, what b is in doubt for is that a says
    # otherwise.
    graph.load(*map(node, "ab"), edge("a", "b", "Contradicts"))
    graph.invalidate("a")
    assert in_short(causes(graph, "b")) == [("a", "Requested", 1)]

    graph.load(node("a", status="Valid"))

    assert in_short(causes(graph, "b")) == [("a", "Contradiction", 1)]


def test_a_state_that_was_loaded_explains_itself(graph: GraphBuilder) -> None:
    graph.load(node("a", status="Invalid"), node("b", status="Invalid"), edge("a", "b"), node("c"))

    assert in_short(causes(graph, "b")) == [("a", "LoadedState", 1)]
    assert in_short(causes(graph, "a")) == [("a", "LoadedState", 0)]


def test_causes_within_a_circle_end(graph: GraphBuilder) -> None:
    graph.load(*map(node, "abc"), edge("a", "b"), edge("b", "c"), edge("c", "a"))
    graph.invalidate("b")

    for key, distance in (("b", 0), ("c", 1), ("a", 2)):
        assert in_short(causes(graph, key)) == [("b", "Requested", distance)]


def test_causes_are_of_the_same_fleet(graph: GraphBuilder, stranger: GraphBuilder) -> None:
    # The stranger's graph, with the same ids, has a second cause and another request.
    for each in (graph, stranger):
        each.load(*map(node, "abz"), edge("a", "b"))
    stranger.load(edge("z", "b"))
    stranger.invalidate("z", reason="Theirs.")
    stranger.invalidate("a", reason="Theirs.")
    graph.invalidate("a", reason="Ours.")

    (cause,) = causes(graph, "b")

    assert (cause.key, cause.reason) == ("a", "Ours.")


def test_causes_of_a_diamond_ladder_take_no_time(graph: GraphBuilder) -> None:
    # 2^60 paths from the root to the last node; each node is walked through once.
    rungs = 60
    lines: list[Any] = [node("n0")]
    for i in range(rungs):
        lines += [node(f"l{i}"), node(f"r{i}"), node(f"n{i + 1}")]
        lines += [edge(f"n{i}", f"l{i}"), edge(f"n{i}", f"r{i}")]
        lines += [edge(f"l{i}", f"n{i + 1}"), edge(f"r{i}", f"n{i + 1}")]
    graph.load(*lines)

    report = graph.invalidate("n0")

    assert report.by_depth == [1] + [2, 1] * rungs
    assert in_short(causes(graph, f"n{rungs}")) == [("n0", "Requested", 2 * rungs)]


def _every_page(fetch: Any, limit: int) -> list[Any]:
    found: list[Any] = []
    cursor = None
    while True:
        page = fetch(limit, cursor)
        found += page.items
        assert len(page.items) == limit or page.next_cursor is None
        if page.next_cursor is None:
            return found
        cursor = page.next_cursor
