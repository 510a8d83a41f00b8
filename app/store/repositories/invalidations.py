"""Requests, runs and impacts."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from app.domain.models import Impact, InvalidationRun
from app.store.session import LEVELS, Session


class PendingRun(NamedTuple):
    run_id: UUID
    invalid_since: datetime


class PendingAnywhere(NamedTuple):
    tenant_id: UUID
    fleet_id: UUID
    run_id: UUID


class Request(NamedTuple):
    """What is recorded of a request for invalidation."""

    request_id: UUID
    reason: str
    status: str
    effective_time: datetime
    invalid_since: datetime
    policy: str
    propagation: str
    override_pinned: bool
    is_derived: bool
    fingerprint: str | None
    requested_at: datetime


class MarkingRun(NamedTuple):
    """A run that marked a node, or found it marked."""

    run_id: UUID
    reason: str
    effective_time: datetime
    committed_at: datetime
    is_derived: bool


class PathStep(NamedTuple):
    """A node on the way a cascade took, and the edge by which it was reached."""

    memory_node_id: UUID
    key: str | None
    depth: int
    via_edge_id: UUID | None
    edge_type: str | None


class _Count(NamedTuple):
    label: str
    amount: int


class _StatusCount(NamedTuple):
    new_status: str
    amount: int


class _DepthCount(NamedTuple):
    depth: int
    amount: int


class _Member(NamedTuple):
    component: int
    memory_node_id: UUID


class _NodeId(NamedTuple):
    memory_node_id: UUID


class Invalidations:
    def __init__(self, session: Session) -> None:
        self._session = session

    def add_request(self, request: Request, roots: Sequence[UUID]) -> None:
        self._session.execute("request_insert", **request._asdict() | {"status": LEVELS[request.status]})
        self._session.execute_many(
            "request_insert_root",
            [{"request_id": request.request_id, "memory_node_id": root} for root in roots],
        )

    def add_run(
        self, run_id: UUID, request_id: UUID, parent_run_id: UUID | None, committed_at: datetime | None
    ) -> None:
        """A run that is carried out at once, or one that is pending (``committed_at`` None)."""
        self._session.execute(
            "run_insert",
            run_id=run_id,
            request_id=request_id,
            parent_run_id=parent_run_id,
            run_status="Pending" if committed_at is None else "Completed",
            committed_at=committed_at,
        )

    def find(self, run_id: UUID) -> InvalidationRun | None:
        return self._session.one(InvalidationRun, "run_find", run_id=run_id)

    def find_by_fingerprint(self, fingerprint: str) -> InvalidationRun | None:
        """The latest run of the same roots, explicit effective time and options."""
        return self._session.one(InvalidationRun, "run_find_by_fingerprint", fingerprint=fingerprint)

    def page(self, before: datetime | None, after_id: UUID | None, limit: int) -> list[InvalidationRun]:
        """Newest request first; runs of one instant by id."""
        return self._session.rows(InvalidationRun, "run_page", before_time=before, after_id=after_id, limit=limit)

    def roots(self, run_id: UUID) -> list[UUID]:
        """By id."""
        return [row.memory_node_id for row in self._session.rows(_NodeId, "run_roots", run_id=run_id)]

    def a_root_was_restored(self, run: InvalidationRun) -> bool:
        """Whether a root of the run was, at any time since, better off than the run left it."""
        found = self._session.scalar("run_count_restored_roots", run_id=run.run_id, committed_at=run.committed_at)
        return bool(found)

    def pending_covered_by(self, request_id: UUID) -> list[PendingRun]:
        """Runs not begun that a recorded request supersedes (SEMANTICS 4)."""
        return self._session.rows(PendingRun, "runs_pending_covered_by", request_id=request_id)

    def backdate(self, request_id: UUID, invalid_since: datetime) -> None:
        """The request takes over an earlier time from those it supersedes."""
        self._session.execute("request_backdate", request_id=request_id, invalid_since=invalid_since)

    def supersede(self, run_id: UUID, by_run_id: UUID, committed_at: datetime) -> None:
        self._session.execute("run_supersede", run_id=run_id, by_run_id=by_run_id, committed_at=committed_at)

    def complete(self, run_id: UUID, committed_at: datetime) -> None:
        self._session.execute("run_complete", run_id=run_id, committed_at=committed_at)

    def pending_everywhere(self) -> list[PendingAnywhere]:
        """Tenant, fleet and id of every pending run of every fleet, oldest first; for the service itself alone."""
        return self._session.rows(PendingAnywhere, "runs_pending_everywhere")

    def impacts(
        self, run_id: UUID, outcome: str | None, after_depth: int, after_id: UUID | None, limit: int
    ) -> list[Impact]:
        """By depth and id, at most ``limit``, those after the given ones."""
        return self._session.rows(
            Impact,
            "impact_page",
            run_id=run_id,
            outcome=outcome,
            after_depth=after_depth,
            after_id=after_id,
            limit=limit,
        )

    def all_impacts(self, run_id: UUID) -> Iterator[Impact]:
        """By depth and id, as they are read."""
        return self._session.stream(
            Impact, "impact_page", run_id=run_id, outcome=None, after_depth=0, after_id=None, limit=2**62
        )

    def count_by_outcome(self, run_id: UUID) -> dict[str, int]:
        return dict(self._session.rows(_Count, "impact_count_by_outcome", run_id=run_id))

    def count_by_status(self, run_id: UUID) -> dict[str, int]:
        """Affected nodes, roots included, by the status the run left them in."""
        return dict(self._session.rows(_StatusCount, "impact_count_by_status", run_id=run_id))

    def count_by_depth(self, run_id: UUID) -> dict[int, int]:
        return dict(self._session.rows(_DepthCount, "impact_count_by_depth", run_id=run_id))

    def components(self, run_id: UUID) -> dict[int, list[UUID]]:
        """Members of each strongly connected component, by id."""
        members: dict[int, list[UUID]] = {}
        for row in self._session.stream(_Member, "impact_components", run_id=run_id):
            members.setdefault(row.component, []).append(row.memory_node_id)
        return members

    def path(self, run_id: UUID, node_id: UUID, as_of: datetime) -> list[PathStep]:
        """The way the run first reached the node, root first; empty where it did not."""
        return self._session.rows(PathStep, "impact_path", run_id=run_id, memory_node_id=node_id, as_of=as_of)

    def marking(self, node_id: UUID) -> list[MarkingRun]:
        """The runs that marked the node since it was last Valid, newest first, 100 at most."""
        return self._session.rows(MarkingRun, "staleness_runs", memory_node_id=node_id)
