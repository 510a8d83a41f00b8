"""In which order nodes are looked at (SEMANTICS 6, Order)."""

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime
from itertools import islice
from uuid import UUID

import rustworkx

from app.store.repositories.looks import Link, Looks

Unit = frozenset[UUID]
"""A node, or all nodes of one circle."""

_AT_ONCE = 2000


class Agenda:
    """The nodes that are still to be looked at, lowest level first.

    A node's level is above those of everything it rests on, over active edges, contradictions aside. To tell the levels
    of some nodes, and which of them lie on circles, it is enough to know everything that they rest on, or everything
    that rests on them. Which of the two is less is not known before; so both walks go on in turn until one is at its
    end. A look that stops early, at a hub or at the end of a long chain, then reads no more than what is near.
    """

    def __init__(self, looks: Looks, effective_time: datetime) -> None:
        self._below = _Walk(lambda nodes: looks.at(nodes).links_into(effective_time), lambda link: link.source_node_id)
        self._above = _Walk(lambda nodes: looks.at(nodes).links_from(effective_time), lambda link: link.target_node_id)
        self._order = _Order()
        self._by_below = self._order
        self._waiting: dict[int, set[UUID]] = {}
        self._heap: list[int] = []

    def __bool__(self) -> bool:
        return any(self._waiting.values())

    def waiting(self) -> set[UUID]:
        return set().union(*self._waiting.values())

    def add(self, nodes: Iterable[UUID]) -> None:
        """Put nodes on the agenda; of a circle, all of it."""
        nodes = set(nodes)
        self._below.begin(nodes)
        self._above.begin(nodes)
        if any(node not in self._order.levels for node in nodes):
            nodes |= self.waiting()
            self._waiting, self._heap = {}, []
            self._find_order()
        for node in nodes:
            level = self._order.levels[node]
            if level not in self._waiting:
                self._waiting[level] = set()
                heapq.heappush(self._heap, level)
            self._waiting[level].update(self.unit_of(node))

    def pop(self) -> list[Unit]:
        """Take off everything that waits at the lowest level. Units of one level do not rest on each other."""
        while True:
            nodes = self._waiting.pop(heapq.heappop(self._heap))
            if nodes:
                return list({self.unit_of(node) for node in nodes})

    def unit_of(self, node: UUID) -> Unit:
        return self._order.circles.get(node) or frozenset((node,))

    def _find_order(self) -> None:
        while self._below.frontier and self._above.frontier:
            min(self._below, self._above, key=lambda walk: walk.cost).step()
        if self._below.frontier:
            self._order = _Order()
            self._order.place(self._above.seen, self._above.links)
        else:  # what is placed already rests on nothing new
            self._by_below.place(self._below.unplaced, self._below.links)
            self._below.unplaced, self._below.links = set(), []
            self._order = self._by_below


def on_circles(looks: Looks, nodes: set[UUID], effective_time: datetime) -> set[UUID]:
    """Those of the nodes that lie on a circle."""
    agenda = Agenda(looks, effective_time)
    agenda.add(nodes)
    return {node for node in nodes if len(agenda.unit_of(node)) > 1}


class _Walk:
    """A walk in one direction, as far as it leads, read step by step."""

    def __init__(self, read: Callable[[Iterable[UUID]], list[Link]], onwards: Callable[[Link], UUID]) -> None:
        self._read = read
        self._onwards = onwards
        self.seen: set[UUID] = set()
        self.frontier: set[UUID] = set()
        self.unplaced: set[UUID] = set()
        self.links: list[Link] = []
        self.cost = 0

    def begin(self, nodes: Iterable[UUID]) -> None:
        new = {node for node in nodes if node not in self.seen}
        self.seen |= new
        self.unplaced |= new
        self.frontier |= new

    def step(self) -> None:
        part = list(islice(self.frontier, _AT_ONCE))
        self.frontier.difference_update(part)
        links = self._read(part)
        self.links += links
        self.cost += len(part) + len(links)
        self.begin(map(self._onwards, links))


class _Order:
    """Levels and circles of the nodes that were placed."""

    def __init__(self) -> None:
        self.levels: dict[UUID, int] = {}
        self.circles: dict[UUID, Unit] = {}

    def place(self, new: set[UUID], links: Iterable[Link]) -> None:
        """Place further nodes, given every link among them and from placed ones; none leads back to a placed one."""
        ordinals = {node: ordinal for ordinal, node in enumerate(new)}
        nodes = list(ordinals)
        floors = [0] * len(nodes)
        inner = set()
        for source, target in links:
            if source in ordinals:
                inner.add((ordinals[source], ordinals[target]))
            else:
                floors[ordinals[target]] = max(floors[ordinals[target]], self.levels[source] + 1)
        graph: rustworkx.PyDiGraph[None, None] = rustworkx.PyDiGraph()
        graph.add_nodes_from([None] * len(nodes))
        graph.extend_from_edge_list(list(inner))
        components = rustworkx.strongly_connected_components(graph)
        component_of = [0] * len(nodes)
        for number, component in enumerate(components):
            for ordinal in component:
                component_of[ordinal] = number
            if len(component) > 1:
                circle = frozenset(nodes[ordinal] for ordinal in component)
                self.circles.update((node, circle) for node in circle)
        self._set_levels(nodes, floors, components, {(component_of[a], component_of[b]) for a, b in inner})

    def _set_levels(
        self, nodes: list[UUID], floors: list[int], components: list[list[int]], links: set[tuple[int, int]]
    ) -> None:
        condensed: rustworkx.PyDiGraph[None, None] = rustworkx.PyDiGraph()
        condensed.add_nodes_from([None] * len(components))
        condensed.extend_from_edge_list([(a, b) for a, b in links if a != b])
        levels = [max(floors[ordinal] for ordinal in component) for component in components]
        onwards: dict[int, list[int]] = defaultdict(list)
        for source, target in links:
            if source != target:
                onwards[source].append(target)
        for number in rustworkx.topological_sort(condensed):
            for target in onwards[number]:
                levels[target] = max(levels[target], levels[number] + 1)
            self.levels.update((nodes[ordinal], levels[number]) for ordinal in components[number])
