"""What a second look reads and writes, level by level (SEMANTICS 6)."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import NamedTuple
from uuid import UUID, uuid4

from app.domain.revalidation import Subject, Support, Verdict
from app.store.session import LEVELS, Session

_AT_ONCE = 20
"""Newer cascades that are looked through for a run that was overtaken."""


class Way(NamedTuple):
    """From a node that differs to one that is to be looked at for it."""

    source_node_id: UUID
    target_node_id: UUID
    is_replaced: bool


class Link(NamedTuple):
    source_node_id: UUID
    target_node_id: UUID


class Overtaking(NamedTuple):
    """A newer cascade whose event still waits."""

    outbox_event_id: int
    invalidation_run_id: UUID
    effective_time: datetime


class _NodeId(NamedTuple):
    memory_node_id: UUID


class _Before(NamedTuple):
    memory_node_id: UUID
    old_status: str


class Looks:
    def __init__(self, session: Session) -> None:
        self._session = session

    def at(self, node_ids: Iterable[UUID]) -> "Looks":
        """Choose the nodes that the questions below are about."""
        self._session.execute("look_clear")
        self._session.execute_many("look_add", [{"memory_node_id": id_} for id_ in node_ids])
        return self

    def links_into(self, effective_time: datetime) -> list[Link]:
        """What the nodes rest on: active edges into them, contradictions aside."""
        return self._session.rows(Link, "look_links_into", effective_time=effective_time)

    def links_from(self, effective_time: datetime) -> list[Link]:
        """What rests on the nodes: active edges from them, contradictions aside."""
        return self._session.rows(Link, "look_links_from", effective_time=effective_time)

    def subjects(self) -> dict[UUID, Subject]:
        """The nodes, those that are still there."""
        return {row.memory_node_id: row for row in self._session.stream(Subject, "look_subjects")}

    def supports(self, effective_time: datetime) -> list[Support]:
        """The active edges into the nodes; contradictions from both ends."""
        return self._session.rows(Support, "look_supports", effective_time=effective_time)

    def onwards(self) -> list[Way]:
        """Where a look goes on from the nodes: over all edges, active or not; contradictions from both ends."""
        return self._session.rows(Way, "look_onwards")

    def replaced(self, node_ids: Collection[UUID]) -> set[UUID]:
        """What the nodes replace, and what that replaces, and so on."""
        found: set[UUID] = set()
        waiting = set(node_ids)
        while waiting:
            rows = self.at(waiting)._session.rows(_NodeId, "look_replaced")
            waiting = {row.memory_node_id for row in rows} - found
            found |= waiting
        return found

    def statuses_before(self, cascade_id: UUID) -> dict[UUID, str]:
        """The status of the nodes before a cascade, of those that it reached."""
        return dict(self._session.rows(_Before, "look_statuses_before", run_id=cascade_id))

    def overtaking(self, run_id: UUID, outbox_event: int) -> Overtaking | None:
        """The next waiting cascade after an event that touched one of the nodes; not one of the run's own."""
        return self._session.one(
            Overtaking, "look_newer_invalidation", run_id=run_id, outbox_event=outbox_event, limit=_AT_ONCE
        )

    def apply(
        self,
        run_id: UUID,
        subjects: Mapping[UUID, Subject],
        verdicts: Mapping[UUID, Verdict],
        at: datetime,
        invalid_since: datetime,
    ) -> None:
        """Write what a look at one level came to: nodes, decisions, and what is open about them."""
        self._session.execute("look_clear_results")
        self._session.execute_many(
            "look_add_result", [_result(subjects[node_id], verdict) for node_id, verdict in verdicts.items()]
        )
        self._session.execute("look_update_nodes", invalid_since=invalid_since)
        self._session.execute("look_record_decisions", run_id=run_id, decided_at=at)
        is_waiting = any(verdict.outcome in {"NeedsReview", "AwaitingAgent"} for verdict in verdicts.values())
        if is_waiting or any(subjects[node_id].review_id for node_id in verdicts):
            self._session.execute("look_close_reviews", closed_at=at)
            self._session.execute("look_refresh_reviews")
            self._session.execute("look_open_reviews", opened_at=at)

    def stand(self, decided: Iterable[tuple[UUID, Verdict]], lapsed: Iterable[UUID], at: datetime) -> None:
        """Record on which ground decisions stand, and drop those whose ground is gone."""
        rows = [
            {"memory_node_id": node_id, "footing": verdict.footing, "ground": verdict.ground, "decided_at": at}
            for node_id, verdict in decided
        ]
        gone = [*lapsed, *(row["memory_node_id"] for row in rows)]
        self._session.execute_many("footing_clear", [{"memory_node_id": node_id} for node_id in gone])
        self._session.execute_many("footing_add", rows)


def _result(subject: Subject, verdict: Verdict) -> dict[str, object]:
    keeps = verdict.status == subject.status == "Invalid" and verdict.footing is None
    invalidation = subject.invalidation if keeps else "Derived" if verdict.status == "Invalid" else None
    is_waiting = verdict.outcome in {"NeedsReview", "AwaitingAgent"}
    return {
        "memory_node_id": subject.memory_node_id,
        "outcome": verdict.outcome,
        "review_reason": verdict.review_reason,
        "old_status": LEVELS[subject.status],
        "new_status": LEVELS[verdict.status],
        "new_invalidation": invalidation,
        "old_confidence": subject.confidence,
        "new_confidence": verdict.confidence,
        "ground": verdict.ground,
        "review_id": uuid4() if is_waiting else None,
    }
