"""``snapshot``: the graph as the database knew it."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import typer

from app.api.streaming import json_array, ndjson
from app.api.wire import dumps, wire_timeless
from app.cli.options import NIL, AsOf, DatabaseUrl, Fleet, Graph, Output, Tenant
from app.cli.output import sink
from app.cli.session import known_graph, opened
from app.domain.models import MemoryNode, Principal
from app.services.snapshot import Snapshot, open_snapshot

_PARTS = ("node", "edge", "assertion")


def snapshot(
    graph: Graph,
    *,
    as_of: AsOf = None,
    output_format: Annotated[
        Literal["json", "ndjson"], typer.Option("--format", help="One document, or one object a line.")
    ] = "json",
    output: Output = None,
    database_url: DatabaseUrl = None,
    tenant: Tenant = NIL,
    fleet: Fleet = NIL,
) -> None:
    """Write the graph as it was known at a system time; the same time always gives the same bytes."""
    who = Principal(tenant, fleet)
    show = _document if output_format == "json" else _lines
    with opened(database_url) as store:
        with store.read(who) as view:
            graph_id = known_graph(view, graph).graph_id
        with open_snapshot(store, who, graph_id, as_of) as state, sink(output) as out:
            out.writelines(show(state))


def _document(state: Snapshot) -> Iterator[bytes]:
    yield dumps(_head(state))[:-1]
    for name, rows in zip(_PARTS, _rows(state), strict=True):
        yield f',"{name}s":'.encode()
        yield from json_array(rows)
    yield b"}"


def _lines(state: Snapshot) -> Iterator[bytes]:
    yield from ndjson([{"kind": "snapshot", **_head(state)}])
    for name, rows in zip(_PARTS, _rows(state), strict=True):
        yield from ndjson({"kind": name, **row} for row in rows)


def _head(state: Snapshot) -> dict[str, Any]:
    return {"graphId": state.graph_id, "asOf": state.as_of}


def _rows(state: Snapshot) -> tuple[Iterator[dict[str, Any]], ...]:
    return map(_node, state.nodes), map(wire_timeless, state.edges), map(wire_timeless, state.assertions)


def _node(row: Any) -> dict[str, Any]:
    shown = wire_timeless(row)
    if isinstance(row, MemoryNode):
        return shown
    return {name: shown[name] for name in ("memoryNodeId", "key", "graphId", "name")} | {"external": True}
