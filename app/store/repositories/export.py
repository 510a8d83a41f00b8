"""A graph as the lines of an export, ordered by key."""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from app.domain.models import MemoryAssertion, MemoryNode
from app.store.session import Session


class ExportedEdge(NamedTuple):
    """An edge with the keys of its ends in its own graph."""

    memory_edge_id: UUID
    source_node_id: UUID
    target_node_id: UUID
    edge_type: str
    support_group: str | None
    min_support: int
    weight: float
    effective_from: datetime | None
    effective_to: datetime | None
    source_rule_id: UUID | None
    created_at: datetime
    source_key: str | None
    target_key: str | None


class ExportedEvidence(NamedTuple):
    """Evidence with the node whose assertion it supports."""

    evidence_reference_id: UUID
    memory_assertion_id: UUID
    evidence_type: str
    reference: str
    details: str | None
    recorded_at: datetime
    node_key: str | None
    memory_node_id: UUID


class Export:
    def __init__(self, session: Session) -> None:
        self._session = session

    def nodes(self, graph_id: UUID, as_of: datetime) -> Iterator[MemoryNode]:
        """By key and id; nodes without key first."""
        return self._session.stream(MemoryNode, "export_nodes", graph_id=graph_id, as_of=as_of)

    def assertions(self, graph_id: UUID, as_of: datetime) -> Iterator[MemoryAssertion]:
        """In the order of their nodes."""
        return self._session.stream(MemoryAssertion, "export_assertions", graph_id=graph_id, as_of=as_of)

    def edges(self, graph_id: UUID, as_of: datetime) -> Iterator[ExportedEdge]:
        """By the keys of their ends and their type."""
        return self._session.stream(ExportedEdge, "export_edges", graph_id=graph_id, as_of=as_of)

    def evidence(self, graph_id: UUID, as_of: datetime) -> Iterator[ExportedEvidence]:
        """In the order of the nodes it is for."""
        return self._session.stream(ExportedEvidence, "export_evidence", graph_id=graph_id, as_of=as_of)
