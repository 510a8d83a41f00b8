"""Looks at the nodes of a revalidation run, level by level, and at what rests on those that differ (SEMANTICS 6)."""

from collections.abc import Callable, Iterable, Mapping
from time import monotonic
from uuid import UUID

from app.domain.models import RevalidationRun
from app.domain.revalidation import NO_CHANGE, Subject, Support, Verdict, decide
from app.services import invalidate
from app.services.agenda import Agenda, Unit
from app.store.repositories.revalidations import ScopeRow
from app.store.unit import UnitOfWork

_LOOKS_PER_ORDER = 2
_ALL = 2**31 - 1


class Scope:
    """What a run has still to look at. It grows by what rests on nodes that differ."""

    def __init__(self, rows: Iterable[ScopeRow] = ()) -> None:
        rows = list(rows)
        self.pending = {row.memory_node_id for row in rows if row.is_pending}
        self.decided = {row.memory_node_id: row.footing for row in rows if row.footing}
        """Nodes that the run itself corrects or accepts."""
        self.before = {row.memory_node_id: row.old_status for row in rows if row.old_status and row.is_pending}
        """The status before the run that named the node, for the first look at it."""

    def rows(self) -> list[ScopeRow]:
        return [
            ScopeRow(node_id, self.decided.get(node_id), self.before.get(node_id), node_id in self.pending)
            for node_id in sorted(self.pending | self.decided.keys())
        ]


class Budget:
    """How long the looks of one transaction may take, so that the other writers of a fleet get their turn.

    A run that goes on in another transaction has to find its order again there; so where that is slow, the looks that
    follow it may take several times as long.
    """

    def __init__(self, seconds: float, is_stopping: Callable[[], bool] = lambda: False) -> None:
        self._ends = self._looks_end = monotonic() + seconds
        self._is_stopping = is_stopping

    def order_found(self, began: float) -> None:
        """The order of a run was found, which was begun at that time of the monotonic clock."""
        now = monotonic()
        self._looks_end = max(self._ends, now + _LOOKS_PER_ORDER * (now - began))

    def is_over(self) -> bool:
        """Whether a run has to leave the rest of its levels to another transaction."""
        return monotonic() > self._looks_end or self._is_stopping()

    def has_time_for_more(self) -> bool:
        """Whether another run may begin."""
        return monotonic() < self._ends and not self._is_stopping()


def look(uow: UnitOfWork, run: RevalidationRun, scope: Scope, budget: Budget | None = None) -> None:
    """Look at level after level until nothing is pending, or until the budget is used up.

    Each level is read and written as a set. A node can come again, when a contradiction has changed behind it.
    """
    began = monotonic()
    agenda = Agenda(uow.looks, run.effective_time)
    agenda.add(scope.pending)
    if budget:
        budget.order_found(began)
    while agenda:
        agenda.add(_look_at(uow, run, scope, agenda.pop(), agenda.unit_of))
        if budget and budget.is_over():
            break
    scope.pending = agenda.waiting()


def _look_at(
    uow: UnitOfWork, run: RevalidationRun, scope: Scope, units: list[Unit], unit_of: Callable[[UUID], Unit]
) -> set[UUID]:
    """Look at the units of one level; where to look next because of it."""
    uow.looks.at(node_id for unit in units for node_id in unit)
    subjects = uow.looks.subjects()
    supports: dict[UUID, list[Support]] = {}
    for support in uow.looks.supports(run.effective_time):
        supports.setdefault(support.target_node_id, []).append(support)
    verdicts: dict[UUID, Verdict] = {}
    for unit in units:
        members = [subjects[node_id] for node_id in unit if node_id in subjects]
        edges = [edge for node_id in unit for edge in supports.get(node_id, ())]
        if members:
            superseded = _superseded(uow, run, unit, edges)
            decided = {node_id: scope.decided[node_id] for node_id in unit if node_id in scope.decided}
            verdicts |= decide(members, edges, superseded=superseded, decided=decided)
    before = {node_id: scope.before.pop(node_id, subjects[node_id].status) for node_id in verdicts}
    reexamined = _go_on(uow, run, scope, subjects=subjects, verdicts=verdicts, before=before)
    uow.looks.apply(run.run_id, subjects, verdicts, uow.stamp, run.invalid_since)
    _stand(uow, scope, subjects, verdicts)
    differing = [
        node_id
        for node_id, verdict in verdicts.items()
        if verdict.status != subjects[node_id].status
        or verdict.status != before[node_id]
        or abs(verdict.confidence - subjects[node_id].confidence) >= NO_CHANGE
    ]
    return reexamined | (_onwards(uow, differing, unit_of) if differing else set())


def _superseded(uow: UnitOfWork, run: RevalidationRun, unit: Unit, edges: Iterable[Support]) -> set[UUID]:
    """The members that a standing node outside the unit replaces."""
    return {
        edge.target_node_id
        for edge in edges
        if edge.edge_type == "Supersedes"
        and edge.source_node_id not in unit
        and (edge.source_status != "Invalid" or _is_superseded(uow, run, edge.source_node_id))
    }


def _is_superseded(uow: UnitOfWork, run: RevalidationRun, node_id: UUID) -> bool:
    """Whether a node that stands replaces this one, over replacements that lie in no circle (SEMANTICS 3)."""
    at = run.effective_time
    seen, waiting = {node_id}, [node_id]
    while waiting:
        replaced = waiting.pop()
        for other in uow.edges.superseders(replaced, at):
            if other.memory_node_id in seen or uow.edges.closes_circle(replaced, other.memory_node_id, at):
                continue
            if other.status != "Invalid":
                return True
            seen.add(other.memory_node_id)
            waiting.append(other.memory_node_id)
    return False


def _go_on(
    uow: UnitOfWork,
    run: RevalidationRun,
    scope: Scope,
    *,
    subjects: Mapping[UUID, Subject],
    verdicts: Mapping[UUID, Verdict],
    before: Mapping[UUID, str],
) -> set[UUID]:
    """Nodes that fall in this look are the derived roots of a child run; one for each way in which graphs cascade.

    What a child run re-examines, which is answered, was Invalid before and is looked at here: if it is found so again,
    it does not fall anew. Otherwise two nodes could make each other fall for ever.
    """
    reexamined: set[UUID] = set()
    roots: dict[tuple[str, str], list[UUID]] = {}
    for node_id, verdict in verdicts.items():
        subject = subjects[node_id]
        if verdict.status == "Invalid" and "Invalid" not in (subject.status, before[node_id]):
            roots.setdefault((subject.policy, subject.propagation), []).append(node_id)
    for (policy, propagation), fallen in sorted(roots.items()):
        child = invalidate.go_on(
            uow,
            sorted(fallen),
            policy=policy,
            propagation=propagation,
            effective_time=run.effective_time,
            invalid_since=run.invalid_since,
            parent_run_id=run.invalidation_run_id,
        )
        uow.revalidations.add_child(run.run_id, child)
        for impact in uow.invalidations.impacts(child, "Reexamine", 0, None, _ALL):
            scope.before.setdefault(impact.memory_node_id, impact.old_status)
            reexamined.add(impact.memory_node_id)
    return reexamined


def _stand(uow: UnitOfWork, scope: Scope, subjects: Mapping[UUID, Subject], verdicts: Mapping[UUID, Verdict]) -> None:
    decided = [(node_id, verdict) for node_id, verdict in verdicts.items() if node_id in scope.decided]
    lapsed = [node_id for node_id, verdict in verdicts.items() if subjects[node_id].footing and not verdict.footing]
    if decided or lapsed:
        uow.looks.stand(decided, lapsed, uow.stamp)


def _onwards(uow: UnitOfWork, differing: list[UUID], unit_of: Callable[[UUID], Unit]) -> set[UUID]:
    """What rests on the nodes, outside their own units; of what they replace, also what that replaces."""
    found: set[UUID] = set()
    replaced: dict[UUID, set[UUID]] = {}
    for way in uow.looks.at(differing).onwards():
        if way.target_node_id not in unit_of(way.source_node_id):
            found.add(way.target_node_id)
        if way.is_replaced:
            replaced.setdefault(way.source_node_id, set()).add(way.target_node_id)
    for node_id, targets in replaced.items():
        found |= uow.looks.replaced(targets) - set(unit_of(node_id))
    return found
