"""Graphs as the database knew them: snapshots, what changed between two of them, and bookmarks."""

import hashlib
from datetime import datetime
from typing import Annotated

from fastapi import Header, Query, Request, Response

from app.api.conditional import JSON, IfNoneMatch, not_modified
from app.api.deps import Cursor, GraphId, Limit, Reader, Reading, Writer, answer, shown
from app.api.past import written_diff, written_snapshot
from app.api.routes import CREATE, READ_ONE, may_fail, router
from app.api.streaming import NDJSON, Chunks, Streamed, prefers_ndjson, within
from app.schemas import NewBookmark
from app.schemas.fields import QueryInstant
from app.schemas.outputs import Bookmark, Diff, Page, Snapshot, written
from app.services import snapshot

routes = router("snapshots")

_GRAPH = "/memory-graphs/{graphId}"
_FORMAT = "1"
"""Part of the ETag: raise it when the same rows begin to be written in another form."""

AsOf = Annotated[
    QueryInstant | None,
    Query(alias="asOf", title="As Of", description="A system time (RFC 3339 with offset). Default: now."),
]
From = Annotated[QueryInstant, Query(alias="from", title="From", description="The earlier system time.")]
To = Annotated[QueryInstant, Query(alias="to", title="To", description="The later system time.")]
Accept = Annotated[str | None, Header(include_in_schema=False)]
"""Not a parameter to OpenAPI: the media types of the answer say the same."""
_PAST = may_fail(404, 410) | {
    200: {"content": {NDJSON: {"schema": {"type": "string"}}}},
    304: {"description": "It is what the caller has; it never changes."},
}


@routes.get(_GRAPH + "/snapshot", response_model=Snapshot, responses=_PAST)
def get_snapshot(
    *,
    graph_id: GraphId,
    request: Request,
    reading: Reader,
    as_of: AsOf = None,
    accept: Accept = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """The graph as the database knew it at a system time: any `committedAt` or `validFrom` will do.

    The same `asOf` always gives the same bytes, so the answer may be kept for ever.
    """

    lines = prefers_ndjson(accept)
    past = snapshot.open_snapshot(reading.store, reading.who, graph_id, as_of)
    source = within(past, lambda state: written_snapshot(state, lines=lines))
    return _past(request, reading, source, as_of)


@routes.get(_GRAPH + "/diff", response_model=Diff, responses=_PAST)
def get_diff(
    *,
    graph_id: GraphId,
    request: Request,
    reading: Reader,
    start: From,
    end: To,
    accept: Accept = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """What was added, removed and changed in a graph between two system times."""

    lines = prefers_ndjson(accept)
    past = snapshot.diff(reading.store, reading.who, graph_id, start, end)
    source = within(past, lambda found: written_diff(found, lines=lines))
    return _past(request, reading, source, start, end)


@routes.post(_GRAPH + "/snapshots", status_code=201, response_model=written(Bookmark), responses=CREATE)
def create_bookmark(graph_id: GraphId, body: NewBookmark, writing: Writer) -> Response:
    """Give a name to a system time of a graph, by default to now."""
    return answer(writing.once(lambda uow: snapshot.bookmark(uow, graph_id, body), body=body))


@routes.get(_GRAPH + "/snapshots", response_model=Page[Bookmark], responses=READ_ONE)
def list_bookmarks(graph_id: GraphId, reading: Reader, limit: Limit = 100, cursor: Cursor = None) -> Response:
    """The named system times of a graph."""
    with reading.view() as view:
        return shown(snapshot.bookmarks(view, graph_id, limit, cursor))


def _past(request: Request, reading: Reading, source: Chunks, *times: datetime | None) -> Response:
    """Stream ``source``; where its times were given it can never change, and says so."""
    lines = prefers_ndjson(request.headers.get("accept"))
    headers = {"Cache-Control": "no-cache", "Vary": "Accept, X-Tenant-Id, X-Fleet-Id, Authorization"}
    if None not in times:
        named = (_FORMAT, request.url.path, *reading.who, *times, lines)
        headers["ETag"] = f'"{hashlib.sha256(repr(named).encode()).hexdigest()[:32]}"'
        headers["Cache-Control"] = "private, immutable, max-age=31536000"
    response = Streamed(source, NDJSON if lines else JSON, headers)  # fails here where there is no such past
    unchanged = not_modified(request, headers)
    if unchanged:
        source.close()
    return unchanged or response
