"""SEMANTICS 6, revalidation, written down as plainly as possible: slow, and meant to be read.

It is what both engines are compared with, so it shares no code with them. The words in quotes are SEMANTICS'. Left out
are what needs two writers at once (cancellation) and replacement by a decision.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from tests.reference.cascade import (
    CONTRADICTS,
    EVIDENTIAL,
    INVALID,
    NECESSARY,
    POTENTIALLY_STALE,
    SUPERSEDES,
    VALID,
    Edge,
    Node,
    Policy,
    Propagation,
    Report,
    cascade,
    is_active,
)

Finding = tuple[str, str | None]
"""Outcome and reason of a review."""
Ground = frozenset[tuple[str, str | None, int, str, int]]
Footing = Literal["Corrected", "Accepted"]


@dataclass
class World:
    """A graph, what was decided about its nodes, and the events that nobody has handled yet."""

    nodes: dict[str, Node]
    edges: list[Edge]
    policy: Policy = "evidential"
    propagation: Propagation = "frontier"
    mode: Literal["automatic", "agent"] = "automatic"
    footings: dict[str, tuple[Footing, Ground]] = field(default_factory=dict)
    waiting: set[str] = field(default_factory=set)  # "A PotentiallyStale root given by a caller waits for a decision"
    events: list[dict[str, int | None]] = field(default_factory=list)  # the named nodes, with their status before
    looks: int = 0

    # what callers do

    def invalidate(
        self,
        roots: Collection[str],
        at: int,
        *,
        status: int = INVALID,
        derived: bool = False,
        policy: Policy | None = None,
        propagation: Propagation | None = None,
        override_pinned: bool = False,
    ) -> Report:
        """ "A graph has a default for `propagation` and `policy`; a request may choose otherwise" """
        report = cascade(
            self.nodes.values(),
            self.edges,
            roots,
            status=status,
            effective_time=at,
            policy=policy or self.policy,
            propagation=propagation or self.propagation,
            override_pinned=override_pinned,
            derived_roots=derived,
        )
        self.nodes = dict(report.nodes)
        if status == POTENTIALLY_STALE and not derived:
            self.waiting |= {
                root
                for root in roots
                if report.impacts[root].new_status == POTENTIALLY_STALE
                and report.impacts[root].outcome != "SkippedPinned"
            }
        if status == INVALID and not derived:  # a doubt ends in certainty
            self.waiting -= {root for root in roots if report.impacts[root].outcome != "SkippedPinned"}
        self.events.append(self._named_after(report, at))
        return report

    def correct(self, roots: Collection[str], at: int) -> dict[str, Finding]:
        self.waiting -= set(roots)
        return self._run(dict.fromkeys(roots), dict.fromkeys(roots, "Corrected"), at)

    def accept(self, node_id: str, at: int) -> dict[str, Finding]:
        self.waiting.discard(node_id)
        return self._run({node_id: None}, {node_id: "Accepted"}, at)

    # "the targets of edges added, changed or removed; nodes unpinned or whose base confidence changed"

    def edge_added(self, edge: Edge, at: int) -> None:
        changed = [edge]
        if edge.type == SUPERSEDES:  # it "ends the support edges from B to A (`effectiveTo` = that time)"
            against = [e for e in self.edges if (e.source, e.target) == (edge.target, edge.source)]
            support = [e for e in against if e.type in NECESSARY | EVIDENTIAL]
            ended = [e for e in support if e.effective_to is None or e.effective_to > at]
            self.edges = [replace(e, effective_to=at) if e in ended else e for e in self.edges]
            changed += ended
        self.edges.append(edge)
        self._name_targets(*changed)

    def edge_changed(self, edge: Edge) -> None:
        [old] = [e for e in self.edges if e.id == edge.id]
        self.edges[self.edges.index(old)] = edge
        self._name_targets(old, edge)

    def edge_removed(self, edge_id: str) -> None:
        [old] = [e for e in self.edges if e.id == edge_id]
        self.edges.remove(old)
        self._name_targets(old)

    def unpinned(self, node_id: str) -> None:
        self.nodes[node_id] = replace(self.nodes[node_id], pinned=False)
        self.events.append({node_id: None})

    def base_confidence_changed(self, node_id: str, base_confidence: float) -> None:
        self.nodes[node_id] = replace(self.nodes[node_id], base_confidence=base_confidence)
        self.events.append({node_id: None})

    def _name_targets(self, *edges: Edge) -> None:
        ends = {e.target for e in edges} | {e.source for e in edges if e.type == CONTRADICTS}
        self.events.append(dict.fromkeys(sorted(ends)))

    def look_at_everything(self, at: int) -> dict[str, Finding]:
        return self._run(dict.fromkeys(self.nodes), {}, at)

    def drain(self, at: int) -> list[dict[str, Finding]]:
        found = []
        while self.events:
            found.append(self._run(self.events.pop(0), {}, at))
        return found

    def incoherent(self, at: int) -> set[str]:
        """Nodes whose status or confidence is not what the rules give."""
        wrong = set()
        for unit in self._units(at):
            for node_id, (_, _, status, confidence) in self._evaluate(unit, {}, at).items():
                node = self.nodes[node_id]
                if node.status != status or abs(node.confidence - confidence) >= 1e-9:
                    wrong.add(node_id)
        return wrong

    # which nodes a cascade names

    def _named_after(self, report: Report, at: int) -> dict[str, int | None]:
        """ "its PotentiallyStale and re-examined nodes and the nodes that lost a group member or a superseder (through
        chains of `Supersedes`)"; and, for the sake of order independence, Invalid nodes of a circle that lost a
        necessary source: it may have been what held the others of the circle."""
        before: dict[str, int | None] = {}
        for impact in report.impacts.values():
            if impact.new_status == POTENTIALLY_STALE and impact.outcome != "SkippedPinned":
                before[impact.node_id] = impact.old_status
        fallen = {i.node_id for i in report.impacts.values() if i.old_status != INVALID and i.new_status == INVALID}
        for edge in self.edges:
            if edge.source in fallen and edge.type in EVIDENTIAL:
                impact_there = report.impacts.get(edge.target)
                before.setdefault(edge.target, impact_there.old_status if impact_there else None)
            elif edge.source in fallen and edge.type in NECESSARY and len(self._component_of(edge.target, at)) > 1:
                impact_there = report.impacts.get(edge.target)
                if impact_there and impact_there.old_status == INVALID:
                    before.setdefault(edge.target, INVALID)
        for node_id in self._replaced_by(fallen):
            impact_there = report.impacts.get(node_id)
            before.setdefault(node_id, impact_there.old_status if impact_there else None)
        return before

    def _replaced_by(self, node_ids: Collection[str]) -> set[str]:
        found: set[str] = set()
        while (
            new := {e.target for e in self.edges if e.type == SUPERSEDES and e.source in found | set(node_ids)} - found
        ):
            found |= new
        return found

    # one run

    def _run(self, named: Mapping[str, int | None], decided: Mapping[str, str], at: int) -> dict[str, Finding]:
        before = dict(named)
        pending = set(named) & self.nodes.keys()
        findings: dict[str, Finding] = {}
        at_first = {n: node.status for n, node in self.nodes.items()}
        while pending:
            units = [unit for unit in self._units(at) if pending & set(unit)]
            levels = self._levels(at)
            lowest = min(levels[unit[0]] for unit in units)
            chosen = [unit for unit in units if levels[unit[0]] == lowest]
            state = dict(self.nodes)
            found = {n: f for unit in chosen for n, f in self._evaluate(unit, decided, at).items()}
            for unit in chosen:
                pending -= set(unit)
            fallen = sorted(
                n
                for n, (_, _, status, _) in found.items()
                if status == INVALID and state[n].status != INVALID and before.get(n) != INVALID
            )
            if fallen:  # "the cascade goes on from it as a child run with it as derived root"
                child = self.invalidate(fallen, at, derived=True)
                # "nor before the run that named it": what the child run re-examines was Invalid before
                for impact in child.impacts.values():
                    if impact.outcome == "Reexamine":
                        before.setdefault(impact.node_id, impact.old_status)
                        pending.add(impact.node_id)
            for node_id, (outcome, reason, status, confidence) in found.items():
                self._write(node_id, status, confidence, state[node_id], decided.get(node_id))
                # the last look counts, next to the state before the first
                is_back = outcome == "RemainsValid" and node_id in findings and at_first[node_id] == INVALID
                findings[node_id] = ("Restored" if is_back else outcome, reason)
            self._stand(found, decided, at)
            for node_id, (_, _, status, confidence) in found.items():
                first = before.pop(node_id, None)
                if (
                    status != state[node_id].status
                    or abs(confidence - state[node_id].confidence) >= 1e-9
                    or (first is not None and status != first)
                ):
                    unit = next(unit for unit in chosen if node_id in unit)
                    pending |= self._onwards(node_id) - set(unit)
            self.looks += len(found)
        return findings

    def _onwards(self, node_id: str) -> set[str]:
        """ "along out-edges, active or not (`Contradicts` both ways)" """
        reached = {e.target for e in self.edges if e.source == node_id}
        reached |= {e.source for e in self.edges if e.target == node_id and e.type == CONTRADICTS}
        return reached | self._replaced_by([node_id])

    def _write(self, node_id: str, status: int, confidence: float, old: Node, footing: str | None) -> None:
        invalidation = None
        if status == INVALID:
            invalidation = "Direct" if old.invalidation == "Direct" and footing != "Corrected" else "Derived"
        since = (old.invalid_since if old.invalid_since is not None else 0) if status == INVALID else None
        if abs(confidence - old.confidence) < 1e-9:
            confidence = old.confidence
        self.nodes[node_id] = replace(
            old, status=status, invalidation=invalidation, invalid_since=since, confidence=confidence
        )

    def _stand(self, found: Collection[str], decided: Mapping[str, str], at: int) -> None:
        for node_id in found:
            if node_id in decided:
                self.footings[node_id] = (decided[node_id], self._ground(node_id, at, {}))  # type: ignore[assignment]
            elif node_id in self.footings and (
                self.footings[node_id][1] != self._ground(node_id, at, {})
                or self.nodes[node_id].invalidation == "Direct"
                or node_id in self.waiting
            ):
                del self.footings[node_id]

    # the rules

    def _evaluate(
        self, unit: list[str], decided: Mapping[str, str], at: int
    ) -> dict[str, tuple[str, str | None, int, float]]:
        """Outcome, reason, status and confidence of every member that is not pinned."""
        # what a caller says later overrules an earlier decision
        overruled = {n for n in unit if self.nodes[n].invalidation == "Direct" or n in self.waiting}
        footing: dict[str, str] = {n: self.footings[n][0] for n in unit if n in self.footings and n not in overruled}
        footing |= {n: f for n, f in decided.items() if n in unit}
        while True:
            found = self._found(unit, footing, at)
            statuses = {n: status for n, (_, _, status, _) in found.items()}
            lapsed = {
                n
                for n in footing
                if n not in decided
                and not self.nodes[n].pinned
                and self.footings[n][1] != self._ground(n, at, statuses)
            }
            if not lapsed:
                return found
            footing = {n: f for n, f in footing.items() if n not in lapsed}

    def _found(
        self, unit: list[str], footing: Mapping[str, str], at: int
    ) -> dict[str, tuple[str, str | None, int, float]]:
        now, reasons = self._statuses(unit, footing, at)
        outcomes = {}
        for node_id in unit:
            node = self.nodes[node_id]
            if node.pinned:
                continue  # "A pinned node keeps its status and confidence"
            outcome = {INVALID: "StillInvalid", POTENTIALLY_STALE: "NeedsReview"}.get(now[node_id])
            if outcome is None and self.mode == "agent" and node_id not in footing:
                outcome = "AwaitingAgent"
            outcomes[node_id] = outcome or ("Restored" if node.status == INVALID else "RemainsValid")
        # "AwaitingAgent: the status stays"
        now |= {n: self.nodes[n].status for n, outcome in outcomes.items() if outcome == "AwaitingAgent"}
        return {
            n: (outcome, reasons.get(n), now[n], self._confidence(n, unit, now, at)) for n, outcome in outcomes.items()
        }

    def _statuses(self, unit: list[str], footing: Mapping[str, str], at: int) -> tuple[dict[str, int], dict[str, str]]:
        """ "the greatest fixpoint of these rules: begin with every member Valid, lower until nothing changes" """
        free = [n for n in unit if not self.nodes[n].pinned]
        now = {n: self.nodes[n].status for n in self.nodes} | dict.fromkeys(free, VALID)
        reasons: dict[str, str] = {}
        while low := [n for n in free if now[n] == VALID and self._falls(n, footing, now, at)]:
            now |= dict.fromkeys(low, INVALID)
        while low := [n for n in free if now[n] == VALID and self._doubt(n, unit, footing, now, at)]:
            for n in low:
                reasons[n] = self._doubt(n, unit, footing, now, at) or ""
            now |= dict.fromkeys(low, POTENTIALLY_STALE)
        return {n: now[n] for n in unit}, reasons

    def _falls(self, n: str, footing: Mapping[str, str], now: Mapping[str, int], at: int) -> bool:
        """Rule 1."""
        if footing.get(n) == "Accepted":
            return False
        wrong = self.nodes[n].invalidation == "Direct" and footing.get(n) != "Corrected"
        if wrong or self._is_superseded(n, at, now) or any(now[s] == INVALID for s in self._necessary(n, at)):
            return True
        for group, (k, members) in self._groups(n, at).items():
            holding = [s for s in members if now[s] != INVALID]
            if group is not None and len(holding) < k:
                return True
            if group is None and (not holding or (self.policy == "strict" and len(holding) < len(members))):
                return True
        return False

    def _doubt(
        self, n: str, unit: list[str], footing: Mapping[str, str], now: Mapping[str, int], at: int
    ) -> str | None:
        """Rules 2 to 4, and the caller's own doubt."""
        if footing.get(n) == "Accepted":
            return None
        if self._is_partly_supported(n, now, at):
            return "PartialSupport"
        if footing.get(n) == "Corrected":
            return None
        if any(now[s] != INVALID for s in self._contradicting(n, at)):
            return "Contradiction"
        if len(unit) > 1 and not self._is_held(unit, footing, at):
            return "CircularSupport"
        return "Requested" if n in self.waiting else None

    def _is_partly_supported(self, n: str, now: Mapping[str, int], at: int) -> bool:
        groups = self._groups(n, at)
        implicit = groups.get(None, (1, {}))[1]
        if any(now[s] == INVALID for s in implicit):
            return True
        return self.propagation == "transitive" and (
            any(now[s] == POTENTIALLY_STALE for s in [*self._necessary(n, at), *implicit])
            or any(sum(now[s] == VALID for s in m) < k for g, (k, m) in groups.items() if g is not None)
        )

    def _is_held(self, unit: list[str], footing: Mapping[str, str], at: int) -> bool:
        """ "none of whose members is a corrected root, an accepted node, a Valid pinned node, or has a Valid support
        from outside" """
        if any(n in footing or (self.nodes[n].pinned and self.nodes[n].status == VALID) for n in unit):
            return True
        return any(
            e.target in unit and e.source not in unit and self.nodes[e.source].status == VALID
            for e in self._active(at)
            if e.type in NECESSARY | EVIDENTIAL
        )

    def _confidence(self, n: str, unit: list[str], statuses: Mapping[str, int], at: int) -> float:
        def of(source: str) -> float:
            return self.nodes[source].base_confidence if source in unit else self.nodes[source].confidence

        result = self.nodes[n].base_confidence
        for source in self._necessary(n, at):
            result *= of(source)
        for _, members in self._groups(n, at).values():
            doubt = 1.0
            for source, weight in members.items():
                if statuses.get(source, self.nodes[source].status) != INVALID:
                    doubt *= 1 - weight * of(source)
            result *= 1 - doubt
        return result

    def _ground(self, n: str, at: int, statuses: Mapping[str, int]) -> Ground:
        def status(source: str) -> int:
            return statuses.get(source, self.nodes[source].status)

        into = {(e.type, e.group, e.k, e.source, status(e.source)) for e in self._active(at) if e.target == n}
        against = {(CONTRADICTS, None, 1, s, status(s)) for s in self._contradicting(n, at)}
        return frozenset(into | against)

    def _is_superseded(self, n: str, at: int, now: Mapping[str, int], seen: frozenset[str] = frozenset()) -> bool:
        """ "while the source stands (is not Invalid, or is itself superseded)"; inside a component none counts."""
        component = self._component_of(n, at)
        return any(
            now[e.source] != INVALID or self._is_superseded(e.source, at, now, seen | {n})
            for e in self._active(at)
            if e.type == SUPERSEDES and e.target == n and e.source not in component and e.source not in seen
        )

    # the graph

    def _active(self, at: int) -> list[Edge]:
        return [edge for edge in self.edges if is_active(edge, at)]

    def _necessary(self, n: str, at: int) -> list[str]:
        return sorted({e.source for e in self._active(at) if e.target == n and e.type in NECESSARY})

    def _contradicting(self, n: str, at: int) -> set[str]:
        edges = [e for e in self._active(at) if e.type == CONTRADICTS]
        return {e.source for e in edges if e.target == n} | {e.target for e in edges if e.source == n}

    def _groups(self, n: str, at: int) -> dict[str | None, tuple[int, dict[str, float]]]:
        groups: dict[str | None, tuple[int, dict[str, float]]] = {}
        for e in self._active(at):
            if e.target == n and e.type in EVIDENTIAL:
                k, members = groups.get(e.group, (1, {}))
                weight = max(e.weight, members.get(e.source, 0.0))
                groups[e.group] = (max(k, e.k), members | {e.source: weight})
        return groups

    def _units(self, at: int) -> list[list[str]]:
        units: list[list[str]] = []
        for node_id in sorted(self.nodes):
            if not any(node_id in unit for unit in units):
                units.append(sorted(self._component_of(node_id, at)))
        return units

    def _component_of(self, n: str, at: int) -> set[str]:
        edges = [e for e in self._active(at) if e.type != CONTRADICTS]
        ahead = _walk(n, [(e.source, e.target) for e in edges])
        behind = _walk(n, [(e.target, e.source) for e in edges])
        return ahead & behind

    def _levels(self, at: int) -> dict[str, int]:
        """The longest path to a node in the condensed graph."""
        edges = [e for e in self._active(at) if e.type != CONTRADICTS]
        component = {n: frozenset(self._component_of(n, at)) for n in self.nodes}
        levels = dict.fromkeys(self.nodes, 0)
        while True:
            raised = dict(levels)
            for e in edges:
                if component[e.source] != component[e.target]:
                    raised |= {n: max(raised[n], levels[e.source] + 1) for n in component[e.target]}
            if raised == levels:
                return levels
            levels = raised


def _walk(start: str, steps: Iterable[tuple[str, str]]) -> set[str]:
    steps = list(steps)
    seen = {start}
    while new := {b for a, b in steps if a in seen} - seen:
        seen |= new
    return seen
