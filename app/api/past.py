"""Writes a snapshot or a diff, as one JSON document or as lines; the command line writes the same bytes."""

from collections.abc import Iterable, Iterator
from typing import Any

from app.api.streaming import json_array, ndjson
from app.api.wire import dumps, wire_timeless
from app.domain.models import MemoryNode
from app.services.snapshot import Change, Diff, Snapshot

Rows = Iterable[dict[str, Any]]


def written_snapshot(state: Snapshot, *, lines: bool) -> Iterator[bytes]:
    head = {"graphId": state.graph_id, "asOf": state.as_of}
    edges, assertions = map(wire_timeless, state.edges), map(wire_timeless, state.assertions)
    return _written("snapshot", head, lines, map(_node, state.nodes), edges, assertions)


def written_diff(found: Diff, *, lines: bool) -> Iterator[bytes]:
    head = {"graphId": found.graph_id, "from": found.start, "to": found.end}
    parts = (map(_change, found.nodes), map(_change, found.edges), map(_change, found.assertions))
    return _written("diff", head, lines, *parts)


def _written(kind: str, head: dict[str, Any], lines: bool, *parts: Rows) -> Iterator[bytes]:
    """Nodes, edges and assertions in the form that was asked for."""
    if lines:
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


def _change(change: Change[Any]) -> dict[str, Any]:
    before, after = (None if row is None else wire_timeless(row) for row in (change.before, change.after))
    return {"change": change.change, "before": before, "after": after}
