"""Graphs as the database knew them: snapshots, what changed between two of them, and bookmarks."""

import hashlib
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Annotated, Any

from fastapi import Header, Query, Request, Response

from app.api.conditional import JSON, IfNoneMatch, not_modified
from app.api.deps import Cursor, GraphId, Limit, Reader, Reading, Writer, answer, shown
from app.api.routes import CREATE, READ_ONE, may_fail, router
from app.api.streaming import NDJSON, Chunks, Streamed, json_array, ndjson, prefers_ndjson, within
from app.api.wire import dumps, wire_timeless
from app.domain.models import MemoryNode
from app.schemas import NewBookmark
from app.schemas.fields import QueryInstant
from app.schemas.outputs import Bookmark, Diff, Page, Snapshot, written
from app.services import snapshot

routes = router("snapshots")

_GRAPH = "/memory-graphs/{graphId}"
_FORMAT = "1"
"""Part of the ETag: raise it when the same rows begin to be written in another form."""

Rows = Iterable[dict[str, Any]]

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

    def show(state: snapshot.Snapshot) -> Iterator[bytes]:
        head = {"graphId": state.graph_id, "asOf": state.as_of}
        edges, assertions = map(wire_timeless, state.edges), map(wire_timeless, state.assertions)
        return _written(accept, "snapshot", head, map(_node, state.nodes), edges, assertions)

    source = within(snapshot.open_snapshot(reading.store, reading.who, graph_id, as_of), show)
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

    def show(found: snapshot.Diff) -> Iterator[bytes]:
        head = {"graphId": found.graph_id, "from": found.start, "to": found.end}
        parts = (map(_change, found.nodes), map(_change, found.edges), map(_change, found.assertions))
        return _written(accept, "diff", head, *parts)

    source = within(snapshot.diff(reading.store, reading.who, graph_id, start, end), show)
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


def _written(accept: str | None, kind: str, head: dict[str, Any], *parts: Rows) -> Iterator[bytes]:
    """Nodes, edges and assertions in the form that was asked for."""
    if prefers_ndjson(accept):
        yield from ndjson([{"kind": kind, **head}])
        for name, rows in zip(("node", "edge", "assertion"), parts, strict=True):
            yield from ndjson({"kind": name, **row} for row in rows)
        return
    yield dumps(head)[:-1]
    for name, rows in zip(("nodes", "edges", "assertions"), parts, strict=True):
        yield f',"{name}":'.encode()
        yield from json_array(rows)
    yield b"}"


def _node(row: Any) -> dict[str, Any]:
    """A node; of another graph's only what tells it apart, since its state is not of this graph."""
    shown = wire_timeless(row)
    if isinstance(row, MemoryNode):
        return shown
    return {name: shown[name] for name in ("memoryNodeId", "key", "graphId", "name")} | {"external": True}


def _change(change: snapshot.Change[Any]) -> dict[str, Any]:
    before, after = (None if row is None else wire_timeless(row) for row in (change.before, change.after))
    return {"change": change.change, "before": before, "after": after}
