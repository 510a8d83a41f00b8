"""Evidence for assertions."""

from typing import Annotated, Any

from fastapi import Path, Query, Response

from app.api.deps import Cursor, Limit, Reader, Writer, answer, shown
from app.api.routes import CREATE, READ_ONE, may_fail, router
from app.schemas import NewEvidence
from app.schemas.fields import Id
from app.schemas.outputs import EvidenceReference, Page, deleted, written
from app.services import evidence

routes = router("evidence references")

_PATH = "/evidence-references"
_ONE = _PATH + "/{evidenceReferenceId}"

EvidenceId = Annotated[Id, Path(alias="evidenceReferenceId", title="Evidence Reference")]


@routes.post(_PATH, status_code=201, response_model=written(EvidenceReference), responses=CREATE)
def create_evidence(body: NewEvidence, writing: Writer) -> Response:
    """Name a document, an observation or an answer of an API that supports an assertion."""
    return answer(writing.once(lambda uow: evidence.create(uow, body), body=body), _PATH, "evidenceReferenceId")


@routes.get(_PATH, response_model=Page[EvidenceReference], responses=READ_ONE)
def list_evidence(
    reading: Reader,
    memory_assertion_id: Annotated[Id, Query(alias="memoryAssertionId", title="Memory Assertion")],
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """The evidence for an assertion."""
    with reading.view() as view:
        found = evidence.page(view, memory_assertion_id=memory_assertion_id, limit=limit, cursor=cursor)
        return shown(found)


@routes.get(_ONE, response_model=EvidenceReference, responses=READ_ONE)
def get_evidence(evidence_id: EvidenceId, reading: Reader) -> Response:
    """One piece of evidence."""
    with reading.view() as view:
        return shown(evidence.get(view, evidence_id))


@routes.delete(_ONE, response_model=deleted(evidence_reference_id=Id), responses=may_fail(404, 409))
def delete_evidence(evidence_id: EvidenceId, writing: Writer) -> Response:
    """Take a piece of evidence away."""

    def gone(_: None) -> dict[str, Any]:
        return {"evidenceReferenceId": evidence_id}

    return answer(writing.once(lambda uow: evidence.delete(uow, evidence_id), gone, status=200))
