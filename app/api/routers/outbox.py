"""The outbox, for operators."""

from typing import Annotated

from fastapi import Path, Query, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST

from app.api.deps import Cursor, Limit, Reader, Writer, answer, shown
from app.api.metrics import metrics
from app.api.routes import READ, may_fail, router
from app.api.wire import wire
from app.schemas.looks import EventState, OutboxEvent
from app.schemas.outputs import Page, written
from app.services import outbox

routes = router("outbox")

_PATH = "/outbox"

EventNumber = Annotated[int, Path(alias="outboxEventId", title="Outbox Event", ge=1, lt=2**62)]


@routes.get(_PATH, response_model=Page[OutboxEvent], responses=READ)
def list_outbox(
    reading: Reader,
    state: Annotated[EventState | None, Query(title="State", description="Only these.")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """Events for workers, oldest first: `Pending` ones wait or are held, `Dead` ones were given up."""
    with reading.view() as view:
        return shown(outbox.page(view, state, limit=limit, cursor=cursor))


@routes.post(_PATH + "/{outboxEventId}/retry", response_model=written(OutboxEvent), responses=may_fail(404, 409))
def retry_event(number: EventNumber, writing: Writer) -> Response:
    """Take an event out of the dead letters, or out of its wait: it is tried again at once."""
    return answer(writing.once(lambda uow: outbox.retry(uow, number), wire, status=200))


@routes.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {CONTENT_TYPE_LATEST: {"schema": {"type": "string"}}}}, **READ},
)
def get_metrics(request: Request) -> Response:
    """Numbers for Prometheus, over all fleets."""
    return Response(metrics(request.app.state.store), media_type=CONTENT_TYPE_LATEST)
