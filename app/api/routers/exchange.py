"""Whole graphs in and out, as NDJSON."""

import hashlib
import tempfile
from typing import IO, Any

from fastapi import Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import StreamingResponse

from app.api.deps import GraphId, Reader, Writer, answer
from app.api.routers.snapshots import AsOf
from app.api.routes import may_fail, router
from app.api.streaming import NDJSON, Streamed, within
from app.domain.errors import Busy
from app.schemas.lines import ImportLine
from app.schemas.outputs import ImportReport
from app.services import exchange
from app.services.export import export_lines

routes = router("import and export")

_MEDIA_TYPES = {
    NDJSON,
    "application/ndjson",
    "application/jsonl",
    "application/json",
    "application/octet-stream",
    "application/gzip",
    "application/x-gzip",
}
"""Not those that a web page may send to another origin unasked."""

_GRAPH = "/memory-graphs/{graphId}"

_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "One JSON object a line, in any order: "
        + ", ".join(str(option["$ref"]).rsplit("/", 1)[1] for option in ImportLine.json_schema()["oneOf"])
        + ". Raw or gzip.",
        "content": {
            NDJSON: {"schema": {"type": "string"}, "example": '{"kind":"node","key":"libc6"}\\n'},
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
        },
    }
}


@routes.post(
    _GRAPH + "/import",
    status_code=200,
    response_model=ImportReport,
    responses=may_fail(400, 404, 409, 413, 415),
    openapi_extra=_BODY,
)
async def import_graph(graph_id: GraphId, request: Request, writing: Writer) -> Response:
    """Load nodes, edges, assertions, evidence and rules: all of them or, if one line is wrong, none.

    A wrong line is answered with its number. Statuses are loaded as given; nothing cascades. The same lines
    again change nothing.
    """
    encoding = request.headers.get("content-encoding", "identity").lower()
    if encoding not in ("identity", "gzip", "x-gzip"):
        raise HTTPException(415, "Send the lines as they are or with gzip, no other Content-Encoding.")
    if request.headers.get("content-type", NDJSON).partition(";")[0].strip().lower() not in _MEDIA_TYPES:
        raise HTTPException(415, f"Send the lines with Content-Type: {NDJSON}.")
    with tempfile.TemporaryFile() as file:
        digest = await _spool(request, file)
        if encoding != "identity" and not exchange.is_gzip(file):
            raise HTTPException(400, "The Content-Encoding says gzip, the body is not.")
        stored = await run_in_threadpool(
            exchange.import_lines,
            writing.store,
            writing.who,
            graph_id,
            file,
            key=writing.key,
            fingerprint=writing.fingerprint(digest) if writing.key else "",
        )
    return answer(stored)


async def _spool(request: Request, file: IO[bytes]) -> bytes:
    """Write the body to ``file``, as it was sent; its SHA-256."""
    digest = hashlib.sha256()
    try:
        async for chunk in request.stream():
            digest.update(chunk)
            await run_in_threadpool(file.write, chunk)
        file.seek(0)
    except OSError as error:
        raise Busy(f"The body cannot be received: {error.strerror}. Nothing was kept.") from error
    return digest.digest()


@routes.get(
    _GRAPH + "/export",
    response_class=StreamingResponse,
    responses=may_fail(404, 410) | {200: {"content": {NDJSON: {"schema": {"type": "string"}}}}},
)
def export_graph(graph_id: GraphId, reading: Reader, as_of: AsOf = None) -> Response:
    """The lines that an import takes: importing them elsewhere gives the same graph."""
    lines = export_lines(reading.store, reading.who, graph_id, as_of)
    headers = {
        "Cache-Control": "no-cache",
        "Content-Disposition": f'attachment; filename="{graph_id}.ndjson"',
    }
    return Streamed(within(lines, iter), NDJSON, headers)
