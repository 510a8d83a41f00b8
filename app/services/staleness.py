"""Why a node is not Valid: the roots of the matter, not just the neighbour."""

from uuid import UUID

from app.services.nodes import get as get_node
from app.services.reports import Cause, Staleness
from app.store.repositories.edges import Neighbour
from app.store.repositories.nodes import WalkedNode
from app.store.unit import View


def staleness(view: View, node_id: UUID) -> Staleness:
    """Walk back over what is not Valid to the nodes that explain themselves, nearest first.

    Such a node was named by a run, is replaced by one that stands, is contradicted, or was loaded in its state. A Valid
    node has no cause.
    """
    node = get_node(view, node_id)
    if node.status == "Valid":
        return Staleness(node, [])
    return Staleness(
        node, [cause for found in view.nodes.walk_back(node_id, view.now) for cause in _causes(view, found)]
    )


def _causes(view: View, found: WalkedNode) -> list[Cause]:
    if found.invalidation != "Direct" and found.status == "Invalid":
        superseders = view.edges.superseders(found.memory_node_id, view.now)
        standing = [other for other in superseders if other.status != "Invalid"]
        if standing:
            return [_neighbour(other, "Superseded", found.distance + 1) for other in standing]
    request = view.invalidations.last_request_for(found.memory_node_id, found.status)
    if request:
        return [_cause(found, "Requested")._replace(**request._asdict())]
    if found.status == "PotentiallyStale" and not found.is_led_on:
        contradictions = view.edges.contradictions(found.memory_node_id, view.now)
        if contradictions:
            return [_neighbour(other, "Contradiction", found.distance + 1) for other in contradictions]
    return [_cause(found, "LoadedState")]


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
