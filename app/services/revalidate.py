"""Revalidation (SEMANTICS 6): corrections and events in, runs and their decisions out."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from uuid import UUID, uuid4

from app.domain.errors import Conflict, Invalid, NotFound
from app.domain.instants import in_words
from app.domain.models import MemoryNode, Page, RevalidationDecision, RevalidationRun
from app.schemas.revalidation import Correction, NewRevalidation
from app.services import corrections, cursors, graphs, rules
from app.services.agenda import on_circles
from app.services.looks import Budget, Scope, look
from app.services.nodes import get as get_node
from app.services.nodes import named
from app.services.reports import RevalidationReport
from app.store.repositories.outbox import ClaimedEvent
from app.store.unit import UnitOfWork, View

FIRST_PAGE = 100

_CAUSES = {
    "InvalidationCompleted": "Invalidation",
    "EdgeAdded": "Edge",
    "EdgeChanged": "Edge",
    "EdgeRemoved": "Edge",
    "NodeUnpinned": "Pin",
    "BaseConfidenceChanged": "BaseConfidence",
    "RuleVersionAdded": "Rule",
}


# Asked for by a caller


def revalidate(uow: UnitOfWork, body: NewRevalidation) -> RevalidationReport:
    """Look at corrected roots, or at nodes as they are, and at everything that follows, in one transaction.

    Raises ``NotFound`` for an unknown node, ``Conflict`` for a pinned one that is corrected, and ``Invalid`` for a time
    in the future.
    """
    run, scope = _read(uow, body)
    uow.revalidations.add(run, None)
    look(uow, run, scope)
    _finish(uow, run)
    _explain_corrections(uow, run, scope, body)
    return get(uow, run.run_id)


def accept(uow: UnitOfWork, body: NewRevalidation) -> RevalidationReport:
    """Record the run, and leave the looking to a worker."""
    run, scope = _read(uow, body)
    uow.outbox.add("RevalidationRequested", run.run_id, uow.stamp)
    uow.revalidations.add(run, uow.outbox.last())
    uow.revalidations.save_scope(run.run_id, scope.rows())
    return get(uow, run.run_id)


def stand_by(uow: UnitOfWork, node: MemoryNode, footing: str, reason: str | None) -> RevalidationRun:
    """A decision by a person or an agent that the node holds: it is Valid until its ground changes."""
    refuse_pinned(node)
    run = new_run(uow, "Decision", reason=reason)
    uow.revalidations.add(run, None)
    scope = Scope()
    scope.pending = {node.memory_node_id}
    scope.decided = {node.memory_node_id: footing}
    look(uow, run, scope)
    _finish(uow, run)
    return run


def new_run(
    uow: UnitOfWork,
    cause: str,
    *,
    reason: str | None = None,
    invalidation_run_id: UUID | None = None,
    effective_time: datetime | None = None,
    invalid_since: datetime | None = None,
) -> RevalidationRun:
    """A run that has not looked at anything yet; it looks at the edges that are active now."""
    at = effective_time or uow.stamp
    return RevalidationRun(
        uuid4(), cause, invalidation_run_id, "Pending", None, reason, at, invalid_since or at, uow.stamp, None
    )


def refuse_pinned(node: MemoryNode) -> None:
    if node.is_pinned:
        raise Conflict(f"Memory node {node.memory_node_id} is pinned and keeps its status; take the pin away first.")


def _read(uow: UnitOfWork, body: NewRevalidation) -> tuple[RevalidationRun, Scope]:
    """The run, and what it begins with. New content and rules are written; open reviews of corrected nodes close."""
    if body.effective_time is not None and body.effective_time > uow.stamp:
        raise Invalid(f"effectiveTime lies in the future; it is {in_words(uow.stamp)}.", "/effectiveTime")
    if body.graph_id is not None:
        graphs.get(uow, body.graph_id)
    corrected = {node.memory_node_id: node for node in _nodes(uow, body, body.root_node_ids, body.root_keys)}
    for correction in body.corrections:
        node = _correct(uow, body.graph_id, correction)
        corrected[node.memory_node_id] = node
    scope = Scope()
    scope.pending = {node.memory_node_id for node in _nodes(uow, body, body.memory_node_ids, body.keys)}
    rule_id = rules.referred(uow, body.source_rule_id, body.rule_name, body.rule_version)
    if rule_id:
        stating, supported = corrections.rest_on(uow, rule_id)
        corrected |= {node_id: get_node(uow, node_id) for node_id in stating}
        scope.pending.update(supported)
    if body.whole_graph and body.graph_id:
        scope.pending.update(uow.revalidations.named_by_graph(body.graph_id))
    for node in corrected.values():
        refuse_pinned(node)
        uow.reviews.close(node.memory_node_id, "Correct", uow.stamp)
    scope.decided = dict.fromkeys(corrected, "Corrected")
    scope.pending.update(corrected)
    cause = "Correction" if corrected else "Rule" if rule_id else "ByHand"
    return new_run(uow, cause, reason=body.reason, effective_time=body.effective_time), scope


def _nodes(view: View, body: NewRevalidation, ids: Iterable[UUID], keys: Iterable[str]) -> list[MemoryNode]:
    by_id = {id_: view.nodes.find(id_) for id_ in ids}
    by_key = {key: view.nodes.find_by_key(body.graph_id, key) if body.graph_id else None for key in keys}
    found = [*by_id.items(), *by_key.items()]
    unknown = [name for name, node in found if node is None]
    if unknown:
        raise NotFound("Memory node", unknown)
    return [node for _, node in found if node]


def _correct(uow: UnitOfWork, graph_id: UUID | None, correction: Correction) -> MemoryNode:
    node = named(uow, graph_id, correction.key, correction.memory_node_id)
    if correction.content is not None:
        corrections.restate(
            uow, node, correction.content, category=correction.category, importance=correction.importance
        )
    if correction.base_confidence is not None and correction.base_confidence != node.base_confidence:
        uow.nodes.update(node._replace(base_confidence=correction.base_confidence))
    return node


def _explain_corrections(uow: UnitOfWork, run: RevalidationRun, scope: Scope, body: NewRevalidation) -> None:
    for node_id in scope.decided:
        uow.revalidations.explain(
            run.run_id,
            node_id,
            decision="Correct",
            decided_by=body.decided_by,
            explanation=body.reason,
            certainty=None,
        )


# Asked for by an event


def handle(uow: UnitOfWork, event: ClaimedEvent, budget: Budget) -> bool:
    """Carry on with the run of an event; False while something is left for another transaction.

    Overtaken by a newer cascade that touched what is still to be looked at, the run ends and leaves that to the newer
    one's event (SEMANTICS 6, Cancellation).
    """
    run = uow.revalidations.find_by_event(event.outbox_event_id)
    if run is None:
        begun = _begin(uow, event.event_type, event.subject_id, event.outbox_event_id)
        if begun is None:
            return True
        run, scope = begun
    elif run.run_status != "Pending":
        return True
    else:
        scope = Scope(uow.revalidations.scope(run.run_id))
    if event.event_type == "InvalidationCompleted":
        uow.reviews.close_fallen(event.subject_id, uow.stamp)
        uow.reviews.open_requested(event.subject_id, uow.stamp)  # where the procedure was called by itself
    if scope.pending and _leave_to_newer(uow, run, scope, event.outbox_event_id):
        return True
    look(uow, run, scope, budget)
    if scope.pending:
        uow.revalidations.save_scope(run.run_id, scope.rows())
        return False
    _finish(uow, run)
    return True


def _begin(
    uow: UnitOfWork, event_type: str, subject_id: UUID, outbox_event: int
) -> tuple[RevalidationRun, Scope] | None:
    """The run of an event with the nodes it names; None where what it tells of is gone."""
    scope = Scope()
    if event_type == "InvalidationCompleted":
        cascade = uow.invalidations.find(subject_id)
        if cascade is None:
            return None
        run = new_run(uow, "Invalidation", invalidation_run_id=subject_id, invalid_since=cascade.effective_time)
        _name_after(uow, run, subject_id, scope)
    elif event_type == "RuleVersionAdded":
        run = new_run(uow, "Rule")
        scope.pending = set(uow.revalidations.named_by_rule(subject_id))
    else:
        node = uow.nodes.find(subject_id)
        if node is None:
            return None
        run = new_run(uow, _CAUSES[event_type])
        scope.pending = {subject_id}
        if node.status == "Invalid":  # it may stand no longer, or again, for what it replaces
            scope.pending |= uow.looks.replaced(scope.pending)
    uow.revalidations.add(run, outbox_event)
    return run, scope


def _name_after(uow: UnitOfWork, run: RevalidationRun, cascade_id: UUID, scope: Scope) -> None:
    replaced, shaken = set(), set()
    for name in uow.revalidations.named_by_invalidation(cascade_id):
        if name.is_shaken:
            shaken.add(name.memory_node_id)
            continue
        scope.pending.add(name.memory_node_id)
        if name.old_status:
            scope.before[name.memory_node_id] = name.old_status
        if name.is_replaced:
            replaced.add(name.memory_node_id)
    further = uow.looks.replaced(replaced) | on_circles(uow.looks, shaken, run.effective_time)
    scope.pending |= further
    scope.before |= uow.looks.at(further).statuses_before(cascade_id)


def _leave_to_newer(uow: UnitOfWork, run: RevalidationRun, scope: Scope, outbox_event: int) -> bool:
    newer = uow.looks.at(scope.pending).overtaking(run.run_id, outbox_event)
    if newer is None:
        return False
    other = uow.revalidations.find_by_event(newer.outbox_event_id)
    if other:
        theirs = Scope(uow.revalidations.scope(other.run_id))
    else:
        begun = _begin(uow, "InvalidationCompleted", newer.invalidation_run_id, newer.outbox_event_id)
        assert begun is not None  # noqa: S101 - the cascade was just found
        other, theirs = begun
    theirs.pending |= scope.pending
    theirs.decided |= scope.decided
    theirs.before |= scope.before
    uow.revalidations.save_scope(other.run_id, theirs.rows())
    uow.revalidations.end(run.run_id, "Superseded", newer.invalidation_run_id, uow.stamp)
    return True


def _finish(uow: UnitOfWork, run: RevalidationRun) -> None:
    """The run is done; the fleet is told where anything came of it."""
    uow.revalidations.end(run.run_id, "Completed", None, uow.stamp)
    outcomes = uow.revalidations.count_by_outcome(run.run_id)
    if outcomes.keys() & {"NeedsReview", "AwaitingAgent"} or uow.revalidations.count_changed(run.run_id):
        uow.outbox.tell("RevalidationCompleted", run.run_id, uow.stamp)


# Asked about


def get(view: View, run_id: UUID) -> RevalidationReport:
    """A run with its counts, its child runs and its first decisions."""
    run = _known(view, run_id)
    return RevalidationReport(
        run,
        view.revalidations.count_by_outcome(run_id),
        view.revalidations.children(run_id),
        decisions(view, run_id, outcome=None, limit=FIRST_PAGE, cursor=None),
    )


def page(
    view: View, *, invalidation_run_id: UUID | None = None, limit: int, cursor: str | None
) -> Page[RevalidationRun]:
    """Runs, newest first; of one cascade, or all."""
    before, after = cursors.decode(cursor or None, cursors.instant, UUID)
    rows = view.revalidations.page(invalidation_run_id, before, after, limit + 1)
    return cursors.cut(rows, limit, lambda run: (run.requested_at, run.run_id))


def decisions(
    view: View, run_id: UUID, *, outcome: str | None, limit: int, cursor: str | None
) -> Page[RevalidationDecision]:
    """Decisions of a run by node."""
    _known(view, run_id)
    return cursors.page_by_id(
        lambda after, count: list(view.revalidations.decisions(run_id, outcome, after, count)), limit, cursor
    )


def all_decisions(view: View, run_id: UUID) -> Iterator[RevalidationDecision]:
    """Every decision of a run by node, as it is read."""
    _known(view, run_id)
    return view.revalidations.all_decisions(run_id)


def _known(view: View, run_id: UUID) -> RevalidationRun:
    run = view.revalidations.find(run_id)
    if run is None:
        raise NotFound("Revalidation run", [run_id])
    return run
