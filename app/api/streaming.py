"""Answers of any size with flat memory, written in a thread while they are read from the store."""

from collections.abc import Generator, Iterable, Iterator
from contextlib import AbstractContextManager
from itertools import chain, islice
from typing import Any

import anyio
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from app.api.wire import dumps

NDJSON = "application/x-ndjson"
_CHUNK = 64 * 1024
_ROWS = 100

Chunks = Generator[bytes, None, None]


class Streamed(StreamingResponse):
    """Sends what ``source`` yields, and closes it when done, also where the client has gone.

    The first chunk is made before the response starts, so that an error there is answered as a problem. A
    later one breaks the connection.
    """

    def __init__(self, source: Chunks, media_type: str, headers: dict[str, str] | None = None) -> None:
        self._source = source
        try:
            first = next(source, b"")
        except BaseException:
            source.close()
            raise
        super().__init__(chain([first], source), media_type=media_type, headers=headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            with anyio.CancelScope(shield=True):
                await run_in_threadpool(self._source.close)


def within(context: AbstractContextManager[Any], pieces: Any) -> Chunks:
    """Chunks of about 64 KiB from ``pieces(resource)``, with the resource held until the last one."""
    with context as resource:
        yield from batched(pieces(resource))


def batched(pieces: Iterable[bytes]) -> Iterator[bytes]:
    buffer = bytearray()
    for piece in pieces:
        buffer += piece
        if len(buffer) >= _CHUNK:
            yield bytes(buffer)
            buffer.clear()
    if buffer:
        yield bytes(buffer)


def json_array(items: Iterable[object]) -> Iterator[bytes]:
    """The items as one JSON array, some at a time."""
    rest = iter(items)
    opening = b"["
    while batch := list(islice(rest, _ROWS)):
        yield opening + dumps(batch)[1:-1]
        opening = b","
    yield b"]" if opening == b"," else b"[]"


def ndjson(items: Iterable[object]) -> Iterator[bytes]:
    """One JSON object a line, some lines at a time."""
    rest = iter(items)
    while batch := list(islice(rest, _ROWS)):
        yield b"\n".join(map(dumps, batch)) + b"\n"


def prefers_ndjson(accept: str | None) -> bool:
    """Whether an ``Accept`` header asks for lines rather than for one JSON document."""
    qualities = dict(_quality(part) for part in (accept or "").lower().split(","))
    lines = max(qualities.get(name, 0.0) for name in (NDJSON, "application/ndjson", "application/jsonl"))
    return lines > 0 and lines >= qualities.get("application/json", 0.0)


def _quality(part: str) -> tuple[str, float]:
    media_type, *params = (piece.strip() for piece in part.split(";"))
    for param in params:
        if param.startswith("q="):
            try:
                return media_type, float(param[2:])
            except ValueError:
                return media_type, 0.0
    return media_type, 1.0
