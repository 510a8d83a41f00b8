"""What holds of every cascade (SEMANTICS 4), whatever the graph: laws, not answers."""

from dataclasses import replace
from datetime import datetime, timedelta

import orjson
import pytest
from hypothesis import assume, given

from app.domain.errors import IdempotencyMismatch
from app.domain.models import MemoryNode
from app.services import invalidate
from app.services.once import Stored, once
from app.services.reports import Report
from app.store.ports import Store
from tests.contract.builder import DAY, GraphBuilder, edge, node
from tests.contract.cases import examples, lines_of, options_of, state_of
from tests.contract.engines import Database
from tests.reference.cascade import CONTRADICTS, SUPERSEDES, is_active
from tests.reference.strategies import Case, cases

few = examples(60)


def without_replacements(case: Case) -> Case:
    """Re-examination can lift a node from Invalid; all the rest only ever lowers."""
    return replace(case, edges=tuple(edge for edge in case.edges if edge.type != SUPERSEDES))


def always_active(case: Case) -> Case:
    edges = tuple(
        replace(edge, effective_from=None, effective_to=None, rule_from=None, rule_to=None) for edge in case.edges
    )
    return replace(case, edges=edges)


def loaded(database: Database, case: Case) -> GraphBuilder:
    graph = GraphBuilder(database.store)
    graph.load(*lines_of(case))
    return graph


def validity(graph: GraphBuilder) -> dict[str, tuple[object, ...]]:
    return {node_id: (row.status, row.invalidation, row.invalid_since) for node_id, row in state_of(graph).items()}


@few
@given(case=cases())
def test_idempotent_the_same_explicit_time_and_options_return_the_first_run(database: Database, case: Case) -> None:
    graph = loaded(database, case)
    first = graph.invalidate(**options_of(case.request))
    rows = database.rows(graph.who)

    again = graph.invalidate(**options_of(case.request) | {"reason": "In other words."})

    assert again == first
    assert database.rows(graph.who) == rows


@few
@given(case=cases())
def test_idempotent_the_same_key_returns_the_first_answer(database: Database, case: Case) -> None:
    graph = loaded(database, case)
    options = options_of(case.request) | {"effective_time": None}
    first = _keyed(graph, "fingerprint", **options)
    rows = database.rows(graph.who)

    again = _keyed(graph, "fingerprint", **options)

    assert again == first._replace(replayed=True)
    with pytest.raises(IdempotencyMismatch):
        _keyed(graph, "another body", **options)
    assert database.rows(graph.who) == rows


def test_a_key_is_known_to_its_own_fleet_only(graph: GraphBuilder, stranger: GraphBuilder) -> None:
    for one in (graph, stranger):
        one.load(node("a"))
    first = _keyed(graph, "fingerprint", root_node_ids=[graph.id("a")])

    other = _keyed(stranger, "another body", root_node_ids=[graph.id("a")])

    assert not other.replayed
    assert other.body != first.body


def test_a_restored_root_makes_the_same_request_a_new_run(graph: GraphBuilder) -> None:
    graph.load(node("a"))
    first = graph.invalidate("a", effective_time=DAY)
    assert graph.invalidate("a", effective_time=DAY).run.run_id == first.run.run_id
    graph.load(node("a", status="Valid"))

    again = graph.invalidate("a", effective_time=DAY)

    assert again.run.run_id != first.run.run_id
    assert graph.node("a").status == "Invalid"


def test_a_root_restored_and_invalidated_by_another_run_since_was_restored(graph: GraphBuilder) -> None:
    graph.load(node("a"))
    first = graph.invalidate("a", effective_time=DAY)
    graph.load(node("a", status="Valid"))
    graph.invalidate("a")

    assert graph.invalidate("a", effective_time=DAY).run.run_id != first.run.run_id


@pytest.mark.parametrize(
    "other",
    [
        {"effective_time": DAY - timedelta(microseconds=1)},
        {"policy": "strict"},
        {"propagation": "transitive"},
        {"override_pinned": True},
        {"status": "PotentiallyStale"},
        {"root_keys": ["a", "b"]},
        {"effective_time": None},
    ],
    ids="-".join,
)
def test_a_request_that_differs_in_one_option_is_another_run(graph: GraphBuilder, other: dict[str, object]) -> None:
    graph.load(node("a"), node("b"))
    first = graph.invalidate("a", effective_time=DAY)

    assert graph.invalidate("a", **{"effective_time": DAY} | other).run.run_id != first.run.run_id


def test_an_option_left_out_is_the_graphs_default(graph: GraphBuilder) -> None:
    graph.load(node("a"))
    first = graph.invalidate("a", effective_time=DAY)

    spelt = graph.invalidate("a", effective_time=DAY, policy="evidential", propagation="frontier")

    assert spelt.run.run_id == first.run.run_id


@few
@given(case=cases())
def test_order_independence_without_replacements(database: Database, case: Case) -> None:
    """At one effective time, where nothing supersedes, C only rises over the runs as it does over the rounds, so
    {A} then {B}, {B} then {A}, and {A, B} meet in one least fixpoint, dates and directness included."""
    assume(len(case.request.roots) > 1)
    case = without_replacements(case)
    options = options_of(case.request)
    first, *others = options.pop("root_node_ids")
    ends = []
    for runs in ([first], others), (others, [first]), ([first, *others],):
        graph = loaded(database, case)
        for roots in runs:
            graph.invalidate(root_node_ids=roots, **options)
        ends.append(validity(graph))
    assert ends[0] == ends[1] == ends[2]


@few
@given(case=cases())
def test_frame_what_no_active_edge_leads_to_does_not_change(database: Database, case: Case) -> None:
    graph = loaded(database, case)
    before = state_of(graph)
    reached = _reachable(case)

    graph.invalidate(**options_of(case.request))

    assert {key: row for key, row in state_of(graph).items() if key not in reached} == {
        key: row for key, row in before.items() if key not in reached
    }


@few
@given(case=cases())
def test_frame_a_pinned_node_does_not_change_and_nothing_goes_through_it(database: Database, case: Case) -> None:
    case = replace(case, request=replace(case.request, override_pinned=False))
    graph = loaded(database, case)
    pinned = {each.id for each in case.nodes if each.pinned}
    before = state_of(graph)
    reached = _reachable(case, through={each.id for each in case.nodes} - pinned)

    graph.invalidate(**options_of(case.request))

    after = state_of(graph)
    assert all(after[key] == before[key] for key in before if key in pinned or key not in reached)


@few
@given(case=cases())
def test_later_a_second_run_at_a_later_time_changes_no_node(database: Database, case: Case) -> None:
    """Without replacements, and with the same edges active: what the first run raised, it raised for good."""
    case = always_active(without_replacements(case))
    graph = loaded(database, case)
    first = graph.invalidate(**options_of(case.request))
    before = state_of(graph)

    second = _again(graph, case, timedelta(days=1))

    assert second.run.run_id != first.run.run_id
    assert set(second.by_outcome) <= {"AlreadyAtStatus", "SkippedPinned"}
    assert state_of(graph) == before


def test_later_a_second_run_repairs_a_dependent_added_since(graph: GraphBuilder) -> None:
    # a ← b (b requires a) falls; then c comes to require b. An import does not cascade, so c is Valid on ground
    # that is gone. The second run walks a (0) → b (1), both Invalid already, and takes c (2) down.
    graph.load(node("a"), node("b"), edge("a", "b"))
    graph.invalidate("a", effective_time=DAY)
    graph.load(node("c"), edge("b", "c"))
    assert graph.statuses() == {"a": "Invalid", "b": "Invalid"}

    second = graph.invalidate("a", effective_time=DAY + timedelta(days=1))

    assert {i.key: (i.depth, i.outcome) for i in second.impacts.items} == {
        "a": (0, "AlreadyAtStatus"),
        "b": (1, "AlreadyAtStatus"),
        "c": (2, "Invalidated"),
    }
    assert graph.node("a").invalid_since == DAY
    assert graph.node("c").invalid_since == DAY + timedelta(days=1)


@few
@given(case=cases())
def test_back_dating_moves_invalid_since_back_and_nothing_else(database: Database, case: Case) -> None:
    case = always_active(without_replacements(case))
    graph = loaded(database, case)
    graph.invalidate(**options_of(case.request))
    before = state_of(graph)

    second = _again(graph, case, -timedelta(days=1))

    moved = {key: row for key, row in state_of(graph).items() if row != before[key]}
    for key, row in moved.items():
        assert (row.status, row.invalid_since) == ("Invalid", _at(second))
        assert _settled(row) == _settled(before[key])
    roots = set(case.request.roots) if case.request.status == 2 else set()
    pinned = set() if case.request.override_pinned else {each.id for each in case.nodes if each.pinned}
    assert roots - pinned <= set(moved)


def test_back_dating_is_no_error_and_moves_the_date_of_the_dependents_too(graph: GraphBuilder) -> None:
    graph.load(node("a"), node("b"), edge("a", "b"))
    graph.invalidate("a", effective_time=DAY)
    earlier = DAY - timedelta(days=30)

    report = graph.invalidate("a", effective_time=earlier)

    assert report.by_outcome == {"AlreadyAtStatus": 2}
    assert (graph.node("a").invalid_since, graph.node("b").invalid_since) == (earlier, earlier)


@few
@given(case=cases())
def test_importing_identical_lines_again_changes_nothing(database: Database, case: Case) -> None:
    graph = loaded(database, case)
    rows = database.rows(graph.who)

    graph.load(*reversed(lines_of(case)))

    assert database.rows(graph.who) == rows


def test_what_is_not_changed_by_a_run_gets_no_new_version(store: Store, database: Database) -> None:
    graph = GraphBuilder(store)
    graph.load(node("a"), node("b"), edge("a", "b"))
    graph.invalidate("a", effective_time=DAY)
    history = database.rows(graph.who)["MemoryNodesHistory"]

    graph.invalidate("a", effective_time=DAY + timedelta(days=1))

    assert database.rows(graph.who)["MemoryNodesHistory"] == history


def _keyed(graph: GraphBuilder, fingerprint: str, **options: object) -> Stored:
    return once(
        graph.store,
        graph.who,
        lambda uow: invalidate.invalidate(uow, graph.request(**options)),
        key="key",
        fingerprint=fingerprint,
        encode=lambda report, stamp: (201, orjson.dumps((report.run.run_id, stamp))),
    )


def _again(graph: GraphBuilder, case: Case, shift: timedelta) -> Report:
    options = options_of(case.request)
    return graph.invalidate(**options | {"effective_time": options["effective_time"] + shift})


def _at(report: Report) -> datetime:
    return report.run.effective_time


def _settled(row: MemoryNode) -> tuple[object, ...]:
    return row.status, row.invalidation, row.name, row.key, row.confidence, row.is_pinned


def _reachable(case: Case, through: set[str] | None = None) -> set[str]:
    """The nodes to which active edges lead from the roots, `Contradicts` in both directions."""
    steps: dict[str, set[str]] = {each.id: set() for each in case.nodes}
    for each in case.edges:
        if is_active(each, case.request.effective_time):
            steps[each.source].add(each.target)
            if each.type == CONTRADICTS:
                steps[each.target].add(each.source)
    seen, waiting = set(case.request.roots), list(case.request.roots)
    while waiting:
        current = waiting.pop()
        if through is not None and current not in through:
            continue
        for found in steps[current] - seen:
            seen.add(found)
            waiting.append(found)
    return seen
