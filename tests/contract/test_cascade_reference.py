"""The engine against the reference model of SEMANTICS 4, on random small graphs with a history."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import NotFound
from app.domain.models import Impact, MemoryNode
from app.services import runs
from app.services.reports import Report
from app.store.ports import Store
from tests.contract.builder import DAY, GraphBuilder, fresh_principal
from tests.contract.cases import STATUSES, at, counterpart, examples, key_of, lines_of, options_of, state_of
from tests.contract.engines import Database
from tests.reference import cascade as reference
from tests.reference.strategies import Case, cases, expected

INVALIDITY = {"status", "invalid_since", "invalidation"}
BOOKKEEPING = {"updated_at", "valid_from", "version"}


@examples(500)
@given(case=cases(), other_tenant=st.booleans())
def test_every_impact_and_every_node_is_what_the_reference_model_says(
    database: Database, case: Case, other_tenant: bool
) -> None:
    graph = GraphBuilder(database.store)
    graph.load(*lines_of(case))
    stranger = _stranger(database.store, graph, other_tenant)
    stranger.load(*counterpart(case))
    before, strangers = state_of(graph), database.rows(stranger.who)
    model = expected(case)

    report = graph.invalidate(**options_of(case.request))

    assert _impacts(graph, report) == _model_impacts(model)
    assert report.impacts == (_impacts(graph, report), None)
    assert [list(map(str, cycle.memory_node_ids)) for cycle in report.cycles] == model.components
    assert [cycle.component for cycle in report.cycles] == list(range(len(model.components)))
    _check_counts(report, model)
    _check_nodes(before, state_of(graph), model)
    _check_history(database, graph, before, model)
    assert database.rows(stranger.who) == strangers


@examples(100)
@given(case=cases())
def test_a_plan_is_the_real_run_and_changes_nothing(database: Database, case: Case) -> None:
    graph = GraphBuilder(database.store)
    graph.load(*lines_of(case))
    rows = database.rows(graph.who)

    planned = graph.plan(**options_of(case.request))

    assert planned.dry_run
    assert database.rows(graph.who) == rows
    done = graph.invalidate(**options_of(case.request), plan_token=planned.plan_token)
    assert not done.dry_run
    assert _effect(planned) == _effect(done)


def test_a_plan_leaves_no_run_behind(graph: GraphBuilder) -> None:
    graph.load({"kind": "node", "key": "a"})

    planned = graph.plan("a")

    with pytest.raises(NotFound):
        graph.read(lambda view: runs.get(view, planned.run.run_id))


def _stranger(store: Store, graph: GraphBuilder, other_tenant: bool) -> GraphBuilder:
    """The same graph id in a scope that differs in the tenant alone, or in the fleet alone."""
    other = fresh_principal()
    kept = {"fleet_id": graph.who.fleet_id} if other_tenant else {"tenant_id": graph.who.tenant_id}
    return GraphBuilder(store, other._replace(**kept), graph.graph_id)


def _impacts(graph: GraphBuilder, report: Report) -> list[Impact]:
    return graph.read(lambda view: list(runs.all_impacts(view, report.run.run_id)))


def _model_impacts(model: reference.Report) -> list[Impact]:
    """By depth and id, as the model orders them."""
    return [
        Impact(
            memory_node_id=UUID(impact.node_id),
            key=key_of(impact.node_id),
            depth=impact.depth,
            old_status=STATUSES[impact.old_status],
            new_status=STATUSES[impact.new_status],
            outcome=impact.outcome,
            via_edge_id=None if impact.via_edge_id is None else UUID(impact.via_edge_id),
            component=impact.component,
        )
        for impact in model.impacts.values()
    ]


def _check_counts(report: Report, model: reference.Report) -> None:
    impacts = list(model.impacts.values())
    outcomes = [impact.outcome for impact in impacts]
    assert report.by_outcome == {outcome: outcomes.count(outcome) for outcome in set(outcomes)}
    affected = [STATUSES[model.nodes[node_id].status] for node_id in model.affected]
    assert {status: count for status, count in report.by_status.items() if count} == {
        status: affected.count(status) for status in set(affected)
    }
    deepest = max(impact.depth for impact in impacts)
    assert report.by_depth == [sum(i.depth == depth for i in impacts) for depth in range(deepest + 1)]


def _check_nodes(before: dict[str, MemoryNode], after: dict[str, MemoryNode], model: reference.Report) -> None:
    assert before.keys() == after.keys()
    for node_id, old in before.items():
        new, wanted = after[node_id], model.nodes[node_id]
        assert (new.status, new.invalidation, new.invalid_since) == (
            STATUSES[wanted.status],
            wanted.invalidation,
            at(wanted.invalid_since),
        )
        if _invalidity(old) == _invalidity(new):  # the frame: not even its version differs
            assert new == old
        else:
            assert new.version == old.version + 1
            assert _differing(old, new) <= INVALIDITY | BOOKKEEPING


def _check_history(
    database: Database, graph: GraphBuilder, before: dict[str, MemoryNode], model: reference.Report
) -> None:
    """One version of each node that was changed, and none of any other."""
    changed = {
        node_id
        for node_id, old in before.items()
        if _invalidity(old)
        != (
            STATUSES[model.nodes[node_id].status],
            model.nodes[node_id].invalidation,
            at(model.nodes[node_id].invalid_since),
        )
    }
    assert len(database.rows(graph.who)["MemoryNodesHistory"]) == len(changed)


def _invalidity(node: MemoryNode) -> tuple[object, ...]:
    return node.status, node.invalidation, node.invalid_since


def _differing(old: MemoryNode, new: MemoryNode) -> set[str]:
    return {field for field in old._fields if getattr(old, field) != getattr(new, field)}


def _effect(report: Report) -> Report:
    """The report without what belongs to its own call."""
    run = report.run._replace(run_id=UUID(int=0), requested_at=DAY, committed_at=None)
    return report._replace(run=run, plan_token=None, dry_run=False)
