"""Answers about invalidations: runs, what they did, and why a node is not Valid."""

from typing import Literal

from pydantic import Field

from app.schemas.base import Output
from app.schemas.fields import EdgeType, Id, Instant, Lowered, Outcome, Policy, Propagation, RunStatus, Status
from app.schemas.outputs import Page


class Impact(Output):
    """What a run did to one node."""

    memory_node_id: Id
    key: str | None
    depth: int
    old_status: Status
    new_status: Status
    outcome: Outcome
    via_edge_id: Id | None
    component: int | None


class InvalidationRun(Output):
    """One cascade of an invalidation."""

    run_id: Id
    parent_run_id: Id | None
    status: RunStatus = Field(description="How far the run is.", examples=["Completed"])
    superseded_by_run_id: Id | None
    reason: str
    requested_status: Lowered
    effective_time: Instant
    policy: Policy
    propagation: Propagation
    override_pinned: bool
    requested_at: Instant
    committed_at: Instant | None


class ByStatus(Output):
    """Affected nodes by their status after the run; both are always there."""

    invalid: int = Field(alias="Invalid")
    potentially_stale: int = Field(alias="PotentiallyStale")


class Counts(Output):
    """How many nodes the run reached."""

    by_outcome: dict[Outcome, int]
    by_status: ByStatus
    by_depth: list[int]


class Cycle(Output):
    """Affected nodes that rest on one another."""

    component: int
    size: int
    memory_node_ids: list[Id]
    truncated: bool


class Report(InvalidationRun):
    """A run and what it did, or would do."""

    run_id: Id | None  # type: ignore[assignment]  # a dry run has none
    dry_run: bool
    plan_token: str | None
    root_node_ids: list[Id]
    counts: Counts
    cycles: list[Cycle]
    impacts: Page[Impact]


class PathStep(Output):
    """One node on the way from a root to the node asked about."""

    memory_node_id: Id
    key: str | None
    depth: int
    via_edge_id: Id | None
    edge_type: EdgeType | None


class Path(Output):
    """The way a run took to a node, root first."""

    items: list[PathStep]


class Cause(Output):
    """Something that made the node what it is: a root, not just the neighbour."""

    memory_node_id: Id
    key: str | None
    name: str
    status: Status
    kind: Literal["Requested", "Contradiction", "Superseded", "LoadedState"] = Field(
        title="Kind of Cause", description="Why it is a cause.", examples=["Requested"]
    )
    run_id: Id | None
    reason: str | None
    effective_time: Instant | None
    distance: int


class Staleness(Output):
    """Why a node is not Valid."""

    memory_node_id: Id
    key: str | None
    status: Status
    causes: list[Cause]
