"""Memory edges, now and as they were."""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from app.domain.models import MemoryEdge
from app.store.session import Session


class Neighbour(NamedTuple):
    """A node at the other end of a replacement or contradiction."""

    memory_node_id: UUID
    key: str | None
    name: str
    status: str


class Edges:
    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, edge: MemoryEdge) -> None:
        self._session.execute("edge_insert", **edge._asdict())

    def find(self, edge_id: UUID) -> MemoryEdge | None:
        return self._session.one(MemoryEdge, "edge_find", memory_edge_id=edge_id)

    def page(
        self,
        graph_id: UUID | None,
        source_node_id: UUID | None,
        target_node_id: UUID | None,
        after_id: UUID | None,
        limit: int,
    ) -> list[MemoryEdge]:
        """By id, at most ``limit``, those after ``after_id``; one of the three filters is given."""
        by = "source" if source_node_id else "target" if target_node_id else "graph"
        return self._session.rows(
            MemoryEdge,
            f"edge_page_by_{by}",
            graph_id=graph_id,
            source_node_id=source_node_id,
            target_node_id=target_node_id,
            after_id=after_id,
            limit=limit,
        )

    def of_node(self, node_id: UUID) -> list[MemoryEdge]:
        """Every edge that touches the node, by id."""
        return self._session.rows(MemoryEdge, "edges_of_node", memory_node_id=node_id)

    def update(self, edge: MemoryEdge) -> None:
        self._session.execute("edge_update", **edge._asdict())

    def delete(self, edge_id: UUID) -> None:
        self._session.execute("edge_delete", memory_edge_id=edge_id)

    def as_of(self, graph_id: UUID, as_of: datetime) -> Iterator[MemoryEdge]:
        """By id."""
        return self._session.stream(MemoryEdge, "edges_as_of", graph_id=graph_id, as_of=as_of)

    def between(self, graph_id: UUID, start: datetime, end: datetime) -> Iterator[MemoryEdge]:
        """Versions known at ``start`` and closed by ``end``, or begun between and known at ``end``; by id and time."""
        return self._session.stream(MemoryEdge, "edges_between", graph_id=graph_id, start_time=start, end_time=end)

    def end_supports(self, superseded_id: UUID, superseder_id: UUID, effective_time: datetime) -> int:
        """A replacement does not rest on what it replaces (SEMANTICS 3); how many edges that ended."""
        binds = {
            "superseded_id": superseded_id,
            "superseder_id": superseder_id,
            "effective_time": effective_time,
        }
        return self._session.execute("edge_end_supports", **binds) + self._session.execute(
            "edge_drop_supports", **binds
        )

    def closes_circle(self, superseded_id: UUID, superseder_id: UUID, effective_time: datetime) -> bool:
        """Whether the replacement lies inside a strongly connected component, where it does not count."""
        found = self._session.scalar(
            "edge_closes_circle",
            superseded_id=superseded_id,
            superseder_id=superseder_id,
            effective_time=effective_time,
        )
        return bool(found)

    def superseders(self, node_id: UUID, effective_time: datetime) -> list[Neighbour]:
        """Nodes that replace this one, by edge id."""
        return self._session.rows(Neighbour, "superseders", memory_node_id=node_id, effective_time=effective_time)

    def contradictions(self, node_id: UUID, effective_time: datetime) -> list[Neighbour]:
        """Nodes that contradict this one and are not Invalid, by id."""
        return self._session.rows(Neighbour, "contradictions", memory_node_id=node_id, effective_time=effective_time)
