"""The scenarios that the design lists, each worked out by hand from SEMANTICS.

``edge("a", "b")`` is *b requires a*. An arrow in a comment runs from the source to its dependent; DAY is in the past.
"""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest

from app.domain.errors import NotFound
from app.schemas import NewEdge, NewRule
from app.services import edges, invalidate, nodes, rules, runs
from app.services.reports import Report
from app.services.snapshot import open_snapshot
from app.store.ports import Store
from tests.contract.builder import DAY, GraphBuilder, assertion, depths, edge, node, outcomes, rule
from tests.contract.engines import Database

HOUR = timedelta(hours=1)


def test_single_level(graph: GraphBuilder, stranger: GraphBuilder) -> None:
    for each in (graph, stranger):
        each.load(*map(node, "abcd"), edge("a", "b"), edge("a", "c", "ValidOnlyWhen"), edge("d", "b", "SupportedBy"))

    report = graph.invalidate("a", effective_time=DAY)

    assert outcomes(report) == {"a": "Invalidated", "b": "Invalidated", "c": "Invalidated"}
    assert report.by_status == {"Invalid": 3}
    assert report.by_depth == [1, 2]
    assert graph.node("a").invalidation == "Direct"
    for key in "bc":
        assert graph.node(key)[6:9] == ("Invalid", DAY, "Derived")
    assert graph.node("d").version == 1
    assert stranger.statuses() == {}


def test_deep_chain_with_depths(graph: GraphBuilder) -> None:
    # n00 → n01 → … → n30: each falls in the round that is its distance from the root, through the edge before it.
    keys = [f"n{i:02}" for i in range(31)]
    graph.load(*map(node, keys), *(edge(a, b) for a, b in pairwise(keys)))

    report = graph.invalidate("n00")

    assert depths(report) == {key: i for i, key in enumerate(keys)}
    assert report.by_depth == [1] * 31
    assert [i.via_edge_id for i in report.impacts.items] == [
        None,
        *(graph.edge_id(a, b) for a, b in pairwise(keys)),
    ]
    steps = graph.read(lambda view: runs.path(view, report.run.run_id, graph.id("n03")))
    assert [(step.key, step.depth, step.edge_type) for step in steps] == [
        ("n00", 0, None),
        ("n01", 1, "Requires"),
        ("n02", 2, "Requires"),
        ("n03", 3, "Requires"),
    ]


def test_branching(graph: GraphBuilder) -> None:
    # r → a → a1, a2 (all necessary: all fall). r → b by evidence, b's only support: falls; b → b1 falls with it.
    # r → c by evidence, and so does the sound s: c loses one ground of two, becomes PotentiallyStale, and the doubt
    # stays there (frontier): c1, which requires c, keeps its status and is not even reached.
    graph.load(
        *map(node, ["r", "s", "a", "a1", "a2", "b", "b1", "c", "c1"]),
        edge("r", "a"),
        edge("a", "a1"),
        edge("a", "a2"),
        edge("r", "b", "DerivedFrom"),
        edge("b", "b1"),
        edge("r", "c", "DerivedFrom"),
        edge("s", "c", "ObservedFrom"),
        edge("c", "c1"),
    )

    report = graph.invalidate("r")

    assert depths(report) == {"r": 0, "a": 1, "b": 1, "c": 1, "a1": 2, "a2": 2, "b1": 2}
    assert graph.statuses() == dict.fromkeys(["r", "a", "a1", "a2", "b", "b1"], "Invalid") | {"c": "PotentiallyStale"}
    assert report.by_outcome == {"Invalidated": 6, "MarkedPotentiallyStale": 1}
    assert report.by_status == {"Invalid": 6, "PotentiallyStale": 1}


@pytest.mark.parametrize(
    ("policy", "propagation", "fallen"),
    [
        # One of two grounds is lost: doubt at x, and under frontier it goes no further.
        ("evidential", "frontier", {"p": "Invalid", "x": "PotentiallyStale"}),
        # Doubt travels: y requires the doubtful x.
        ("evidential", "transitive", {"p": "Invalid", "x": "PotentiallyStale", "y": "PotentiallyStale"}),
        # Strict: the loss of any ground is as bad as the ground's own state.
        ("strict", "frontier", {"p": "Invalid", "x": "Invalid", "y": "Invalid"}),
        ("strict", "transitive", {"p": "Invalid", "x": "Invalid", "y": "Invalid"}),
    ],
)
def test_several_parents_under_both_policies(
    store: Store, policy: str, propagation: str, fallen: dict[str, str]
) -> None:
    lines = [*map(node, "pqxy"), edge("p", "x", "SupportedBy"), edge("q", "x", "SupportedBy"), edge("x", "y")]
    asked = GraphBuilder(store)
    asked.load(*lines)
    asked.invalidate("p", policy=policy, propagation=propagation)
    assert asked.statuses() == fallen

    by_default = GraphBuilder(store, policy=policy, propagation=propagation)
    by_default.load(*lines)
    by_default.invalidate("p")
    assert by_default.statuses() == fallen

    # With the second ground gone too, nothing holds x under any policy.
    asked.invalidate("q", policy=policy, propagation=propagation)
    assert asked.statuses() == dict.fromkeys("pqxy", "Invalid")


@pytest.mark.parametrize("policy", ["evidential", "strict"])
def test_several_parents_in_a_group_of_alternatives(graph: GraphBuilder, policy: str) -> None:
    # x needs two of {p, q, r}. One lost: two are left, the group holds, x is not touched. Two lost: it falls.
    group = {"support_group": "sources", "min_support": 2}
    graph.load(*map(node, "pqrx"), *(edge(source, "x", "SupportedBy", **group) for source in "pqr"))

    first = graph.invalidate("p", policy=policy)
    assert outcomes(first) == {"p": "Invalidated"}
    assert graph.node("x").version == 1

    second = graph.invalidate("q", policy=policy)
    assert depths(second) == {"q": 0, "x": 1}
    assert graph.node("x").status == "Invalid"


@pytest.mark.parametrize(("fallen", "other"), ["pq", "qp"])
def test_contradictory_parents(graph: GraphBuilder, fallen: str, other: str) -> None:
    # x rests on p and on q, which contradict each other. Contradicts is symmetric: whichever falls, the other is to
    # be looked at (PotentiallyStale), and x, with one ground lost and one left, too. y requires the other, which does
    # not fire under frontier.
    graph.load(
        *map(node, "pqxy"),
        edge("p", "x", "SupportedBy"),
        edge("q", "x", "SupportedBy"),
        edge("p", "q", "Contradicts"),
        edge(other, "y"),
    )

    report = graph.invalidate(fallen)

    assert graph.statuses() == {fallen: "Invalid", other: "PotentiallyStale", "x": "PotentiallyStale"}
    assert depths(report) == {fallen: 0, other: 1, "x": 1}
    via = {i.key: i.via_edge_id for i in report.impacts.items}
    assert via[other] == graph.edge_id("p", "q", "Contradicts")
    assert via["x"] == graph.edge_id(fallen, "x", "SupportedBy")


def test_contradictory_parents_of_a_root_in_doubt(graph: GraphBuilder) -> None:
    # A root that is only PotentiallyStale does not fire under frontier, yet "from any affected root" its
    # contradictions are looked at: q is marked, x, which rests on p, is not.
    graph.load(*map(node, "pqx"), edge("p", "x"), edge("q", "p", "Contradicts"))

    graph.invalidate("p", status="PotentiallyStale")

    assert graph.statuses() == {"p": "PotentiallyStale", "q": "PotentiallyStale"}


def test_cycle(graph: GraphBuilder) -> None:
    # a → b → c → a, and c → d → e → d: two circles. All fall; b, c, d, e in rounds 1 … 4; a is met again in round 3
    # and cannot rise. Components are numbered by their smallest id, each listed once; f hangs on, in none.
    graph.load(
        *map(node, "abcdef"),
        edge("a", "b"),
        edge("b", "c", "DerivedFrom"),
        edge("c", "a"),
        edge("c", "d"),
        edge("d", "e"),
        edge("e", "d"),
        edge("e", "f"),
    )

    report = graph.invalidate("a")

    assert depths(report) == {"a": 0, "b": 1, "c": 2, "d": 3, "e": 4, "f": 5}
    wanted = sorted(sorted(map(graph.id, keys)) for keys in ("abc", "de"))
    assert [(cycle.component, cycle.size, cycle.memory_node_ids) for cycle in report.cycles] == [
        (number, len(ids), ids) for number, ids in enumerate(wanted)
    ]
    component = {i.key: i.component for i in report.impacts.items}
    assert component["a"] == component["b"] == component["c"] != component["d"] == component["e"]
    assert component["f"] is None


def test_duplicate_request(graph: GraphBuilder, database: Database) -> None:
    graph.load(node("a"), node("b"), edge("a", "b"))
    first = graph.invalidate("a", effective_time=DAY)
    rows = database.rows(graph.who)

    # The same root by id and by key, twice, for another reason: the same roots, time and options.
    again = graph.invalidate(
        "a", "a", root_node_ids=[graph.id("a")], effective_time=DAY, reason="Somebody else found out."
    )

    assert again == first
    assert again.run.reason == "It was wrong."
    assert database.rows(graph.who) == rows

    # Without an explicit time it is another request; nothing is left to change, so no node is.
    third = graph.invalidate("a")
    assert third.run.run_id != first.run.run_id
    assert third.by_outcome == {"AlreadyAtStatus": 2}
    assert database.rows(graph.who)["MemoryNodes"] == rows["MemoryNodes"]


def test_concurrent_invalidations(graph: GraphBuilder) -> None:
    # x rests on eight parents. Whatever the order: the first loss makes it PotentiallyStale, six more change
    # nothing, the last one takes its last ground. Writers of one fleet are serial, so no loss is overlooked.
    parents = [f"p{i}" for i in range(8)]
    graph.load(*map(node, [*parents, "x"]), *(edge(parent, "x", "SupportedBy") for parent in parents))

    with ThreadPoolExecutor(8) as pool:
        reports = list(pool.map(graph.invalidate, parents))

    reports.sort(key=_committed)
    assert len({_committed(report) for report in reports}) == 8
    assert [outcomes(report)["x"] for report in reports] == [
        "MarkedPotentiallyStale",
        *["AlreadyAtStatus"] * 6,
        "Invalidated",
    ]
    assert graph.statuses() == dict.fromkeys([*parents, "x"], "Invalid")
    assert graph.node("x").version == 3


def test_concurrent_invalidations_that_are_the_same_request_are_one_run(graph: GraphBuilder) -> None:
    graph.load(node("a"), node("b"), edge("a", "b"))

    with ThreadPoolExecutor(8) as pool:
        reports = list(pool.map(lambda _: graph.invalidate("a", effective_time=DAY), range(8)))

    assert len({report.run.run_id for report in reports}) == 1
    assert (graph.node("a").version, graph.node("b").version) == (2, 2)


def test_concurrent_invalidations_of_two_fleets_do_not_meet(graph: GraphBuilder, stranger: GraphBuilder) -> None:
    for each in (graph, stranger):
        each.load(node("a"), node("b"), node("c"), edge("a", "b"), edge("c", "b"))

    with ThreadPoolExecutor(2) as pool:
        ours = pool.submit(graph.invalidate, "a")
        theirs = pool.submit(stranger.invalidate, "c")

    assert set(outcomes(ours.result())) == {"a", "b"}
    assert set(outcomes(theirs.result())) == {"c", "b"}
    assert graph.statuses() == {"a": "Invalid", "b": "Invalid"}
    assert stranger.statuses() == {"c": "Invalid", "b": "Invalid"}


def test_cross_fleet(graph: GraphBuilder, stranger: GraphBuilder, database: Database) -> None:
    # The stranger's fleet has a dependent of a that this fleet has not, and a node of its own.
    graph.load(node("a"))
    stranger.load(node("a"), node("b"), node("own"), edge("a", "b"))
    rows = database.rows(stranger.who)

    report = graph.invalidate("a")

    assert outcomes(report) == {"a": "Invalidated"}
    with pytest.raises(NotFound):
        graph.invalidate(root_node_ids=[stranger.id("own")])
    with pytest.raises(NotFound):
        graph.invalidate("a", "own")
    with pytest.raises(NotFound):
        graph.write(lambda uow: edges.create(uow, _new_edge(graph.id("a"), stranger.id("own"))))
    assert database.rows(stranger.who) == rows


def test_a_cascade_crosses_the_graphs_of_one_fleet(store: Store, graph: GraphBuilder) -> None:
    other = GraphBuilder(store, graph.who)
    graph.load(node("a"))
    other.load(node("b"), edge("", "b", source_node_id=graph.id("a")))

    report = graph.invalidate("a")

    assert depths(report) == {"a": 0, "b": 1}
    assert other.statuses() == {"b": "Invalid"}


def test_temporal_reconstruction(graph: GraphBuilder) -> None:
    # What the graph looked like after each of five commits, asked for when all are done.
    stamps = [graph.load(node("a"), node("b"))]
    stamps.append(graph.load(edge("a", "b", "SupportedBy")))
    stamps.append(_committed(graph.invalidate("a", effective_time=DAY)))
    stamps.append(graph.load(node("b", status="Valid"), node("c"), edge("b", "c")))
    stamps.append(graph.stamp(lambda uow: nodes.delete(uow, graph.id("a"), None)))
    before = stamps[0] - timedelta(microseconds=1)

    seen = [_statuses_at(graph, as_of) for as_of in [before, *stamps]]

    assert seen == [
        ({}, 0),
        ({"a": "Valid", "b": "Valid"}, 0),
        ({"a": "Valid", "b": "Valid"}, 1),
        ({"a": "Invalid", "b": "Invalid"}, 1),
        ({"a": "Invalid", "b": "Valid", "c": "Valid"}, 2),
        ({"b": "Valid", "c": "Valid"}, 1),
    ]
    # The microsecond before a commit still shows what was so before it.
    assert _statuses_at(graph, stamps[2] - timedelta(microseconds=1)) == seen[2]


def test_superseding(graph: GraphBuilder) -> None:
    # b depends on a until DAY + 1h. The older request, for DAY, would take b along; it has not begun when the newer
    # one, for DAY + 2h, comes, by which time b no longer depends on a. So b stays, and a keeps the earlier time.
    graph.load(node("a"), node("b"), edge("a", "b", effective_to=DAY + HOUR))
    older = _accept(graph, "a", effective_time=DAY)
    newer = _accept(graph, "a", effective_time=DAY + 2 * HOUR)

    superseded = graph.read(lambda view: runs.get(view, older.run.run_id))
    assert superseded.run.run_status == "Superseded"
    assert superseded.run.superseded_by_run_id == newer.run.run_id
    assert newer.run.run_status == "Pending"
    assert graph.statuses() == {}

    invalidate.resume(graph.store, graph.who, older.run.run_id)
    assert graph.statuses() == {}
    assert graph.read(lambda view: runs.get(view, older.run.run_id)) == superseded
    assert superseded.by_outcome == {}

    invalidate.resume(graph.store, graph.who, newer.run.run_id)
    done = graph.read(lambda view: runs.get(view, newer.run.run_id))
    assert (done.run.run_status, done.by_outcome) == ("Completed", {"Invalidated": 1})
    assert graph.statuses() == {"a": "Invalid"}
    assert graph.node("a").invalid_since == DAY
    assert graph.node("a").updated_at == done.run.committed_at


def test_superseding_over_three_requests_keeps_the_earliest_time(graph: GraphBuilder) -> None:
    graph.load(node("a"), node("b"), edge("a", "b"))
    runs = [_accept(graph, "a", effective_time=DAY + hours * HOUR) for hours in range(3)]

    for run in runs:
        invalidate.resume(graph.store, graph.who, run.run.run_id)

    assert [_status(graph, run) for run in runs] == ["Superseded", "Superseded", "Completed"]
    assert graph.node("a").invalid_since == DAY
    assert graph.node("b").invalid_since == DAY


STRONG = {"policy": "strict", "propagation": "transitive", "override_pinned": True}


@pytest.mark.parametrize(
    ("older", "newer", "is_superseded"),
    [
        pytest.param({}, {}, True, id="the same roots and options"),
        pytest.param({}, {"root_keys": ["a", "b"]}, True, id="one root more"),
        pytest.param({"root_keys": ["a", "b"]}, {}, False, id="one root less"),
        pytest.param({}, {"root_keys": ["b"]}, False, id="another root"),
        pytest.param({}, STRONG, True, id="all options stronger"),
        pytest.param({"status": "PotentiallyStale"}, {}, True, id="a graver status"),
        pytest.param({}, {"status": "PotentiallyStale"}, False, id="a lighter status"),
        pytest.param({"policy": "strict"}, {}, False, id="a weaker policy"),
        pytest.param({"propagation": "transitive"}, {}, False, id="a weaker propagation"),
        pytest.param({"override_pinned": True}, {}, False, id="pins no longer overridden"),
        pytest.param({}, {"effective_time": DAY, "root_keys": ["a", "b"]}, False, id="no later time"),
        pytest.param({}, {"effective_time": DAY - HOUR}, False, id="an earlier time"),
        pytest.param({}, {"effective_time": None}, True, id="now"),
    ],
)
def test_superseding_only_what_the_newer_request_covers(
    graph: GraphBuilder, older: dict[str, Any], newer: dict[str, Any], is_superseded: bool
) -> None:
    graph.load(node("a"), node("b"))
    roots = {"root_keys": ["a"]}
    first = _accept(graph, **roots | {"effective_time": DAY} | older)

    second = _accept(graph, **roots | {"effective_time": DAY + HOUR} | newer)

    assert _status(graph, first) == ("Superseded" if is_superseded else "Pending")
    for run in (first, second):
        invalidate.resume(graph.store, graph.who, run.run.run_id)
    assert _status(graph, first) == ("Superseded" if is_superseded else "Completed")
    assert graph.node("b" if newer.get("root_keys") == ["b"] else "a").status != "Valid"


def test_superseding_by_a_request_carried_out_at_once(graph: GraphBuilder, stranger: GraphBuilder) -> None:
    for each in (graph, stranger):
        each.load(node("a"))
    older = _accept(graph, "a", effective_time=DAY)
    theirs = _accept(stranger, "a", effective_time=DAY)

    newer = graph.invalidate("a", effective_time=DAY + HOUR)

    assert _status(graph, older) == "Superseded"
    assert newer.run.run_status == "Completed"
    assert graph.node("a").invalid_since == DAY
    assert _status(stranger, theirs) == "Pending"
    assert stranger.statuses() == {}


def test_superseding_spares_a_run_that_is_done(graph: GraphBuilder) -> None:
    graph.load(node("a"))
    older = graph.invalidate("a", effective_time=DAY)

    graph.invalidate("a", effective_time=DAY + HOUR)

    assert _status(graph, older) == "Completed"


def test_superseding_keeps_the_answer_to_the_same_request(graph: GraphBuilder) -> None:
    # The same roots, time and options return the first run, also where it was superseded meanwhile.
    graph.load(node("a"))
    older = _accept(graph, "a", effective_time=DAY)
    _accept(graph, "a", effective_time=DAY + HOUR)

    again = _accept(graph, "a", effective_time=DAY)

    assert again.run.run_id == older.run.run_id


def test_pending_runs_left_by_a_stopped_service_are_carried_out(graph: GraphBuilder, stranger: GraphBuilder) -> None:
    for each in (graph, stranger):
        each.load(node("a"), node("b"), edge("a", "b"))
    runs = [(each, _accept(each, "a", effective_time=DAY)) for each in (graph, stranger)]

    invalidate.resume_pending(graph.store)

    for each, run in runs:
        assert _status(each, run) == "Completed"
        assert each.statuses() == {"a": "Invalid", "b": "Invalid"}


def test_pinned(graph: GraphBuilder) -> None:
    # a → p → c, p pinned: recorded as reached, never changed, and nothing goes through it. The root q is pinned too.
    pin = {"is_pinned": True, "pinned_by": "ana", "pin_reason": "Checked"}
    graph.load(node("a"), node("p", **pin), node("c"), node("q", **pin), edge("a", "p"), edge("p", "c"))

    report = graph.invalidate("a", "q")

    assert outcomes(report) == {"a": "Invalidated", "p": "SkippedPinned", "q": "SkippedPinned"}
    assert depths(report) == {"a": 0, "p": 1, "q": 0}
    assert report.by_status == {"Invalid": 1}
    assert graph.statuses() == {"a": "Invalid"}
    assert graph.node("p").version == graph.node("q").version == 1
    via = {i.key: i.via_edge_id for i in report.impacts.items}
    assert via == {"a": None, "p": graph.edge_id("a", "p"), "q": None}


def test_pinned_and_overridden(graph: GraphBuilder) -> None:
    pin = {"is_pinned": True, "pinned_by": "ana", "pin_reason": "Checked"}
    graph.load(node("a"), node("p", **pin), node("c"), edge("a", "p"), edge("p", "c"))

    report = graph.invalidate("a", override_pinned=True)

    assert outcomes(report) == dict.fromkeys("apc", "Invalidated")
    assert graph.node("p").is_pinned  # the pin stays: it is the status that was overridden


def test_rule_fix_the_invalidation_half(graph: GraphBuilder, stranger: GraphBuilder) -> None:
    # Version 1 of a rule: `stated` holds an assertion under it, `supported` has a support that applies under it.
    # Version 2 takes effect at DAY and ends version 1 there. `stated` has lost what it states: Invalid, and `built`,
    # which requires it, with it. `supported` has lost a support but not its word: PotentiallyStale.
    # `free` rests on another rule, `over` on an assertion that had ended before DAY.
    lines = [
        rule("returns", "1", effective_at=DAY - 48 * HOUR),
        rule("taxes", "1", effective_at=DAY - 48 * HOUR),
        *map(node, ["stated", "built", "supported", "ground", "next", "free", "over"]),
        assertion("stated", "Within 30 days.", rule_name="returns", rule_version="1"),
        assertion("free", "Twenty per cent.", rule_name="taxes", rule_version="1"),
        assertion("over", "Long ago.", rule_name="returns", rule_version="1", effective_to=DAY - 24 * HOUR),
        edge("stated", "built"),
        edge("ground", "supported", "SupportedBy", rule_name="returns", rule_version="1"),
        edge("supported", "next"),
    ]
    for each in (graph, stranger):
        each.load(*lines)

    made, reports = graph.write(lambda uow: rules.create(uow, NewRule(name="returns", version="2", effective_at=DAY)))

    assert graph.statuses() == {"stated": "Invalid", "built": "Invalid", "supported": "PotentiallyStale"}
    assert [outcomes(report) for report in reports] == [
        {"stated": "Invalidated", "built": "Invalidated"},
        {"supported": "MarkedPotentiallyStale"},
    ]
    assert graph.node("stated").invalid_since == DAY
    assert (made.effective_at, made.expires_at) == (DAY, None)
    versions = graph.read(lambda view: rules.page(view, name="returns", limit=10, cursor=None)).items
    assert {each.version: each.expires_at for each in versions} == {"1": DAY, "2": None}
    assert stranger.statuses() == {}
    theirs = stranger.read(lambda view: rules.page(view, name="returns", limit=10, cursor=None)).items
    assert [(each.version, each.expires_at) for each in theirs] == [("1", None)]


def _committed(report: Report) -> datetime:
    assert report.run.committed_at is not None
    return report.run.committed_at


def _accept(graph: GraphBuilder, *keys: str, **options: Any) -> Report:
    return graph.write(lambda uow: invalidate.accept(uow, graph.request(*keys, **options)))


def _status(graph: GraphBuilder, report: Report) -> str:
    return graph.read(lambda view: runs.get(view, report.run.run_id)).run.run_status


def _statuses_at(graph: GraphBuilder, as_of: datetime) -> tuple[dict[str | None, str], int]:
    with open_snapshot(graph.store, graph.who, graph.graph_id, as_of) as snapshot:
        found = {row.key: row.status for row in snapshot.nodes}  # type: ignore[union-attr]
        return found, len(list(snapshot.edges))


def _new_edge(source: UUID, target: UUID) -> NewEdge:
    return NewEdge(source_node_id=source, target_node_id=target, edge_type="Requires")
