"""Why a node is not Valid: the roots of the matter, not just the neighbour."""

from uuid import UUID

from app.services.nodes import get as get_node
from app.services.reports import Cause, Staleness
from app.store.repositories.edges import Neighbour
from app.store.repositories.invalidations import MarkingRun
from app.store.repositories.nodes import WalkedNode
from app.store.unit import View


def staleness(view: View, node_id: UUID) -> Staleness:
    """The root causes of a node's state, nearest first; a Valid node has none.

    First what the runs recorded since the node was last Valid: the root from which each reached it. Then, over the
    edges of now, what no run accounts for: nodes that are superseded, contradicted, or were loaded as they are.
    """
    node = get_node(view, node_id)
    if node.status == "Valid":
        return Staleness(node, [])
    causes = {cause.memory_node_id: cause for cause in _recorded(view, node_id) if cause.status != "Valid"}
    for found in view.nodes.walk_back(node_id, view.now):
        for cause in _seen(view, found):
            causes.setdefault(cause.memory_node_id, cause)
    return Staleness(node, sorted(causes.values(), key=lambda cause: (cause.distance, cause.memory_node_id)))


def _recorded(view: View, node_id: UUID, distance: int = 0) -> list[Cause]:
    """The root of each run that marked the node, oldest run first; it may be Valid again."""
    return [
        cause for run in view.invalidations.marking(node_id)[::-1] for cause in _roots(view, node_id, run, distance)
    ]


def _roots(view: View, node_id: UUID, run: MarkingRun, distance: int) -> list[Cause]:
    steps = view.invalidations.path(run.run_id, node_id, run.committed_at)
    root = view.nodes.last_known(steps[0].memory_node_id)
    away = distance + len(steps) - 1
    if root is None:
        return []  # erased since
    standing = _standing(view, root.memory_node_id) if run.is_derived else []
    if standing:
        return [_neighbour(other, "Superseded", away + 1) for other in standing]
    return [Cause(*root, "Requested", run.run_id, run.reason, run.effective_time, away)]


def _seen(view: View, found: WalkedNode) -> list[Cause]:
    """Why a node at which the walk ended is as it is. A root that is Valid again explains what nothing else does."""
    recorded = _recorded(view, found.memory_node_id, found.distance)
    still = [cause for cause in recorded if cause.status != "Valid"]
    if still:
        return still
    standing = _standing(view, found.memory_node_id) if found.invalidation == "Derived" else []
    if standing:
        return [_neighbour(other, "Superseded", found.distance + 1) for other in standing]
    if found.status == "PotentiallyStale":
        contradictions = view.edges.contradictions(found.memory_node_id, view.now)
        if contradictions:
            return [_neighbour(other, "Contradiction", found.distance + 1) for other in contradictions]
    return recorded or [_cause(found, "LoadedState")]


def _standing(view: View, node_id: UUID) -> list[Neighbour]:
    """The nodes that replace this one and stand; a replacement inside a circle does not count (SEMANTICS 3)."""
    return [
        other
        for other in view.edges.superseders(node_id, view.now)
        if other.status != "Invalid" and not view.edges.closes_circle(node_id, other.memory_node_id, view.now)
    ]


def _cause(found: WalkedNode, kind: str) -> Cause:
    return Cause(
        memory_node_id=found.memory_node_id,
        key=found.key,
        name=found.name,
        status=found.status,
        kind=kind,
        run_id=None,
        reason=None,
        effective_time=None,
        distance=found.distance,
    )


def _neighbour(other: Neighbour, kind: str, distance: int) -> Cause:
    return Cause(*other, kind=kind, run_id=None, reason=None, effective_time=None, distance=distance)
