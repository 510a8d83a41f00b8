"""What a fleet is told: as a stream, or by signed requests to a subscriber."""

from collections.abc import AsyncIterator
from time import monotonic
from typing import Annotated, Any

import anyio
from fastapi import Header, Path, Query, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from app.api.deps import Cursor, Limit, Reader, Reading, Writer, answer, shown
from app.api.routes import READ, may_fail, router
from app.api.wire import dumps
from app.domain import models
from app.domain.errors import Invalid
from app.schemas.fields import Id
from app.schemas.looks import NewWebhookAnswer, Webhook, show_webhook
from app.schemas.outputs import Page, deleted, written
from app.schemas.revalidation import NewWebhook
from app.services import events, webhooks

routes = router("events")

_WEBHOOKS = "/webhooks"
_EVENT_STREAM = "text/event-stream"
_LOOK_SECONDS = 0.1
_POLL_SECONDS = 1.0
"""How soon an event of another process is seen; one of this process is within the time above."""
_SILENCE_SECONDS = 15.0
"""After so long without an event a comment is sent, so that nothing on the way takes the connection for dead."""

WebhookId = Annotated[Id, Path(alias="webhookId", title="Webhook")]


@routes.get(
    "/events",
    response_class=StreamingResponse,
    responses={200: {"content": {_EVENT_STREAM: {"schema": {"type": "string"}}}}, **READ},
)
async def stream_events(
    request: Request,
    reading: Reader,
    last_event_id: Annotated[
        str | None,
        Header(alias="Last-Event-ID", title="Last Event", max_length=20, description="Go on after this event."),
    ] = None,
    from_event: Annotated[
        int | None,
        Query(
            alias="lastEventId", title="Last Event", ge=0, lt=2**62, description="The same as a parameter; 0: all kept."
        ),
    ] = None,
) -> Response:
    """What was invalidated, restored or sent to review, as it happens (Server-Sent Events).

    Each event has its number as `id`: after a lost connection, `Last-Event-ID` goes on behind the last one seen, as
    browsers do by themselves. Without either, the stream begins with the next event.
    """
    after = from_event
    if last_event_id is not None:
        if not (last_event_id.isascii() and last_event_id.isdigit()):
            raise Invalid("must be the id of an event, which is a number.", "/Last-Event-ID")
        after = int(last_event_id)
    if after is None:
        after = await run_in_threadpool(_last, reading)
    return StreamingResponse(
        _stream(request, reading, after), media_type=_EVENT_STREAM, headers={"Cache-Control": "no-store"}
    )


async def _stream(request: Request, reading: Reading, after: int) -> AsyncIterator[bytes]:
    yield b": connected\n\n"
    seen, looked_at, sent_at = -1, 0.0, monotonic()
    while not request.app.state.is_stopping and not await request.is_disconnected():
        count, now = reading.store.bell.count, monotonic()
        if count == seen and now - looked_at < _POLL_SECONDS:
            if now - sent_at > _SILENCE_SECONDS:
                sent_at = now
                yield b": nothing new\n\n"
            await anyio.sleep(_LOOK_SECONDS)
            continue
        seen, looked_at = count, now
        while told := await run_in_threadpool(_after, reading, after):
            for event in told:
                after = event.event_id
                yield b"id: %d\nevent: %s\ndata: %s\n\n" % (after, event.event_type.encode(), dumps(event.body))
            sent_at = monotonic()


def _after(reading: Reading, event_id: int) -> list[events.Told]:
    with reading.view() as view:
        return events.after(view, event_id)


def _last(reading: Reading) -> int:
    with reading.view() as view:
        return view.outbox.last()


def _show_created(webhook: models.Webhook) -> dict[str, Any]:
    return show_webhook(webhook) | {"secret": webhook.secret}


@routes.post(_WEBHOOKS, status_code=201, response_model=written(NewWebhookAnswer), responses=may_fail(400, 413, 415))
def create_webhook(body: NewWebhook, writing: Writer) -> Response:
    """Have events sent to a URL, signed with a secret that is shown this once.

    Each request carries `webhook-id` (the same for every attempt), `webhook-timestamp` and `webhook-signature`:
    `v1,` and the Base64 of the HMAC-SHA256, under the secret, of id, timestamp and body joined by dots. An answer other
    than 2xx is tried again, with growing pauses, for some hours.
    """
    stored = writing.once(lambda uow: webhooks.create(uow, body), _show_created, body=body)
    return answer(stored, _WEBHOOKS, "webhookId")


@routes.get(_WEBHOOKS, response_model=Page[Webhook], responses=READ)
def list_webhooks(reading: Reader, limit: Limit = 100, cursor: Cursor = None) -> Response:
    """The subscriptions of the fleet, without their secrets."""
    with reading.view() as view:
        part = webhooks.page(view, limit=limit, cursor=cursor)
    return shown(models.Page([show_webhook(webhook) for webhook in part.items], part.next_cursor))


@routes.delete(_WEBHOOKS + "/{webhookId}", response_model=deleted(webhook_id=Id), responses=may_fail(404))
def delete_webhook(webhook_id: WebhookId, writing: Writer) -> Response:
    """End a subscription."""

    def gone(_: None) -> dict[str, Any]:
        return {"webhookId": webhook_id}

    return answer(writing.once(lambda uow: webhooks.delete(uow, webhook_id), gone, status=200))
