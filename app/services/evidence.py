"""Evidence references, one by one."""

from uuid import UUID

from app.domain import identity
from app.domain.errors import Conflict, NotFound
from app.domain.models import EvidenceReference, Page
from app.schemas import NewEvidence
from app.services import assertions, cursors
from app.services.nodes import name_of, named
from app.store.unit import UnitOfWork, View


def create(uow: UnitOfWork, body: NewEvidence) -> EvidenceReference:
    """Evidence for an assertion, named by its id or as the first one of a node."""
    assertion_id = body.memory_assertion_id
    if assertion_id is None:
        node = named(uow, body.graph_id, body.node, None)
        assertion_id = identity.first_assertion_id(node.graph_id, name_of(node))
    assertion = assertions.get(uow, assertion_id)
    default = identity.evidence_id(assertion.graph_id, assertion_id, body.evidence_type, body.reference)
    evidence = EvidenceReference(
        evidence_reference_id=body.evidence_reference_id or default,
        graph_id=assertion.graph_id,
        memory_assertion_id=assertion_id,
        evidence_type=body.evidence_type,
        reference=body.reference,
        details=body.details,
        recorded_at=body.recorded_at or uow.stamp,
    )
    if uow.assertions.find_evidence(evidence.evidence_reference_id):
        raise Conflict(f"An evidence reference {evidence.evidence_reference_id} exists already.")
    uow.assertions.add_evidence(evidence)
    return evidence


def get(view: View, evidence_id: UUID) -> EvidenceReference:
    evidence = view.assertions.find_evidence(evidence_id)
    if evidence is None:
        raise NotFound("Evidence reference", [evidence_id])
    return evidence


def page(view: View, *, memory_assertion_id: UUID, limit: int, cursor: str | None) -> Page[EvidenceReference]:
    assertions.get(view, memory_assertion_id)
    return cursors.page_by_id(
        lambda after, count: view.assertions.evidence(memory_assertion_id, after, count), limit, cursor
    )


def delete(uow: UnitOfWork, evidence_id: UUID) -> None:
    get(uow, evidence_id)
    uow.assertions.delete_evidence(evidence_id)
