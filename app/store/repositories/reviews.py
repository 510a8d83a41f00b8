"""What waits for a person or an agent."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple
from uuid import UUID, uuid4

from app.domain.models import GroundEdge, Review
from app.store.session import Session


class _Asked(NamedTuple):
    memory_node_id: UUID
    graph_id: UUID
    review_id: UUID | None


class _ReviewId(NamedTuple):
    review_id: UUID


class Reviews:
    def __init__(self, session: Session) -> None:
        self._session = session

    def open_requested(self, run_id: UUID, opened_at: datetime) -> None:
        """A caller's own doubt waits for a decision: a review for each root that the run left PotentiallyStale."""
        for asked in self._session.rows(_Asked, "reviews_asked_by_run", run_id=run_id):
            if asked.review_id:
                self._session.execute("review_request", review_id=asked.review_id, opened_at=opened_at)
            else:
                self._session.execute(
                    "review_insert",
                    review_id=uuid4(),
                    graph_id=asked.graph_id,
                    memory_node_id=asked.memory_node_id,
                    opened_at=opened_at,
                )

    def close_overruled(self, run_id: UUID, closed_at: datetime) -> None:
        """A caller's doubt ends when a caller says that the node is wrong."""
        self._session.execute("reviews_close_overruled", run_id=run_id, closed_at=closed_at)

    def find(self, review_id: UUID) -> Review | None:
        """Open or closed; None also where the node is no longer there."""
        return self._session.one(Review, "review_find", review_id=review_id)

    def page(self, kind: str, graph_id: UUID | None, after_id: UUID | None, limit: int) -> list[Review]:
        """What is open, by id."""
        return self._session.rows(
            Review, "review_page", review_kind=kind, graph_id=graph_id, after_id=after_id, limit=limit
        )

    def grounds(self, node_ids: Iterable[UUID], effective_time: datetime) -> dict[UUID, list[GroundEdge]]:
        """What the nodes rest on, by node; contradictions from both ends."""
        self._session.execute("look_clear")
        self._session.execute_many("look_add", [{"memory_node_id": id_} for id_ in node_ids])
        found: dict[UUID, list[GroundEdge]] = {}
        for edge in self._session.stream(GroundEdge, "review_ground", effective_time=effective_time):
            found.setdefault(edge.target_node_id, []).append(edge)
        return found

    def close(self, node_id: UUID, resolution: str, closed_at: datetime) -> None:
        """Whatever is open about a node is decided."""
        self._session.execute(
            "review_close_of_node", memory_node_id=node_id, resolution=resolution, closed_at=closed_at
        )

    def close_fallen(self, run_id: UUID, closed_at: datetime) -> None:
        """Nodes that a cascade made Invalid are no longer in question."""
        self._session.execute("reviews_close_fallen", run_id=run_id, closed_at=closed_at)

    def free_tasks(self, graph_id: UUID | None, now: datetime, longest: datetime, limit: int) -> list[UUID]:
        """Open tasks that nobody holds, oldest first."""
        rows = self._session.rows(_ReviewId, "tasks_free", graph_id=graph_id, now=now, longest=longest, limit=limit)
        return [row.review_id for row in rows]

    def lease(self, review_id: UUID, owner: str, expires_at: datetime) -> None:
        self._session.execute("task_lease", review_id=review_id, owner=owner, expires_at=expires_at)
