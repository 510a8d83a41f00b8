"""What runs did: their counts and cycles, the impacts on each node, and the way a cascade took."""

from collections.abc import Iterator
from uuid import UUID

from app.domain.errors import NotFound
from app.domain.models import Impact, InvalidationRun, Page
from app.services import cursors
from app.services.reports import Cycle, Report
from app.store.repositories.invalidations import PathStep
from app.store.unit import View

FIRST_PAGE = 100
_CYCLE_MEMBERS = 1000


def get(view: View, run_id: UUID) -> Report:
    """A run with its counts, cycles and first impacts."""
    run = view.invalidations.find(run_id)
    if run is None:
        raise NotFound("Invalidation run", [run_id])
    by_depth = view.invalidations.count_by_depth(run_id)
    return Report(
        run=run,
        root_node_ids=view.invalidations.roots(run_id),
        by_outcome=view.invalidations.count_by_outcome(run_id),
        by_status=view.invalidations.count_by_status(run_id),
        by_depth=[by_depth.get(depth, 0) for depth in range(max(by_depth, default=-1) + 1)],
        cycles=[
            Cycle(number, len(ids), ids[:_CYCLE_MEMBERS], len(ids) > _CYCLE_MEMBERS)
            for number, ids in view.invalidations.components(run_id).items()
        ],
        impacts=_impacts(view, run_id, None, FIRST_PAGE, None),
        plan_token=None,
        dry_run=False,
    )


def page(view: View, *, limit: int, cursor: str | None) -> Page[InvalidationRun]:
    """Runs, newest first."""
    before, after = cursors.decode(cursor or None, cursors.instant, UUID)
    rows = view.invalidations.page(before, after, limit + 1)
    return cursors.cut(rows, limit, lambda run: (run.requested_at, run.run_id))


def impacts(view: View, run_id: UUID, *, outcome: str | None = None, limit: int, cursor: str | None) -> Page[Impact]:
    """Impacts of a run by depth and id."""
    _known(view, run_id)
    return _impacts(view, run_id, outcome, limit, cursor)


def all_impacts(view: View, run_id: UUID) -> Iterator[Impact]:
    """Every impact of a run by depth and id, as it is read."""
    _known(view, run_id)
    return view.invalidations.all_impacts(run_id)


def path(view: View, run_id: UUID, node_id: UUID) -> list[PathStep]:
    """The way the run first reached a node, root first, read back by via edges."""
    run = _known(view, run_id)
    steps = view.invalidations.path(run_id, node_id, run.committed_at or view.now)
    if not steps:
        raise NotFound("Impact of that run on node", [node_id])
    return steps


def _known(view: View, run_id: UUID) -> InvalidationRun:
    run = view.invalidations.find(run_id)
    if run is None:
        raise NotFound("Invalidation run", [run_id])
    return run


def _impacts(view: View, run_id: UUID, outcome: str | None, limit: int, cursor: str | None) -> Page[Impact]:
    depth, node_id = cursors.decode(cursor or None, cursors.depth, UUID)
    rows = view.invalidations.impacts(run_id, outcome, depth or 0, node_id, limit + 1)
    return cursors.cut(rows, limit, lambda impact: (impact.depth, impact.memory_node_id))
