"""SEMANTICS 4, cascading invalidation, written down as plainly as possible: slow, and meant to be read.

It is what both engines are compared with, so it shares no code with them. The words in quotes are SEMANTICS'.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

VALID, POTENTIALLY_STALE, INVALID = 0, 1, 2  # Valid < PotentiallyStale < Invalid

NECESSARY = frozenset({"Requires", "ValidOnlyWhen"})
EVIDENTIAL = frozenset({"DerivedFrom", "SupportedBy", "ObservedFrom"})
CONTRADICTS = "Contradicts"
SUPERSEDES = "Supersedes"

Policy = Literal["evidential", "strict"]
Propagation = Literal["frontier", "transitive"]
Outcome = Literal["Invalidated", "MarkedPotentiallyStale", "AlreadyAtStatus", "SkippedPinned", "Reexamine"]


@dataclass(frozen=True)
class Node:
    id: str
    status: int = VALID
    invalidation: str | None = None  # "Direct" or "Derived" where Invalid
    invalid_since: int | None = None
    pinned: bool = False
    confidence: float = 1.0
    base_confidence: float = 1.0


@dataclass(frozen=True)
class Edge:
    """*source → target*: the target depends on the source. `rule_*` are the bounds of its rule, if any."""

    id: str
    source: str
    target: str
    type: str
    group: str | None = None
    k: int = 1
    effective_from: int | None = None
    effective_to: int | None = None
    rule_from: int | None = None
    rule_to: int | None = None
    weight: float = 1.0


@dataclass(frozen=True)
class Impact:
    node_id: str
    depth: int
    old_status: int
    new_status: int
    outcome: Outcome
    via_edge_id: str | None
    component: int | None  # index into Report.components


@dataclass(frozen=True)
class Report:
    impacts: dict[str, Impact]  # by node id, ordered by (depth, id)
    nodes: dict[str, Node]  # every node as it is after the run
    components: list[list[str]]
    affected: frozenset[str]  # those whose C rose above Valid


@dataclass(frozen=True)
class _Reach:
    """When a node was reached, and through which edge (a root: none)."""

    depth: int
    via_edge_id: str | None


def cascade(
    nodes: Iterable[Node],
    edges: Iterable[Edge],
    roots: Collection[str],
    *,
    status: int = INVALID,
    effective_time: int,
    policy: Policy,
    propagation: Propagation,
    override_pinned: bool = False,
    derived_roots: bool = False,
) -> Report:
    """`derived_roots`: "the roots of child runs and of runs caused by a `Supersedes` edge are derived"."""
    active = counting([edge for edge in edges if is_active(edge, effective_time)])
    run = _Run({node.id: node for node in nodes}, active, policy, propagation, override_pinned)
    run.rounds(roots, status)

    reexamined = run.reexamined()
    # "the roots of a request become directly invalid": those of a request to mark Invalid, that is
    direct = set(roots) if status == INVALID and not derived_roots else set()
    after = dict(run.before)
    for node_id in run.affected:
        after[node_id] = _changed(run.before[node_id], run.carried[node_id], effective_time, node_id in direct)
    for node_id in reexamined:  # "it becomes PotentiallyStale (it is not restored blindly)"
        after[node_id] = replace(run.before[node_id], status=POTENTIALLY_STALE, invalidation=None, invalid_since=None)
    components = _components(run.affected, active)
    return Report(_impacts(run, after, reexamined, components), after, components, frozenset(run.affected))


def is_active(edge: Edge, at: int) -> bool:
    """SEMANTICS 3: "when T lies in its interval and its rule, if any, is in force at T"; both half-open."""
    return _contains(edge.effective_from, edge.effective_to, at) and _contains(edge.rule_from, edge.rule_to, at)


def counting(active: list[Edge]) -> list[Edge]:
    """SEMANTICS 3: "A `Supersedes` edge inside a strongly connected component (of active necessary, evidential and
    `Supersedes` edges) does not count": one whose target can be walked back to its source."""
    forward: dict[str, set[str]] = {}
    for edge in active:
        forward.setdefault(edge.source, set())
        forward.setdefault(edge.target, set())
        if edge.type != CONTRADICTS:
            forward[edge.source].add(edge.target)
    return [edge for edge in active if edge.type != SUPERSEDES or edge.source not in _walk(edge.target, forward)]


class _Run:
    def __init__(
        self,
        before: Mapping[str, Node],
        active: list[Edge],
        policy: Policy,
        propagation: Propagation,
        override_pinned: bool,
    ) -> None:
        self.before = before
        self.strict = policy == "strict"
        self.transitive = propagation == "transitive"
        # "Protected nodes: pinned ones, unless `overridePinned`."
        self.protected = {node.id for node in before.values() if node.pinned and not override_pinned}
        self.arcs = active + [_turned(edge) for edge in active if edge.type == CONTRADICTS]
        self.into: dict[str, list[Edge]] = {node_id: [] for node_id in before}
        for arc in self.arcs:
            self.into[arc.target].append(arc)
        self.carried = dict.fromkeys(before, VALID)  # C, "Valid at first and only ever rising"
        self.reached: dict[str, _Reach] = {}  # by any edge that was looked at, protected nodes too
        self.affected: dict[str, _Reach] = {}
        self.affected_roots: set[str] = set()
        self.to_reexamine: set[str] = set()

    def rounds(self, roots: Collection[str], status: int) -> None:
        # "Round 0: each root that is not protected is affected, with C = `status`."
        self.reached = {root: _Reach(0, None) for root in roots}
        self.affected_roots = set(roots) - self.protected
        self.affected = {root: _Reach(0, None) for root in self.affected_roots}
        risen = dict.fromkeys(self.affected_roots, status)
        depth = 0
        while risen:  # "C only rises, so the rounds end, cycles included."
            self.carried.update(risen)
            depth += 1
            risen = self._round(depth, risen)

    def _round(self, depth: int, rose_before: Collection[str]) -> dict[str, int]:
        """The nodes whose C rises in this round, and to what.

        "All reads in a round see the values at the end of the round before": nothing is written to C here.
        """
        risen: dict[str, int] = {}
        for target, looked in self._looked_at(depth, rose_before).items():
            self.reached.setdefault(target, _Reach(depth, _smallest(looked)))
            if target in self.protected:  # "never changed, and nothing goes through them"
                continue
            # "`Supersedes` from an affected node with C = Invalid: nothing rises, but the target is to be
            # re-examined"
            if any(edge.type == SUPERSEDES and self.carried[edge.source] == INVALID for edge in looked):
                self.to_reexamine.add(target)
            carried = self.carried_to(target)
            if carried > self.carried[target]:  # "A target whose C rises above Valid is affected."
                risen[target] = carried
                via = _smallest(edge for edge in looked if edge.type != SUPERSEDES)
                self.affected.setdefault(target, _Reach(depth, via))
        return risen

    def _looked_at(self, depth: int, rose_before: Collection[str]) -> dict[str, list[Edge]]:
        """ "every active out-edge of the firing nodes whose C rose in the round before […] (in round 1 also
        the `Contradicts` edges of roots that do not fire)", by target."""
        looked_at: dict[str, list[Edge]] = {}
        for edge in self.arcs:
            if edge.source in rose_before and (self.fires(edge.source) or (depth == 1 and edge.type == CONTRADICTS)):
                looked_at.setdefault(edge.target, []).append(edge)
        return looked_at

    def reexamined(self) -> set[str]:
        """ "if it is derived-Invalid and its C is not Invalid when the run ends" """
        return {
            node_id
            for node_id in self.to_reexamine
            if self.before[node_id].status == INVALID
            and self.before[node_id].invalidation != "Direct"
            and self.carried[node_id] != INVALID
        }

    def now(self, node_id: str) -> int:
        """N(n) = max(S(n), C(n))"""
        return max(self.before[node_id].status, self.carried[node_id])

    def fires(self, node_id: str) -> bool:
        """ "while C is Invalid (with `transitive`: also while C is PotentiallyStale)" """
        return self.carried[node_id] >= (POTENTIALLY_STALE if self.transitive else INVALID)

    def carried_to(self, target: str) -> int:
        """ "C of its target rises to the maximum of" the classes of its in-edges."""
        necessary = {edge.source for edge in self.into[target] if edge.type in NECESSARY}
        implicit = {edge.source for edge in self.into[target] if edge.type in EVIDENTIAL and edge.group is None}
        contradicting = {edge.source for edge in self.into[target] if edge.type == CONTRADICTS}
        explicit: dict[str, list[Edge]] = {}
        for edge in self.into[target]:
            if edge.type in EVIDENTIAL and edge.group is not None:
                explicit.setdefault(edge.group, []).append(edge)
        return max(
            self.carried[target],
            self._from_necessary(necessary),
            self._from_implicit_group(implicit),
            self._from_contradicting(contradicting),
            *(self._from_explicit_group(group) for group in explicit.values()),
        )

    def _from_necessary(self, sources: set[str]) -> int:
        """ "necessary edges from firing sources: that source's C" """
        return max((self.carried[source] for source in sources if self.fires(source)), default=VALID)

    def _from_implicit_group(self, members: set[str]) -> int:
        """ "implicit group, if a member fires" """
        firing = [member for member in members if self.fires(member)]
        if not firing:
            return VALID
        # "`evidential`: Invalid when every member's N is Invalid, else PotentiallyStale"
        level = INVALID if all(self.now(member) == INVALID for member in members) else POTENTIALLY_STALE
        # "`strict`: [the same], or the maximum C of the firing members where that is more"
        return max([level, *(self.carried[member] for member in firing)]) if self.strict else level

    def _from_explicit_group(self, group: list[Edge]) -> int:
        """ "each explicit group with a firing member (both policies)" """
        sources = {edge.source for edge in group}  # "its distinct sources"
        k = max(edge.k for edge in group)  # "differing k among active edges: the largest counts"
        if not any(self.fires(source) for source in sources):
            return VALID
        # "Invalid when fewer than k sources are not Invalid;"
        if sum(self.now(source) != INVALID for source in sources) < k:
            return INVALID
        # "else, with `transitive`, PotentiallyStale when fewer than k are Valid; else Valid"
        if self.transitive and sum(self.now(source) == VALID for source in sources) < k:
            return POTENTIALLY_STALE
        return VALID

    def _from_contradicting(self, neighbours: set[str]) -> int:
        """ "from an affected node with C = Invalid, or from any affected root: PotentiallyStale" """
        doubted = any(self.carried[node] == INVALID or node in self.affected_roots for node in neighbours)
        return POTENTIALLY_STALE if doubted else VALID


def _changed(old: Node, carried: int, effective_time: int, direct: bool) -> Node:
    if carried != INVALID:  # N = max(S, C)
        return replace(old, status=max(old.status, carried))
    # "directly invalid, also where they were derived-Invalid before"; a direct invalidity is not taken away.
    invalidation = "Direct" if direct or old.invalidation == "Direct" else "Derived"
    # "`invalidSince` is set or moved back only where C is Invalid": the earliest time any run gave.
    since = effective_time if old.invalid_since is None else min(old.invalid_since, effective_time)
    return replace(old, status=INVALID, invalidation=invalidation, invalid_since=since)


def _impacts(
    run: _Run, after: Mapping[str, Node], reexamined: Collection[str], components: list[list[str]]
) -> dict[str, Impact]:
    component_of = {member: index for index, members in enumerate(components) for member in members}
    impacts = []
    for node_id, first_reach in run.reached.items():
        # "(for `Reexamine` and `SkippedPinned`: in the round in which it was first reached, any edge)"
        reach = first_reach
        old, new = run.before[node_id].status, after[node_id].status
        if node_id in run.protected:  # "They are recorded as reached"
            outcome: Outcome = "SkippedPinned"
        elif node_id in reexamined:
            outcome = "Reexamine"
        elif node_id in run.affected:
            outcome, reach = _outcome(old, new), run.affected[node_id]
        else:  # "One whose C stays Valid is neither changed nor walked through."
            continue
        component = component_of.get(node_id)
        impacts.append(Impact(node_id, reach.depth, old, new, outcome, reach.via_edge_id, component))
    impacts.sort(key=lambda impact: (impact.depth, impact.node_id.lower()))
    return {impact.node_id: impact for impact in impacts}


def _outcome(old: int, new: int) -> Outcome:
    if old == new:
        return "AlreadyAtStatus"
    return "Invalidated" if new == INVALID else "MarkedPotentiallyStale"


def _components(affected: Collection[str], active: Iterable[Edge]) -> list[list[str]]:
    """ "The strongly connected components of more than one node among the affected nodes, over active
    necessary and evidential edges": two nodes are in one where each can be walked to from the other."""
    forward: dict[str, set[str]] = {node_id: set() for node_id in affected}
    backward: dict[str, set[str]] = {node_id: set() for node_id in affected}
    for edge in active:
        if edge.type in NECESSARY | EVIDENTIAL and edge.source in forward and edge.target in forward:
            forward[edge.source].add(edge.target)
            backward[edge.target].add(edge.source)
    components: list[list[str]] = []
    placed: set[str] = set()
    for node_id in sorted(affected, key=str.lower):
        if node_id in placed:
            continue
        members = _walk(node_id, forward) & _walk(node_id, backward)
        placed |= members
        if len(members) > 1:
            components.append(sorted(members, key=str.lower))
    return components  # ordered by smallest member, since that is the one met first


def _walk(start: str, steps: Mapping[str, set[str]]) -> set[str]:
    seen, waiting = {start}, [start]
    while waiting:
        new = steps[waiting.pop()] - seen
        seen |= new
        waiting.extend(new)
    return seen


def _contains(start: int | None, end: int | None, at: int) -> bool:
    return (start is None or start <= at) and (end is None or at < end)


def _turned(edge: Edge) -> Edge:
    """`Contradicts` is symmetric: an out-edge of both its ends, under one id."""
    return replace(edge, source=edge.target, target=edge.source)


def _smallest(edges: Iterable[Edge]) -> str:
    """ "the one whose id is smallest as lower-case text" """
    return min((edge.id for edge in edges), key=str.lower)
