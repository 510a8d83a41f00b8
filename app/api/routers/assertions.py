"""Memory assertions: what nodes state."""

from typing import Annotated, Any

from fastapi import Path, Query, Request, Response

from app.api.conditional import ExpectedVersion, IfNoneMatch, one_row
from app.api.deps import Cursor, Limit, Reader, Writer, answer, shown
from app.api.routes import CHANGE, CREATE, DELETE, READ_ONE, READ_ROW, router
from app.schemas import AssertionPatch, NewAssertion
from app.schemas.fields import Id
from app.schemas.outputs import MemoryAssertion, Page, deleted, written
from app.services import assertions

routes = router("memory assertions")

_Written = written(MemoryAssertion)
_PATH = "/memory-assertions"
_ONE = _PATH + "/{memoryAssertionId}"

AssertionId = Annotated[Id, Path(alias="memoryAssertionId", title="Memory Assertion")]


@routes.post(_PATH, status_code=201, response_model=_Written, responses=CREATE)
def create_assertion(body: NewAssertion, writing: Writer) -> Response:
    """Let a node state something."""
    stored = writing.once(lambda uow: assertions.create(uow, body), body=body)
    return answer(stored, _PATH, "memoryAssertionId")


@routes.get(_PATH, response_model=Page[MemoryAssertion], responses=READ_ONE)
def list_assertions(
    reading: Reader,
    graph_id: Annotated[Id | None, Query(alias="graphId", title="Memory Graph")] = None,
    memory_node_id: Annotated[Id | None, Query(alias="memoryNodeId", title="Memory Node")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """Assertions of a graph or of one node."""
    with reading.view() as view:
        found = assertions.page(view, graph_id=graph_id, memory_node_id=memory_node_id, limit=limit, cursor=cursor)
        return shown(found)


@routes.get(_ONE, response_model=MemoryAssertion, responses=READ_ROW)
def get_assertion(
    assertion_id: AssertionId, request: Request, reading: Reader, if_none_match: IfNoneMatch = None
) -> Response:
    """One assertion as it is now."""
    with reading.view() as view:
        return one_row(request, assertions.get(view, assertion_id))


@routes.patch(_ONE, response_model=_Written, responses=CHANGE)
def update_assertion(
    assertion_id: AssertionId, body: AssertionPatch, writing: Writer, expected: ExpectedVersion
) -> Response:
    """Change how an assertion is rated or when it holds. The old row stays in history."""
    stored = writing.once(lambda uow: assertions.update(uow, assertion_id, body, expected), status=200, body=body)
    return answer(stored, id_field="memoryAssertionId")


@routes.delete(_ONE, response_model=deleted(memory_assertion_id=Id), responses=DELETE)
def delete_assertion(assertion_id: AssertionId, writing: Writer, expected: ExpectedVersion) -> Response:
    """End an assertion. Its rows stay in history."""

    def gone(_: None) -> dict[str, Any]:
        return {"memoryAssertionId": assertion_id}

    return answer(writing.once(lambda uow: assertions.delete(uow, assertion_id, expected), gone, status=200))
