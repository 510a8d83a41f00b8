"""Revalidation call by call: corrections, by hand, after events; reviews and tasks; what is refused (SEMANTICS 6)."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from app.domain.errors import Conflict, Invalid, NotFound
from app.domain.models import OutboxEvent, RevalidationDecision
from app.schemas import EdgePatch, NewEdge, NewRule, NodePatch
from app.schemas.revalidation import (
    Correction,
    NewDecision,
    NewRevalidation,
    NewWebhook,
    TaskClaim,
    TaskDecision,
    TaskHeartbeat,
)
from app.services import assertions, drain_outbox, edges, events, nodes, revalidate, reviews, rules, runs, webhooks
from app.services.reports import DecisionReport, OpenReview, RevalidationReport
from tests.contract.builder import DAY, GraphBuilder, edge, fresh_principal, node, rule
from tests.contract.builder import assertion as assertion_line
from tests.contract.draining import claimant, drain
from tests.contract.engines import Database, Engine


@pytest.fixture(scope="module")
def own(engine: Engine) -> Iterator[Database]:
    """A database whose outbox no other test fills."""
    database = engine.new_database()
    yield database
    database.store.dispose()


@pytest.fixture
def graph(own: Database) -> GraphBuilder:
    return GraphBuilder(own.store, fresh_principal())


def correct(graph: GraphBuilder, *keys: str, **more: Any) -> RevalidationReport:
    body = NewRevalidation(graph_id=graph.graph_id, root_keys=list(keys), **more)
    return graph.write(lambda uow: revalidate.revalidate(uow, body))


def found(report: RevalidationReport) -> dict[str, str]:
    """Outcomes by key, with the reason of a review."""
    assert report.decisions.next_cursor is None
    return {str(d.key): d.outcome + (f" {d.review_reason}" if d.review_reason else "") for d in report.decisions.items}


def decision_on(report: RevalidationReport, key: str) -> RevalidationDecision:
    return next(decision for decision in report.decisions.items if decision.key == key)


def queue(graph: GraphBuilder, kind: str = "Review") -> list[OpenReview]:
    return graph.read(lambda view: reviews.page(view, kind=kind, graph_id=None, limit=100, cursor=None)).items


def review_of(graph: GraphBuilder, key: str) -> OpenReview:
    return next(item for item in queue(graph) if item.review.key == key)


def decide(graph: GraphBuilder, review_id: UUID, decision: str, **more: Any) -> DecisionReport:
    body = NewDecision(**{"decision": decision, "decided_by": "ana", "reason": "seen", **more})
    return graph.write(lambda uow: reviews.decide(uow, review_id, body))


def told(graph: GraphBuilder) -> list[str]:
    return [event.event_type for event in graph.read(lambda view: events.after(view, 0))]


# Corrections


def test_a_correction_restores_what_rested_on_it_in_order(graph: GraphBuilder) -> None:
    graph.load(node("a"), node("b"), node("c"), edge("a", "b"), edge("b", "c", "DerivedFrom"))
    graph.invalidate("a")
    drain(graph)
    assert graph.statuses() == {"a": "Invalid", "b": "Invalid", "c": "Invalid"}

    report = correct(graph, "a", reason="The document was genuine.", decided_by="ana")

    assert found(report) == {"a": "Restored", "b": "Restored", "c": "Restored"}
    assert graph.statuses() == {}
    assert {(n.invalidation, n.invalid_since) for n in graph.nodes().values()} == {(None, None)}
    root = decision_on(report, "a")
    assert (root.decision, root.decided_by, root.explanation) == ("Correct", "ana", "The document was genuine.")
    assert (root.old_status, root.new_status) == ("Invalid", "Valid")
    assert decision_on(report, "b").decision is None
    assert (report.run.cause, report.run.run_status) == ("Correction", "Completed")
    assert told(graph) == ["InvalidationCompleted", "RevalidationCompleted"]  # the look after it changed nothing


def test_a_node_is_restored_only_when_its_last_missing_ground_is_back(graph: GraphBuilder) -> None:
    graph.load(node("a"), node("b"), node("c"), edge("a", "c"), edge("b", "c"))
    graph.invalidate("a")
    graph.invalidate("b")
    drain(graph)

    assert found(correct(graph, "a")) == {"a": "Restored", "c": "StillInvalid"}
    assert found(correct(graph, "b")) == {"b": "Restored", "c": "Restored"}
    assert graph.statuses() == {}


def test_good_supports_alone_never_restore_what_is_directly_invalid(graph: GraphBuilder) -> None:
    graph.load(node("a"), node("b"), edge("a", "b"))
    graph.invalidate("b")
    graph.invalidate("a")
    drain(graph)

    assert found(correct(graph, "a")) == {"a": "Restored", "b": "StillInvalid"}
    assert graph.statuses() == {"b": "Invalid"}


def test_a_corrected_root_without_ground_is_invalid_for_want_of_it(graph: GraphBuilder) -> None:
    graph.load(node("a"), node("b"), edge("a", "b"))
    graph.invalidate("a", "b")
    drain(graph)

    assert found(correct(graph, "b")) == {"b": "StillInvalid"}
    assert graph.node("b").invalidation == "Derived"
    assert found(correct(graph, "a")) == {"a": "Restored", "b": "Restored"}


def test_a_correction_brings_new_content_for_all_of_the_time(graph: GraphBuilder) -> None:
    graph.load(node("a", content="The limit is 5."), node("b"), edge("a", "b"))
    graph.load(assertion_line("a", "It was 3.", effective_to=DAY))
    graph.invalidate("a")

    body = NewRevalidation(
        graph_id=graph.graph_id,
        corrections=[Correction(key="a", content="The limit is 7.", importance=0.9, base_confidence=0.5)],
    )
    report = graph.write(lambda uow: revalidate.revalidate(uow, body))

    assert found(report) == {"a": "Restored", "b": "Restored"}
    assert (graph.node("a").confidence, graph.node("b").confidence) == (0.5, 0.5)
    rows = graph.read(lambda view: assertions.page(view, memory_node_id=graph.id("a"), limit=10, cursor=None)).items
    stated = {row.content: row for row in rows}
    assert stated["The limit is 5."].retracted_at == stated["The limit is 7."].observed_at
    assert stated["The limit is 7."].retracted_at is None
    assert (stated["The limit is 7."].importance, stated["The limit is 7."].effective_from) == (0.9, None)
    assert stated["It was 3."].retracted_at is None  # its time was over: nobody said that it was wrong


def test_what_cannot_be_corrected_is_refused_and_changes_nothing(own: Database, graph: GraphBuilder) -> None:
    graph.load(node("a", is_pinned=True, pinned_by="ana", pin_reason="seen"), node("b"))
    other = GraphBuilder(own.store, fresh_principal())
    other.load(node("x"))
    rows = own.rows(graph.who)

    with pytest.raises(Conflict, match="pinned"):
        correct(graph, "a")
    with pytest.raises(NotFound, match="nobody"):
        correct(graph, "b", keys=["nobody"])
    with pytest.raises(NotFound):
        correct(graph, root_node_ids=[other.id("x")])
    with pytest.raises(Invalid, match="future"):
        correct(graph, "b", effective_time=graph.node("b").valid_from + timedelta(days=1))
    with pytest.raises(NotFound):
        graph.read(lambda view: revalidate.get(view, uuid4()))

    assert own.rows(graph.who) == rows


def test_nodes_can_be_looked_at_as_they_are(graph: GraphBuilder) -> None:
    graph.load(node("a", status="Invalid"), node("b"), node("c"), edge("a", "b"), edge("b", "c"))

    report = correct(graph, keys=["b"])

    assert report.run.cause == "ByHand"
    assert found(report) == {"b": "StillInvalid", "c": "StillInvalid"}
    child = graph.read(lambda view: runs.get(view, report.child_run_ids[0]))
    assert child.root_node_ids == [graph.id("b")]
    assert (child.by_outcome, child.run.parent_run_id) == ({"Invalidated": 2}, None)
    assert graph.node("b").invalidation == "Derived"


def test_a_whole_graph_can_be_looked_at(graph: GraphBuilder) -> None:
    graph.load(*(node(key) for key in "abc"), edge("a", "b"))
    report = correct(graph, whole_graph=True)
    assert found(report) == {"a": "RemainsValid", "b": "RemainsValid", "c": "RemainsValid"}
    assert told(graph) == []  # nothing came of it


def test_a_worker_carries_out_what_is_only_recorded(graph: GraphBuilder) -> None:
    graph.load(node("a"), node("b"), edge("a", "b"))
    graph.invalidate("a")
    drain(graph)
    body = NewRevalidation(graph_id=graph.graph_id, root_keys=["a"])

    report = graph.write(lambda uow: revalidate.accept(uow, body))

    assert (report.run.run_status, found(report)) == ("Pending", {})
    assert graph.statuses() == {"a": "Invalid", "b": "Invalid"}
    drain(graph)
    done = graph.read(lambda view: revalidate.get(view, report.run.run_id))
    assert (done.run.run_status, found(done)) == ("Completed", {"a": "Restored", "b": "Restored"})


# Early cutoff


def test_a_node_that_is_as_it_was_is_no_reason_to_look_further(graph: GraphBuilder) -> None:
    """Of two grounds with full confidence one falls: the group holds, and nothing behind it is looked at."""
    grouped = {"support_group": "g", "min_support": 1}
    chain = [f"x{i}" for i in range(50)]
    graph.load(
        *(node(key) for key in ("a", "b", "c", *chain)),
        edge("a", "c", "SupportedBy", **grouped),
        edge("b", "c", "SupportedBy", **grouped),
        *(edge(source, target) for source, target in zip(["c", *chain], chain, strict=False)),
    )
    graph.invalidate("a")

    (report,) = drain(graph)

    assert found(report) == {"c": "RemainsValid"}
    assert found(correct(graph, "a")) == {"a": "Restored", "c": "RemainsValid"}


def test_confidence_travels_as_far_as_it_changes(graph: GraphBuilder) -> None:
    """c rests on b or d: 1 - (1 - 0.5)(1 - 0.8) = 0.9, and on d alone 0.8; e needs c, and to f it adds nothing."""
    graph.load(
        node("b", base_confidence=0.5),
        node("d", base_confidence=0.8),
        *(node(key) for key in "cefyz"),
        edge("b", "c", "SupportedBy", support_group="g", min_support=1),
        edge("d", "c", "SupportedBy", support_group="g", min_support=1),
        edge("c", "e"),
        edge("c", "f", "SupportedBy", weight=0.0),
        edge("z", "f", "SupportedBy"),
        edge("f", "y"),
    )
    correct(graph, whole_graph=True)
    assert graph.node("c").confidence == pytest.approx(0.9)
    graph.invalidate("b")

    (report,) = drain(graph)

    assert found(report) == {"c": "RemainsValid", "e": "RemainsValid", "f": "RemainsValid"}
    assert graph.node("c").confidence == pytest.approx(0.8)
    assert graph.node("e").confidence == pytest.approx(0.8)
    assert graph.node("f").confidence == 1.0


# Events that are no invalidation


def test_edges_that_come_change_or_go_are_looked_at(graph: GraphBuilder) -> None:
    graph.load(node("a", status="Invalid"), node("b"), node("c"))
    new = NewEdge(graph_id=graph.graph_id, source="a", target="b", edge_type="Requires")
    row, _ = graph.write(lambda uow: edges.create(uow, new))
    (report,) = drain(graph)[:1]
    assert (report.run.cause, found(report)) == ("Edge", {"b": "StillInvalid"})
    assert graph.statuses() == {"a": "Invalid", "b": "Invalid"}

    ended = EdgePatch(effective_to=DAY)
    graph.write(lambda uow: edges.update(uow, row.memory_edge_id, ended, None))
    assert found(drain(graph)[0]) == {"b": "Restored"}

    graph.write(lambda uow: edges.delete(uow, row.memory_edge_id, None))
    assert found(drain(graph)[0]) == {"b": "RemainsValid"}


def test_both_ends_of_a_contradiction_are_looked_at(graph: GraphBuilder) -> None:
    graph.load(node("a"), node("b"))
    new = NewEdge(graph_id=graph.graph_id, source="a", target="b", edge_type="Contradicts")
    row, _ = graph.write(lambda uow: edges.create(uow, new))
    drain(graph)
    assert graph.statuses() == {"a": "PotentiallyStale", "b": "PotentiallyStale"}
    assert {item.review.review_reason for item in queue(graph)} == {"Contradiction"}

    graph.write(lambda uow: edges.delete(uow, row.memory_edge_id, None))
    drain(graph)
    assert graph.statuses() == {}
    assert queue(graph) == []  # resolved by itself


def test_a_pin_that_is_taken_away_and_a_new_base_are_looked_at(graph: GraphBuilder) -> None:
    graph.load(
        node("a"),
        node("b", is_pinned=True, pinned_by="ana", pin_reason="seen"),
        node("c"),
        edge("a", "b"),
        edge("b", "c"),
    )
    graph.invalidate("a")
    drain(graph)
    assert graph.statuses() == {"a": "Invalid"}

    unpin = NodePatch(is_pinned=False, pinned_by="ana")
    graph.write(lambda uow: nodes.update(uow, graph.id("b"), unpin, None))
    report = drain(graph)[0]
    assert (report.run.cause, found(report)) == ("Pin", {"b": "StillInvalid", "c": "StillInvalid"})

    correct(graph, "a")
    less = NodePatch(base_confidence=0.5)
    graph.write(lambda uow: nodes.update(uow, graph.id("b"), less, None))
    report = drain(graph)[-1]
    assert (report.run.cause, found(report)) == ("BaseConfidence", {"b": "RemainsValid", "c": "RemainsValid"})
    assert graph.node("c").confidence == 0.5


# A look that takes the ground away goes on as a child run


def test_what_a_look_finds_without_ground_falls_as_a_child_run(own: Database) -> None:
    """The request was evidential, the graph is strict: the look at b, which lost one of two, finds that it falls."""
    graph = GraphBuilder(own.store, fresh_principal(), policy="strict")
    graph.load(
        *(node(key) for key in "axbc"),
        edge("a", "b", "DerivedFrom"),
        edge("x", "b", "DerivedFrom"),
        edge("b", "c"),
    )
    first = graph.invalidate("a", policy="evidential", effective_time=DAY)
    assert graph.statuses() == {"a": "Invalid", "b": "PotentiallyStale"}

    report = drain(graph)[0]

    assert found(report) == {"b": "StillInvalid", "c": "StillInvalid"}
    child = graph.read(lambda view: runs.get(view, report.child_run_ids[0]))
    assert child.run.parent_run_id == first.run.run_id
    assert child.root_node_ids == [graph.id("b")]
    assert child.run.policy == "strict"
    assert (graph.node("b").invalidation, graph.node("b").invalid_since) == ("Derived", DAY)


def test_replaced_nodes_that_reexamine_each_other_do_not_fall_for_ever(own: Database) -> None:
    """j falls, as f replaces it: its child run re-examines d. d falls again, as h replaces it: that run, over i, a and
    k, re-examines j. Both were Invalid before, so neither falls anew."""
    graph = GraphBuilder(own.store, fresh_principal(), propagation="transitive")
    graph.load(
        *(node(key) for key in "adefghijk"),
        *(edge(source, target, "Supersedes") for source, target in ("fj", "kj", "ed", "hd", "gh")),
        *(edge(source, target, "DerivedFrom") for source, target in ("ij", "ia", "ah", "hk")),
        edge("j", "e"),
        edge("d", "i", "Contradicts"),
    )

    report = correct(graph, whole_graph=True)

    assert len(report.child_run_ids) < 9
    drain(graph)
    before = graph.statuses()
    correct(graph, whole_graph=True)
    drain(graph)
    assert graph.statuses() == before


def test_what_a_child_run_reexamines_is_looked_at_by_the_run_that_began_it(own: Database) -> None:
    """f falls with h, which it comes to require. Its child run doubts g, then i, and re-examines h, which d replaces.
    Not looked at, h would count as in doubt, f would be lifted again, and the next event would begin it all anew."""
    graph = GraphBuilder(own.store, fresh_principal(), propagation="transitive")
    graph.load(
        *(node(key) for key in "dfg"),
        *(node(key, status="Invalid", invalidation="Derived") for key in "hi"),
        edge("g", "f", "Contradicts"),
        edge("i", "h", "Supersedes"),
        edge("d", "h", "Supersedes"),
        edge("g", "i", "DerivedFrom", support_group="g", min_support=2),
    )
    correct(graph, whole_graph=True)
    drain(graph)
    new = NewEdge(graph_id=graph.graph_id, source="h", target="f", edge_type="Requires")
    graph.write(lambda uow: edges.create(uow, new))

    drain(graph)

    assert graph.statuses() == {"f": "Invalid", "h": "Invalid", "i": "Invalid"}


# Overtaken


def test_a_run_overtaken_by_a_newer_cascade_leaves_its_scope_to_it(graph: GraphBuilder) -> None:
    graph.load(*(node(key) for key in "abxcd"), edge("a", "c", "DerivedFrom"), edge("b", "c", "DerivedFrom"))
    graph.load(edge("x", "c", "DerivedFrom"), edge("a", "d", "DerivedFrom"), edge("x", "d", "DerivedFrom"))
    graph.invalidate("a")
    newer = graph.invalidate("b")

    first, second = drain(graph)

    assert (first.run.run_status, first.run.superseded_by_run_id) == ("Superseded", newer.run.run_id)
    assert found(first) == {}
    assert second.run.run_status == "Completed"
    assert found(second) == {"c": "NeedsReview PartialSupport", "d": "NeedsReview PartialSupport"}


# Reviews


@pytest.fixture
def doubted(graph: GraphBuilder) -> GraphBuilder:
    """c has lost one of its two grounds, and d rests on c."""
    graph.load(*(node(key) for key in "abcd"), edge("a", "c", "DerivedFrom"), edge("b", "c", "DerivedFrom"))
    graph.load(edge("c", "d"))
    graph.invalidate("a")
    drain(graph)
    return graph


def test_a_review_shows_the_ground_and_keeps_its_id(doubted: GraphBuilder) -> None:
    item = review_of(doubted, "c")
    assert item.review.review_reason == "PartialSupport"
    grounds = {edge.key: (edge.edge_type, edge.status) for edge in item.grounds}
    assert grounds == {"a": ("DerivedFrom", "Invalid"), "b": ("DerivedFrom", "Valid")}

    correct(doubted, keys=["c"])

    assert review_of(doubted, "c").review == item.review


def test_an_acceptance_makes_valid_and_stands(doubted: GraphBuilder) -> None:
    report = decide(doubted, review_of(doubted, "c").review.review_id, "Accept", certainty=0.8)

    accepted = decision_on(report.revalidation_run, "c")
    assert (accepted.outcome, accepted.decision, accepted.decided_by) == ("RemainsValid", "Accept", "ana")
    assert (accepted.explanation, accepted.certainty, accepted.new_status) == ("seen", 0.8, "Valid")
    assert doubted.statuses() == {"a": "Invalid"}
    assert queue(doubted) == []

    assert found(correct(doubted, whole_graph=True))["c"] == "RemainsValid"  # it stands
    doubted.invalidate("b")  # its ground changes
    drain(doubted)
    assert doubted.statuses()["c"] == "Invalid"


def test_a_rejection_cascades(doubted: GraphBuilder) -> None:
    report = decide(doubted, review_of(doubted, "c").review.review_id, "Reject", reason="no")
    assert report.invalidation_run is not None
    assert report.invalidation_run.by_outcome == {"Invalidated": 2}
    assert doubted.node("c").invalidation == "Direct"
    assert doubted.statuses() == {"a": "Invalid", "c": "Invalid", "d": "Invalid"}
    rejected = decision_on(report.revalidation_run, "c")
    assert (rejected.outcome, rejected.decision, rejected.explanation) == ("StillInvalid", "Reject", "no")
    assert (rejected.old_status, rejected.new_status) == ("PotentiallyStale", "Invalid")


def test_a_replacement_supersedes(doubted: GraphBuilder) -> None:
    doubted.load(node("c2"))
    report = decide(doubted, review_of(doubted, "c").review.review_id, "Supersede", superseded_by_key="c2")
    assert report.invalidation_run is not None
    assert doubted.node("c").invalidation == "Derived"
    assert doubted.statuses() == {"a": "Invalid", "c": "Invalid", "d": "Invalid"}


def test_a_replacement_that_does_not_stand_is_refused(own: Database, doubted: GraphBuilder) -> None:
    review_id = review_of(doubted, "c").review.review_id
    rows = own.rows(doubted.who)
    for key, error in (("a", Conflict), ("c", Invalid), ("nobody", NotFound)):
        with pytest.raises(error):
            decide(doubted, review_id, "Supersede", superseded_by_key=key)
    assert own.rows(doubted.who) == rows


def test_a_decision_on_a_ground_that_has_changed_is_refused(own: Database, doubted: GraphBuilder) -> None:
    seen = review_of(doubted, "c").review
    doubted.load(node("e"))
    new = NewEdge(graph_id=doubted.graph_id, source="e", target="c", edge_type="SupportedBy")
    doubted.write(lambda uow: edges.create(uow, new))
    rows = own.rows(doubted.who)

    with pytest.raises(Conflict, match="ground"):  # before the worker has looked
        decide(doubted, seen.review_id, "Accept")
    assert own.rows(doubted.who) == rows
    drain(doubted)
    refreshed = review_of(doubted, "c").review
    assert refreshed.review_id == seen.review_id
    with pytest.raises(Conflict, match="ground"):  # by the ground that was shown first
        decide(doubted, seen.review_id, "Accept", ground=seen.ground)
    decide(doubted, seen.review_id, "Accept", ground=refreshed.ground)
    assert doubted.statuses() == {"a": "Invalid"}


def test_a_review_is_decided_once(own: Database, doubted: GraphBuilder) -> None:
    review_id = review_of(doubted, "c").review.review_id
    decide(doubted, review_id, "Accept")
    with pytest.raises(Conflict, match="closed already, by Accept"):
        decide(doubted, review_id, "Reject")
    stranger = GraphBuilder(own.store, fresh_principal())
    with pytest.raises(NotFound):
        decide(stranger, review_id, "Accept")
    with pytest.raises(NotFound):
        decide(doubted, uuid4(), "Accept")


def test_a_review_closes_by_itself_when_the_ground_is_back(doubted: GraphBuilder) -> None:
    review_id = review_of(doubted, "c").review.review_id
    correct(doubted, "a")
    assert queue(doubted) == []
    closed = doubted.read(lambda view: reviews.get(view, review_id, "Review")).review
    assert (closed.resolution, closed.closed_at is not None) == ("Resolved", True)


def test_a_review_ends_with_its_node(doubted: GraphBuilder) -> None:
    review_id = review_of(doubted, "c").review.review_id
    doubted.write(lambda uow: nodes.delete(uow, doubted.id("c"), None))
    assert queue(doubted) == []
    with pytest.raises(NotFound):
        decide(doubted, review_id, "Accept")
    doubted.load(node("c"))  # another node, with the same id
    drain(doubted)
    assert queue(doubted) == []


def test_a_review_closes_by_itself_when_a_cascade_takes_the_node(doubted: GraphBuilder) -> None:
    doubted.load(node("n"), edge("n", "c"))
    doubted.invalidate("n")
    drain(doubted)
    assert queue(doubted) == []


def test_a_callers_doubt_waits_for_a_decision(graph: GraphBuilder) -> None:
    graph.load(node("a"), node("b"), edge("a", "b"))
    graph.invalidate("a", status="PotentiallyStale")
    assert [item.review.review_reason for item in queue(graph)] == ["Requested"]  # at once, without a worker

    drain(graph)
    correct(graph, whole_graph=True)
    assert graph.statuses() == {"a": "PotentiallyStale"}

    decide(graph, review_of(graph, "a").review.review_id, "Accept")
    assert graph.statuses() == {}


def test_a_doubt_that_was_decided_is_not_put_up_again(graph: GraphBuilder) -> None:
    """Not by the event of the request either, handled after the node has come into doubt for another reason."""
    graph.load(node("a"), node("b"), edge("b", "a", "Contradicts"))
    graph.invalidate("a", status="PotentiallyStale")
    decide(graph, review_of(graph, "a").review.review_id, "Accept")
    graph.invalidate("b")  # marks a, which it contradicts
    assert graph.statuses() == {"a": "PotentiallyStale", "b": "Invalid"}
    drain(graph)
    assert graph.statuses() == {"b": "Invalid"}
    assert queue(graph) == []


def test_a_callers_doubt_ends_in_certainty_or_in_a_correction(graph: GraphBuilder) -> None:
    graph.load(node("a"), node("b"))
    graph.invalidate("a", "b", status="PotentiallyStale")
    graph.invalidate("a")
    assert [item.review.key for item in queue(graph)] == ["b"]
    correct(graph, "a", "b")
    assert queue(graph) == []
    assert graph.statuses() == {}


def test_a_correction_does_not_outlive_a_new_invalidation(graph: GraphBuilder) -> None:
    graph.load(node("a"), node("b"), edge("a", "b"))
    graph.invalidate("b")
    correct(graph, "b")
    graph.invalidate("b")
    drain(graph)
    correct(graph, keys=["b"])
    assert graph.statuses() == {"b": "Invalid"}


# Replacement


def test_what_a_fallen_node_replaced_is_looked_at_and_falls_again_when_that_is_right_again(graph: GraphBuilder) -> None:
    graph.load(*(node(key) for key in ("old", "new", "plan")), edge("old", "plan"))
    new = NewEdge(graph_id=graph.graph_id, source="new", target="old", edge_type="Supersedes")
    graph.write(lambda uow: edges.create(uow, new))
    drain(graph)
    assert graph.statuses() == {"old": "Invalid", "plan": "Invalid"}

    graph.invalidate("new")
    drain(graph)
    assert graph.statuses() == {"new": "Invalid"}

    report = correct(graph, "new")
    assert found(report) == {"new": "Restored", "old": "StillInvalid", "plan": "StillInvalid"}
    assert graph.statuses() == {"old": "Invalid", "plan": "Invalid"}
    drain(graph)
    assert graph.statuses() == {"old": "Invalid", "plan": "Invalid"}


def test_replacements_are_followed_through_chains(graph: GraphBuilder) -> None:
    """c replaces b, which replaces a. Of the three only c stands; without it b does, and a stays replaced."""
    graph.load(*(node(key) for key in "abc"))
    for source, target in (("b", "a"), ("c", "b")):
        new = NewEdge(graph_id=graph.graph_id, source=source, target=target, edge_type="Supersedes")
        graph.write(lambda uow, new=new: edges.create(uow, new))
    drain(graph)
    assert graph.statuses() == {"a": "Invalid", "b": "Invalid"}

    graph.invalidate("c")
    drain(graph)
    assert graph.statuses() == {"a": "Invalid", "c": "Invalid"}
    graph.invalidate("b")
    drain(graph)
    assert graph.statuses() == {"b": "Invalid", "c": "Invalid"}
    correct(graph, "c")
    drain(graph)
    assert graph.statuses() == {"a": "Invalid", "b": "Invalid"}


# Tasks


@pytest.fixture
def agents(own: Database) -> GraphBuilder:
    """A graph that wants an agent's word: b and c rested on a, which is right again."""
    graph = GraphBuilder(own.store, fresh_principal(), revalidation_mode="agent")
    graph.load(node("a"), node("b", content="old"), node("c"), edge("a", "b"), edge("b", "c"))
    graph.invalidate("a")
    drain(graph)
    assert found(correct(graph, "a")) == {"a": "Restored", "b": "AwaitingAgent"}
    return graph


def claim(graph: GraphBuilder, owner: str = "one", **more: Any) -> list[OpenReview]:
    return graph.write(lambda uow: reviews.claim(uow, TaskClaim(**{"owner": owner, "limit": 10, **more})))


def answer(graph: GraphBuilder, task: OpenReview, owner: str = "one", **more: Any) -> DecisionReport:
    body = TaskDecision(**{"owner": owner, "decision": "Accept", "decided_by": owner, **more})
    return graph.write(lambda uow: reviews.decide_task(uow, task.review.review_id, body))


def test_an_agent_leases_a_node_and_its_word_counts(agents: GraphBuilder) -> None:
    (task,) = claim(agents)
    assert (task.review.key, task.review.lease_owner) == ("b", "one")
    assert {edge.key: edge.status for edge in task.grounds} == {"a": "Valid"}
    assert claim(agents, "two") == []
    assert agents.statuses() == {"b": "Invalid", "c": "Invalid"}

    report = answer(agents, task, content="new")

    assert found(report.revalidation_run) == {"b": "Restored", "c": "AwaitingAgent"}
    assert agents.statuses() == {"c": "Invalid"}
    rows = agents.read(lambda view: assertions.page(view, memory_node_id=agents.id("b"), limit=9, cursor=None)).items
    assert {row.content for row in rows if row.retracted_at is None} == {"new"}
    (next_task,) = claim(agents, "two")
    answer(agents, next_task, "two")
    assert agents.statuses() == {}
    assert queue(agents, "Task") == []


def test_only_who_holds_a_task_can_answer_it(agents: GraphBuilder) -> None:
    (task,) = claim(agents, lease_seconds=1)
    with pytest.raises(Conflict, match="two does not hold"):
        answer(agents, task, "two")
    body = TaskHeartbeat(owner="two", lease_seconds=60)
    with pytest.raises(Conflict, match="two does not hold"):
        agents.write(lambda uow: reviews.heartbeat(uow, task.review.review_id, body))
    kept = agents.write(lambda uow: reviews.heartbeat(uow, task.review.review_id, TaskHeartbeat(owner="one")))
    assert kept.review.lease_expires_at is not None
    assert task.review.lease_expires_at is not None
    assert kept.review.lease_expires_at > task.review.lease_expires_at + timedelta(seconds=50)
    answer(agents, task)
    with pytest.raises(Conflict, match="closed already"):
        answer(agents, task)


def test_a_task_whose_lease_has_run_out_is_anybodys(agents: GraphBuilder) -> None:
    (task,) = claim(agents)
    past = agents.node("a").valid_from - timedelta(days=1)
    agents.write(lambda uow: uow.reviews.lease(task.review.review_id, "one", past))
    with pytest.raises(Conflict, match="or no longer"):
        answer(agents, task)
    assert [again.review.review_id for again in claim(agents, "two")] == [task.review.review_id]


def test_an_agents_rejection_cascades(agents: GraphBuilder) -> None:
    (task,) = claim(agents)
    report = answer(agents, task, decision="Reject", reason="It does not follow.")
    assert report.invalidation_run is not None
    assert agents.node("b").invalidation == "Direct"


def test_a_task_closes_by_itself_when_its_ground_goes_again(agents: GraphBuilder) -> None:
    (task,) = claim(agents)
    agents.invalidate("a")
    with pytest.raises(Conflict, match="ground"):
        answer(agents, task)
    drain(agents)
    correct(agents, keys=["b"])
    assert queue(agents, "Task") == []


# Rules


def test_a_fixed_rule_restores_what_a_new_version_took(graph: GraphBuilder) -> None:
    graph.load(
        rule("returns", "1", effective_at=DAY),
        *(node(key) for key in "abx"),
        assertion_line("a", "30 days", rule_name="returns", rule_version="1"),
        edge("a", "b"),
        edge("x", "b", "SupportedBy", rule_name="returns", rule_version="1"),
    )
    new = NewRule(name="returns", version="2")
    row, reports = graph.write(lambda uow: rules.create(uow, new))
    assert len(reports) == 2
    assert graph.statuses() == {"a": "Invalid", "b": "Invalid"}
    drain(graph)

    fixed = NewRevalidation(rule_name="returns", rule_version="2")
    report = graph.write(lambda uow: revalidate.revalidate(uow, fixed))

    assert found(report) == {"a": "Restored", "b": "Restored"}
    assert graph.statuses() == {}
    (stated,) = graph.read(lambda view: assertions.page(view, memory_node_id=graph.id("a"), limit=9, cursor=None)).items
    assert stated.source_rule_id == row.source_rule_id
    support = graph.read(lambda view: edges.page(view, source_node_id=graph.id("x"), limit=9, cursor=None)).items[0]
    assert support.source_rule_id == row.source_rule_id


# Events


def test_a_fleet_is_told_what_happened_in_order(own: Database, doubted: GraphBuilder) -> None:
    decide(doubted, review_of(doubted, "c").review.review_id, "Accept")
    first, second, third = doubted.read(lambda view: events.after(view, 0))
    assert [first.event_type, second.event_type, third.event_type] == [
        "InvalidationCompleted",
        "RevalidationCompleted",
        "RevalidationCompleted",
    ]
    assert first.body["byOutcome"] == {"Invalidated": 1, "MarkedPotentiallyStale": 1}
    assert first.body["invalidated"] == [doubted.id("a")]
    assert second.body["needsReview"] == [doubted.id("c")]
    assert third.body["byOutcome"] == {"RemainsValid": 2}  # c differs, so d, which rests on it, was looked at
    assert doubted.read(lambda view: events.after(view, second.event_id)) == [third]
    assert GraphBuilder(own.store, fresh_principal()).read(lambda view: events.after(view, 0)) == []


def test_every_subscription_gets_a_delivery_of_what_it_wants(own: Database, graph: GraphBuilder) -> None:
    hook = NewWebhook(url="https://example.org/hook", event_types=["InvalidationCompleted"])
    wanted = graph.write(lambda uow: webhooks.create(uow, hook))
    everything = graph.write(lambda uow: webhooks.create(uow, NewWebhook(url="https://example.org/all")))
    other = GraphBuilder(own.store, fresh_principal())
    other.write(lambda uow: webhooks.create(uow, NewWebhook(url="https://example.org/other")))
    graph.load(*(node(key) for key in "abc"), edge("a", "c", "DerivedFrom"), edge("b", "c", "DerivedFrom"))
    graph.invalidate("a")

    taken: list[tuple[UUID, str]] = []

    def deliver(store: Any, event: Any) -> None:
        with store.read(graph.who) as view:
            found_event = events.find(view, event.cause_event)
        assert found_event
        taken.append((event.subject_id, found_event.event_type))

    by = claimant()
    while claimed := drain_outbox.claim(own.store, by):
        drain_outbox.work(own.store, by, claimed, deliver, lambda: False)

    assert sorted(taken) == sorted(
        [
            (wanted.webhook_id, "InvalidationCompleted"),
            (everything.webhook_id, "InvalidationCompleted"),
            (everything.webhook_id, "RevalidationCompleted"),
        ]
    )
    pending: list[OutboxEvent] = graph.read(lambda view: view.outbox.page("Pending", 0, 10))
    assert pending == []
    graph.write(lambda uow: webhooks.delete(uow, wanted.webhook_id))
    with pytest.raises(NotFound):
        graph.write(lambda uow: webhooks.delete(uow, wanted.webhook_id))
    assert [hook.webhook_id for hook in graph.read(lambda v: webhooks.page(v, limit=9, cursor=None)).items] == [
        everything.webhook_id
    ]
