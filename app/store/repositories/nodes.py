"""Memory nodes, now and as they were."""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from app.domain.models import MemoryNode
from app.store.session import LEVELS, Session


class ExternalNode(NamedTuple):
    """A node of another graph that an edge of this one reaches."""

    memory_node_id: UUID
    key: str | None
    graph_id: UUID
    name: str


class KnownNode(NamedTuple):
    """A node as it is, or as it last was."""

    memory_node_id: UUID
    key: str | None
    name: str
    status: str


class WalkedNode(NamedTuple):
    """A node that is not Valid, met on the way back from another one, at which an explanation ends."""

    memory_node_id: UUID
    key: str | None
    name: str
    status: str
    invalidation: str | None
    distance: int
    is_led_on: bool
    """Whether it has a source, or a contradiction, that is not Valid."""


class Nodes:
    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, node: MemoryNode) -> None:
        self._session.execute("node_insert", **node._asdict() | {"status": LEVELS[node.status]})

    def find(self, node_id: UUID) -> MemoryNode | None:
        return self._session.one(MemoryNode, "node_find", memory_node_id=node_id)

    def find_by_key(self, graph_id: UUID, key: str) -> MemoryNode | None:
        """Keys are compared byte for byte."""
        return self._session.one(MemoryNode, "node_find_by_key", graph_id=graph_id, key=key)

    def page(
        self, graph_id: UUID, key: str | None, status: str | None, after_id: UUID | None, limit: int
    ) -> list[MemoryNode]:
        """By id, at most ``limit``, those after ``after_id``."""
        return self._session.rows(
            MemoryNode,
            "node_page",
            graph_id=graph_id,
            key=key,
            status=None if status is None else LEVELS[status],
            after_id=after_id,
            limit=limit,
        )

    def update(self, node: MemoryNode) -> None:
        """Write what a caller may change; validity is changed by cascades and revalidation alone."""
        self._session.execute("node_update", **node._asdict())

    def delete(self, node_id: UUID) -> None:
        """The node, its edges and its assertions, each closed in history."""
        self._session.execute("edges_delete_of_node", memory_node_id=node_id)
        self._session.execute("assertions_forget_superseding_node", memory_node_id=node_id)
        self._session.execute("assertions_delete_of_node", memory_node_id=node_id)
        self._session.execute("node_delete", memory_node_id=node_id)

    def history(self, node_id: UUID, after: datetime, limit: int) -> list[MemoryNode]:
        """Every version of the node, oldest first, those that began after ``after``."""
        return self._session.rows(MemoryNode, "node_history", memory_node_id=node_id, after_time=after, limit=limit)

    def as_of(self, graph_id: UUID, as_of: datetime) -> Iterator[MemoryNode]:
        """By id."""
        return self._session.stream(MemoryNode, "nodes_as_of", graph_id=graph_id, as_of=as_of)

    def between(self, graph_id: UUID, start: datetime, end: datetime) -> Iterator[MemoryNode]:
        """Versions known at ``start`` and closed by ``end``, or begun between and known at ``end``; by id and time."""
        return self._session.stream(MemoryNode, "nodes_between", graph_id=graph_id, start_time=start, end_time=end)

    def externals_as_of(self, graph_id: UUID, as_of: datetime) -> list[ExternalNode]:
        """By id."""
        return self._session.rows(ExternalNode, "external_nodes_as_of", graph_id=graph_id, as_of=as_of)

    def last_known(self, node_id: UUID) -> KnownNode | None:
        """Also a node that is deleted."""
        return self._session.one(KnownNode, "node_last_known", memory_node_id=node_id)

    def walk_back(self, node_id: UUID, effective_time: datetime) -> list[WalkedNode]:
        """Where the explanations for a node end, behind it over all that is not Valid; nearest first."""
        self._session.execute("walk_clear")
        self._session.execute("walk_start", memory_node_id=node_id)
        distance = 1
        while self._session.execute("staleness_step", distance=distance, effective_time=effective_time):
            distance += 1
        return self._session.rows(WalkedNode, "staleness_roots", effective_time=effective_time)
