"""Revalidation runs, their scope while they are not finished, and their decisions."""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from app.domain.models import RevalidationDecision, RevalidationRun
from app.store.session import LEVELS, Session


class Named(NamedTuple):
    """A node that a cascade left to be looked at, and its status before it where the cascade reached it."""

    memory_node_id: UUID
    old_status: str | None
    is_replaced: bool
    """It lost its replacement, so what it replaces itself is concerned as well."""
    is_shaken: bool
    """It was Invalid before and lost a necessary source, which matters only to a circle on which it lies."""


class ScopeRow(NamedTuple):
    """What a run that is not finished has still to look at, or has decided."""

    memory_node_id: UUID
    footing: str | None
    old_status: str | None
    is_pending: bool


class _Count(NamedTuple):
    label: str
    amount: int


class _NodeId(NamedTuple):
    memory_node_id: UUID


class _RunId(NamedTuple):
    invalidation_run_id: UUID


class Revalidations:
    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, run: RevalidationRun, outbox_event: int | None) -> None:
        """A run that has not ended; ``outbox_event`` is the one it handles."""
        self._session.execute(
            "revalidation_insert",
            run_id=run.run_id,
            cause=run.cause,
            invalidation_run_id=run.invalidation_run_id,
            reason=run.reason,
            effective_time=run.effective_time,
            invalid_since=run.invalid_since,
            requested_at=run.requested_at,
            outbox_event=outbox_event,
        )

    def find(self, run_id: UUID) -> RevalidationRun | None:
        return self._session.one(RevalidationRun, "revalidation_find", run_id=run_id)

    def find_by_event(self, outbox_event: int) -> RevalidationRun | None:
        """The run that an event has begun, or that an overtaken run has left to it."""
        return self._session.one(RevalidationRun, "revalidation_find_by_event", outbox_event=outbox_event)

    def page(
        self, invalidation_run_id: UUID | None, before: datetime | None, after_id: UUID | None, limit: int
    ) -> list[RevalidationRun]:
        """Newest request first; runs of one instant by id."""
        return self._session.rows(
            RevalidationRun,
            "revalidation_page",
            invalidation_run_id=invalidation_run_id,
            before_time=before,
            after_id=after_id,
            limit=limit,
        )

    def end(self, run_id: UUID, run_status: str, by_run_id: UUID | None, committed_at: datetime) -> None:
        """Nothing is left to do: it was done, or another run does it."""
        self._session.execute("scope_clear", run_id=run_id)
        self._session.execute(
            "revalidation_end", run_id=run_id, run_status=run_status, by_run_id=by_run_id, committed_at=committed_at
        )

    def add_child(self, run_id: UUID, invalidation_run_id: UUID) -> None:
        self._session.execute("revalidation_child_insert", run_id=run_id, invalidation_run_id=invalidation_run_id)

    def children(self, run_id: UUID) -> list[UUID]:
        """The cascades that went on from a run, by id."""
        rows = self._session.rows(_RunId, "revalidation_children", run_id=run_id)
        return [row.invalidation_run_id for row in rows]

    def named_by_invalidation(self, run_id: UUID) -> list[Named]:
        """What a cascade left to be looked at; a node can come twice."""
        return self._session.rows(Named, "named_by_invalidation", run_id=run_id)

    def named_by_rule(self, rule_id: UUID) -> list[UUID]:
        """The targets of edges under any version of a rule, by id."""
        return [r.memory_node_id for r in self._session.rows(_NodeId, "named_by_rule", source_rule_id=rule_id)]

    def named_by_graph(self, graph_id: UUID) -> list[UUID]:
        """Every node of a graph, by id."""
        return [r.memory_node_id for r in self._session.rows(_NodeId, "named_by_graph", graph_id=graph_id)]

    def save_scope(self, run_id: UUID, rows: Collection[ScopeRow]) -> None:
        """Replace what is kept of the run's scope."""
        self._session.execute("scope_clear", run_id=run_id)
        self._session.execute_many(
            "scope_save",
            [
                row._asdict()
                | {"run_id": run_id, "old_status": None if row.old_status is None else LEVELS[row.old_status]}
                for row in rows
            ],
        )

    def scope(self, run_id: UUID) -> list[ScopeRow]:
        return self._session.rows(ScopeRow, "scope_load", run_id=run_id)

    def count_by_outcome(self, run_id: UUID) -> dict[str, int]:
        return dict(self._session.rows(_Count, "revalidation_count_by_outcome", run_id=run_id))

    def count_changed(self, run_id: UUID) -> int:
        """How many nodes the run left in another status than it found."""
        return int(self._session.scalar("revalidation_count_changed", run_id=run_id))

    def decisions(
        self, run_id: UUID, outcome: str | None, after_id: UUID | None, limit: int
    ) -> Sequence[RevalidationDecision]:
        """By node, at most ``limit``, those after ``after_id``."""
        return self._session.rows(
            RevalidationDecision, "decision_page", run_id=run_id, outcome=outcome, after_id=after_id, limit=limit
        )

    def all_decisions(self, run_id: UUID) -> Iterator[RevalidationDecision]:
        """By node, as they are read."""
        return self._session.stream(
            RevalidationDecision, "decision_page", run_id=run_id, outcome=None, after_id=None, limit=2**62
        )

    def record_fallen(self, run_id: UUID, node_id: UUID, old_status: str, decided_at: datetime) -> None:
        """A decision that another kind of run has carried out."""
        self._session.execute(
            "decision_insert",
            run_id=run_id,
            memory_node_id=node_id,
            old_status=LEVELS[old_status],
            decided_at=decided_at,
        )

    def explain(
        self,
        run_id: UUID,
        node_id: UUID,
        *,
        decision: str,
        decided_by: str | None,
        explanation: str | None,
        certainty: float | None,
    ) -> None:
        """Say who decided what, and why, on the row of a node."""
        self._session.execute(
            "decision_explain",
            run_id=run_id,
            memory_node_id=node_id,
            decision=decision,
            decided_by=decided_by,
            explanation=explanation,
            certainty=certainty,
        )
