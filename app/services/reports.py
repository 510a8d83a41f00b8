"""What the services answer beside plain rows."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from app.domain.models import (
    GroundEdge,
    Impact,
    InvalidationRun,
    MemoryNode,
    Page,
    RevalidationDecision,
    RevalidationRun,
    Review,
)


class Cycle(NamedTuple):
    """A strongly connected component among the affected nodes."""

    component: int
    size: int
    memory_node_ids: list[UUID]
    """The smallest 1,000 ids; the impacts name every member."""
    truncated: bool


class Report(NamedTuple):
    """A run and what it did; ``by_depth[d]`` counts the impacts of depth d."""

    run: InvalidationRun
    root_node_ids: list[UUID]
    by_outcome: dict[str, int]
    by_status: dict[str, int]
    by_depth: list[int]
    cycles: list[Cycle]
    impacts: Page[Impact]
    plan_token: str | None
    dry_run: bool


class Cause(NamedTuple):
    """Why a node lost its ground.

    ``kind`` is ``Requested`` (a run named it), ``Superseded``, ``Contradiction``, or ``LoadedState`` (an import or an
    earlier change left it so).
    """

    memory_node_id: UUID
    key: str | None
    name: str
    status: str
    kind: str
    run_id: UUID | None
    reason: str | None
    effective_time: datetime | None
    distance: int


class Staleness(NamedTuple):
    node: MemoryNode
    causes: list[Cause]


class RevalidationReport(NamedTuple):
    """A run and what it found; ``child_run_ids`` are the cascades that went on from it."""

    run: RevalidationRun
    by_outcome: dict[str, int]
    child_run_ids: list[UUID]
    decisions: Page[RevalidationDecision]


class OpenReview(NamedTuple):
    """Something that waits for a decision, with what the node rests on now."""

    review: Review
    grounds: list[GroundEdge]


class DecisionReport(NamedTuple):
    """What came of a decision: the runs that carried it out."""

    review_id: UUID
    memory_node_id: UUID
    decision: str
    revalidation_run: RevalidationReport
    invalidation_run: Report | None
