"""The rules of a second look (SEMANTICS 6), for one unit: a node, or the nodes of one circle taken together."""

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

NECESSARY = frozenset({"Requires", "ValidOnlyWhen"})
EVIDENTIAL = frozenset({"DerivedFrom", "SupportedBy", "ObservedFrom"})

NO_CHANGE = 1e-9
"""A smaller change of confidence is none."""


class Subject(NamedTuple):
    """A node that is looked at, with what its graph and earlier decisions say of it."""

    memory_node_id: UUID
    graph_id: UUID
    status: str
    invalidation: str | None
    confidence: float
    base_confidence: float
    is_pinned: bool
    policy: str
    propagation: str
    revalidation_mode: str
    footing: str | None
    """``Corrected`` or ``Accepted``: a decision that stands until the node's ground changes."""
    ground: str | None
    """What the ground was at that decision."""
    review_id: UUID | None
    review_reason: str | None
    """Of the open review or task, if there is one; ``Requested`` waits for a decision, whatever the rules say."""


class Support(NamedTuple):
    """An active edge into a node that is looked at; a contradiction is one from either end."""

    target_node_id: UUID
    source_node_id: UUID
    edge_type: str
    support_group: str | None
    min_support: int
    weight: float
    source_status: str
    source_confidence: float
    source_base_confidence: float


class Verdict(NamedTuple):
    """What a look came to. ``ground`` tells the state of the node's sources from any other."""

    outcome: str
    review_reason: str | None
    status: str
    confidence: float
    footing: str | None
    ground: str


class _Basis:
    """What one node rests on, each source once (SEMANTICS 3)."""

    def __init__(self, supports: Iterable[Support]) -> None:
        self.sources: dict[UUID, Support] = {}
        self.necessary: set[UUID] = set()
        self.groups: dict[str | None, dict[UUID, float]] = {}
        self.least: dict[str | None, int] = {}
        self.contradicting: set[UUID] = set()
        self.edges: set[tuple[str, str, int, UUID]] = set()
        for edge in sorted(
            supports, key=lambda edge: edge.source_node_id
        ):  # so that products come out the same each time
            source = edge.source_node_id
            self.sources[source] = edge
            self.edges.add((edge.edge_type, edge.support_group or "", edge.min_support, source))
            if edge.edge_type in NECESSARY:
                self.necessary.add(source)
            elif edge.edge_type in EVIDENTIAL:
                group = self.groups.setdefault(edge.support_group, {})
                group[source] = max(edge.weight, group.get(source, 0.0))
                self.least[edge.support_group] = max(edge.min_support, self.least.get(edge.support_group, 1))
            elif edge.edge_type == "Contradicts":
                self.contradicting.add(source)

    @property
    def implicit(self) -> Collection[UUID]:
        return self.groups.get(None, {})

    def explicit(self) -> Iterable[tuple[int, Collection[UUID]]]:
        return ((self.least[name], members) for name, members in self.groups.items() if name is not None)


def decide(
    unit: Sequence[Subject],
    supports: Iterable[Support],
    *,
    superseded: Collection[UUID] = (),
    decided: Mapping[UUID, str] | None = None,
) -> dict[UUID, Verdict]:
    """What the rules make of the nodes of a unit; pinned ones keep what they have and get no verdict.

    ``supports`` are the active edges into them. ``superseded`` are the members that a standing node outside the unit
    replaces. ``decided`` are those that the run itself corrects or accepts; of earlier decisions those count whose
    ground is the same after the look.
    """
    decided = decided or {}
    footing = {n.memory_node_id: n.footing for n in unit if n.footing and not _is_overruled(n)} | dict(decided)
    edges_of: dict[UUID, list[Support]] = {n.memory_node_id: [] for n in unit}
    for edge in supports:
        edges_of[edge.target_node_id].append(edge)
    bases = {node_id: _Basis(edges) for node_id, edges in edges_of.items()}
    while True:
        verdicts = _Look(unit, bases, superseded, footing).verdicts()
        lapsed = [
            n.memory_node_id
            for n in unit
            if n.memory_node_id in footing
            and n.memory_node_id not in decided
            and (n.is_pinned or verdicts[n.memory_node_id].ground != n.ground)
        ]
        if not lapsed:
            return verdicts
        for node_id in lapsed:
            del footing[node_id]


def _is_overruled(node: Subject) -> bool:
    """Whether a caller has said since that the node is wrong, or in doubt: no earlier decision stands against that."""
    return node.invalidation == "Direct" or node.review_reason == "Requested"


class _Look:
    """One evaluation of a unit, with the decisions that are taken to stand.

    Whether a node is Invalid depends on nothing but which nodes are Invalid; so that is settled first, and doubt after.
    Both begin with the best and lower until nothing changes: the greatest fixpoint.
    """

    def __init__(
        self,
        unit: Sequence[Subject],
        bases: Mapping[UUID, _Basis],
        superseded: Collection[UUID],
        footing: Mapping[UUID, str],
    ) -> None:
        self.unit = {n.memory_node_id: n for n in unit}
        self.bases = bases
        self.superseded = superseded
        self.footing = footing
        self.free = [n.memory_node_id for n in unit if not n.is_pinned]
        self.now = {n.memory_node_id: n.status if n.is_pinned else "Valid" for n in unit}
        self.behind: dict[UUID, list[UUID]] = {node_id: [] for node_id in self.unit}
        for node_id in self.free:
            for source in bases[node_id].sources:
                if source in self.unit:
                    self.behind[source].append(node_id)

    def verdicts(self) -> dict[UUID, Verdict]:
        self._lower("Invalid", lambda node_id: "fallen" if self._has_fallen(node_id) else None)
        is_held = len(self.unit) == 1 or self._is_held()
        reasons = self._lower("PotentiallyStale", lambda node_id: self._doubt(node_id, is_held=is_held))
        outcomes = {node_id: self._outcome(node_id) for node_id in self.free}
        for node_id, outcome in outcomes.items():  # confidence and ground go by what is written
            if outcome == "AwaitingAgent":
                self.now[node_id] = self.unit[node_id].status
        return {node_id: self._verdict(node_id, outcome, reasons.get(node_id)) for node_id, outcome in outcomes.items()}

    def _lower(self, to: str, why: Callable[[UUID], str | None]) -> dict[UUID, str]:
        """In rounds, each of which reads what the round before has left: so a reason does not depend on any order."""
        lowered: dict[UUID, str] = {}
        asked: Iterable[UUID] = self.free
        while True:
            found = {n: reason for n in asked if self.now[n] == "Valid" and (reason := why(n))}
            if not found:
                return lowered
            lowered |= found
            self.now.update(dict.fromkeys(found, to))
            asked = {behind for n in found for behind in self.behind[n]}

    def _status(self, node_id: UUID, basis: _Basis) -> str:
        return self.now[node_id] if node_id in self.unit else basis.sources[node_id].source_status

    def _count(self, members: Collection[UUID], basis: _Basis, *statuses: str) -> int:
        return sum(self._status(member, basis) in statuses for member in members)

    def _has_fallen(self, node_id: UUID) -> bool:
        """Rule 1."""
        node, basis, footing = self.unit[node_id], self.bases[node_id], self.footing.get(node_id)
        if footing == "Accepted":
            return False
        if node_id in self.superseded or (node.invalidation == "Direct" and footing != "Corrected"):
            return True
        if self._count(basis.necessary, basis, "Invalid"):
            return True
        if any(len(members) - self._count(members, basis, "Invalid") < least for least, members in basis.explicit()):
            return True
        lost = self._count(basis.implicit, basis, "Invalid")
        return lost > 0 and (node.policy == "strict" or lost == len(basis.implicit))

    def _doubt(self, node_id: UUID, *, is_held: bool) -> str | None:
        """Rules 2 to 4, and a caller's own doubt."""
        node, basis, footing = self.unit[node_id], self.bases[node_id], self.footing.get(node_id)
        if footing == "Accepted":
            return None
        if self._is_partly_supported(node, basis):
            return "PartialSupport"
        if footing == "Corrected":
            return None
        if self._count(basis.contradicting, basis, "Valid", "PotentiallyStale"):
            return "Contradiction"
        if not is_held:
            return "CircularSupport"
        return "Requested" if node.review_reason == "Requested" else None

    def _is_partly_supported(self, node: Subject, basis: _Basis) -> bool:
        if self._count(basis.implicit, basis, "Invalid"):
            return True
        return node.propagation == "transitive" and (
            self._count(basis.necessary, basis, "PotentiallyStale") > 0
            or self._count(basis.implicit, basis, "PotentiallyStale") > 0
            or any(self._count(members, basis, "Valid") < least for least, members in basis.explicit())
        )

    def _is_held(self) -> bool:
        """A circle cannot hold itself up: something in it, or a Valid support from outside, has to."""
        return any(
            node_id in self.footing
            or (node.is_pinned and node.status == "Valid")
            or any(
                edge_type in NECESSARY | EVIDENTIAL
                and source not in self.unit
                and self.bases[node_id].sources[source].source_status == "Valid"
                for edge_type, _, _, source in self.bases[node_id].edges
            )
            for node_id, node in self.unit.items()
        )

    def _outcome(self, node_id: UUID) -> str:
        node = self.unit[node_id]
        match self.now[node_id]:
            case "Invalid":
                return "StillInvalid"
            case "PotentiallyStale":
                return "NeedsReview"
        if node.revalidation_mode == "agent" and node_id not in self.footing:
            return "AwaitingAgent"
        return "Restored" if node.status == "Invalid" else "RemainsValid"

    def _verdict(self, node_id: UUID, outcome: str, reason: str | None) -> Verdict:
        before = self.unit[node_id].confidence
        confidence = self._confidence(node_id)
        if abs(confidence - before) < NO_CHANGE:
            confidence = before
        footing, ground_now = self.footing.get(node_id), self._ground(node_id)
        return Verdict(outcome, reason, self.now[node_id], confidence, footing, ground_now)

    def _confidence(self, node_id: UUID) -> float:
        basis = self.bases[node_id]
        confidence = self.unit[node_id].base_confidence

        def of(source: UUID) -> float:
            edge = basis.sources[source]
            return edge.source_base_confidence if source in self.unit else edge.source_confidence

        for source in sorted(basis.necessary):
            confidence *= of(source)
        for name in sorted(basis.groups, key=lambda name: name or ""):
            doubt = 1.0
            for source, weight in basis.groups[name].items():
                if self._status(source, basis) != "Invalid":
                    doubt *= 1.0 - weight * of(source)
            confidence *= 1.0 - doubt
        return confidence

    def _ground(self, node_id: UUID) -> str:
        basis = self.bases[node_id]
        return ground((*edge, self._status(edge[-1], basis)) for edge in basis.edges)


def ground_of(supports: Iterable[Support]) -> str:
    """The ground of a node as its sources are now."""
    return ground(
        {(e.edge_type, e.support_group or "", e.min_support, e.source_node_id, e.source_status) for e in supports}
    )


def ground(facts: Iterable[tuple[str, str, int, UUID, str]]) -> str:
    """A digest of edge types, groups, least numbers, sources and their statuses."""
    lines = sorted("|".join(map(str, fact)) for fact in facts)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
