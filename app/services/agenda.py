"""In which order nodes are looked at (SEMANTICS 6, Order)."""

import heapq
from collections.abc import Iterable
from datetime import datetime
from itertools import chain
from uuid import UUID

import rustworkx

from app.store.repositories.looks import Looks

Unit = frozenset[UUID]
"""A node, or all nodes of one circle."""


class Agenda:
    """The nodes that are still to be looked at, lowest level first.

    Levels are those of the condensed graph of active edges, contradictions aside: a node's is above those of everything
    it rests on. Of that graph no more is read than what lies behind the nodes that were put on the agenda.
    """

    def __init__(self, looks: Looks, effective_time: datetime) -> None:
        self._looks = looks
        self._effective_time = effective_time
        self._graph: rustworkx.PyDiGraph[None, None] = rustworkx.PyDiGraph()
        self._links: set[tuple[int, int]] = set()
        self._nodes: list[UUID] = []
        self._ordinals: dict[UUID, int] = {}
        self._levels: dict[UUID, int] = {}
        self._circles: dict[UUID, Unit] = {}
        self._waiting: dict[int, set[UUID]] = {}
        self._heap: list[int] = []

    def __bool__(self) -> bool:
        return any(self._waiting.values())

    def waiting(self) -> set[UUID]:
        return set(chain.from_iterable(self._waiting.values()))

    def add(self, nodes: Iterable[UUID]) -> None:
        """Put nodes on the agenda; of a circle, all of it."""
        nodes = set(nodes)
        unknown = {node for node in nodes if node not in self._levels}
        if unknown:
            self._explore(unknown)
            nodes |= self.waiting()
            self._waiting, self._heap = {}, []
        for node in nodes:
            level = self._levels[node]
            if level not in self._waiting:
                self._waiting[level] = set()
                heapq.heappush(self._heap, level)
            self._waiting[level].update(self.unit_of(node))

    def pop(self) -> list[Unit]:
        """Take off everything that waits at the lowest level. Units of one level do not rest on each other."""
        while True:
            level = heapq.heappop(self._heap)
            nodes = self._waiting.pop(level)
            if nodes:
                break
        return list({self.unit_of(node) for node in nodes})

    def unit_of(self, node: UUID) -> Unit:
        return self._circles.get(node) or frozenset((node,))

    def _explore(self, nodes: set[UUID]) -> None:
        """Read what lies behind nodes that were not met before, and order everything anew."""
        links = self._looks.at(nodes).region(self._effective_time)
        for node in set(chain.from_iterable(links)) | nodes:
            if self._ordinals.setdefault(node, len(self._nodes)) == len(self._nodes):
                self._nodes.append(node)
        found = {(self._ordinals[a], self._ordinals[b]) for a, b in links} - self._links
        self._links |= found
        self._graph.extend_from_edge_list(list(found))
        self._graph.add_nodes_from([None] * (len(self._nodes) - self._graph.num_nodes()))
        components = rustworkx.strongly_connected_components(self._graph)
        self._circles = {}
        component_of = [0] * len(self._nodes)
        for number, component in enumerate(components):
            for ordinal in component:
                component_of[ordinal] = number
            if len(component) > 1:
                circle = frozenset(self._nodes[ordinal] for ordinal in component)
                self._circles.update((node, circle) for node in circle)
        condensed: rustworkx.PyDiGraph[None, None] = rustworkx.PyDiGraph()
        condensed.add_nodes_from([None] * len(components))
        ends = ((component_of[source], component_of[target]) for source, target in self._links)
        condensed.extend_from_edge_list(list({pair for pair in ends if pair[0] != pair[1]}))
        for level, numbers in enumerate(rustworkx.topological_generations(condensed)):
            for number in numbers:
                for ordinal in components[number]:
                    self._levels[self._nodes[ordinal]] = level
