"""Around every request: an id for it, a bound on its body, and an answer where something broke."""

import logging
import re
from collections.abc import Mapping
from time import monotonic
from uuid import uuid4

import anyio
from fastapi import Response
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.errors import from_http, problem

_LOG = logging.getLogger("app.api")
_SAFE_ID = re.compile(r"[\w.:-]{1,128}", re.ASCII)
_DRAIN_SECONDS = 60


class RequestId:
    """Names each request in ``X-Request-Id`` and in the log, and turns whatever escapes into a 500."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = Headers(scope=scope).get("x-request-id", "")
        request_id = given if _SAFE_ID.fullmatch(given) else uuid4().hex
        started = False

        async def named(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                MutableHeaders(scope=message)["X-Request-Id"] = request_id
            await send(message)

        try:
            await self.app(scope, receive, named)
        except ClientDisconnect:
            _LOG.info("request %s: the client went away", request_id)
        except Exception:
            _LOG.exception("request %s: %s %s failed", request_id, scope["method"], scope["path"])
            if started:  # the server breaks the connection: nobody shall take half an answer for a whole one
                raise
            await _fault(request_id)(scope, receive, named)


def _fault(request_id: str) -> Response:
    detail = "The service failed; the log has the reason under this request id."
    return problem(500, "fault", "The request failed.", detail, requestId=request_id)


class BodyLimit:
    """Answers 413 to a body larger than its path takes.

    The rest of the body is received and thrown away first, for a while: many clients read no answer before
    they have sent everything, and would report a broken connection instead.
    """

    def __init__(self, app: ASGIApp, default: int, by_suffix: Mapping[str, int]) -> None:
        self.app = app
        self.default = default
        self.by_suffix = by_suffix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = self._limit(scope["path"])
        headers = Headers(scope=scope)
        if not _declares_more(headers, limit):
            await self.app(scope, _limited(receive, limit), send)
            return
        if headers.get("expect", "").lower() != "100-continue":
            await _drain(receive)
        await from_http(_too_large(limit))(scope, receive, send)

    def _limit(self, path: str) -> int:
        return next((limit for suffix, limit in self.by_suffix.items() if path.endswith(suffix)), self.default)


def _declares_more(headers: Headers, limit: int) -> bool:
    length = headers.get("content-length", "")
    return length.isascii() and length.isdigit() and int(length) > limit


def _limited(receive: Receive, limit: int) -> Receive:
    size = 0

    async def counted() -> Message:
        nonlocal size
        message = await receive()
        if message["type"] == "http.request":
            size += len(message.get("body", b""))
            if size > limit:
                if message.get("more_body"):
                    await _drain(receive)
                raise _too_large(limit)
        return message

    return counted


async def _drain(receive: Receive) -> None:
    end = monotonic() + _DRAIN_SECONDS
    with anyio.move_on_after(_DRAIN_SECONDS):
        while monotonic() < end:  # a client that never lets us wait would never be cancelled
            message = await receive()
            if message["type"] != "http.request" or not message.get("more_body"):
                return


def _too_large(limit: int) -> HTTPException:
    return HTTPException(413, f"The body may have at most {limit:,} bytes.", {"Connection": "close"})
