"""Assertions and the evidence for them."""

from collections.abc import Iterator
from datetime import datetime
from uuid import UUID

from app.domain.models import EvidenceReference, MemoryAssertion
from app.store.session import Session


class Assertions:
    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, assertion: MemoryAssertion) -> None:
        self._session.execute("assertion_insert", **assertion._asdict())

    def find(self, assertion_id: UUID) -> MemoryAssertion | None:
        return self._session.one(MemoryAssertion, "assertion_find", memory_assertion_id=assertion_id)

    def page(
        self, graph_id: UUID | None, node_id: UUID | None, after_id: UUID | None, limit: int
    ) -> list[MemoryAssertion]:
        """By id, at most ``limit``, those after ``after_id``; of a node, or of a whole graph."""
        return self._session.rows(
            MemoryAssertion,
            "assertion_page_by_node" if node_id else "assertion_page_by_graph",
            graph_id=graph_id,
            memory_node_id=node_id,
            after_id=after_id,
            limit=limit,
        )

    def update(self, assertion: MemoryAssertion) -> None:
        self._session.execute("assertion_update", **assertion._asdict())

    def retract(self, assertion_id: UUID, retracted_at: datetime) -> None:
        """It never was so."""
        self._session.execute("assertion_retract", memory_assertion_id=assertion_id, retracted_at=retracted_at)

    def delete(self, assertion_id: UUID) -> None:
        """The assertion, closed in history, and its evidence."""
        self._session.execute("assertions_forget_superseder", memory_assertion_id=assertion_id)
        self._session.execute("assertion_delete", memory_assertion_id=assertion_id)

    def as_of(self, graph_id: UUID, as_of: datetime) -> Iterator[MemoryAssertion]:
        """By id."""
        return self._session.stream(MemoryAssertion, "assertions_as_of", graph_id=graph_id, as_of=as_of)

    def between(self, graph_id: UUID, start: datetime, end: datetime) -> Iterator[MemoryAssertion]:
        """Versions known at ``start`` and closed by ``end``, or begun between and known at ``end``; by id and time."""
        return self._session.stream(
            MemoryAssertion, "assertions_between", graph_id=graph_id, start_time=start, end_time=end
        )

    def add_evidence(self, evidence: EvidenceReference) -> None:
        self._session.execute("evidence_insert", **evidence._asdict())

    def find_evidence(self, evidence_id: UUID) -> EvidenceReference | None:
        return self._session.one(EvidenceReference, "evidence_find", evidence_reference_id=evidence_id)

    def evidence(self, assertion_id: UUID, after_id: UUID | None, limit: int) -> list[EvidenceReference]:
        """By id, at most ``limit``, those after ``after_id``."""
        return self._session.rows(
            EvidenceReference,
            "evidence_page",
            memory_assertion_id=assertion_id,
            after_id=after_id,
            limit=limit,
        )

    def delete_evidence(self, evidence_id: UUID) -> None:
        self._session.execute("evidence_delete", evidence_reference_id=evidence_id)
