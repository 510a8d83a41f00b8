"""The graph as the database knew it, and what changed between two such times (SEMANTICS 5)."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from heapq import merge
from itertools import groupby
from typing import Generic, NamedTuple, TypeVar
from uuid import UUID, uuid4

from app.domain.errors import Invalid
from app.domain.instants import in_words
from app.domain.models import Bookmark, MemoryAssertion, MemoryEdge, MemoryNode, Page, Principal
from app.schemas import NewBookmark
from app.services import cursors, graphs
from app.store.ports import Store
from app.store.repositories.nodes import ExternalNode
from app.store.unit import UnitOfWork, View

Row = TypeVar("Row", MemoryNode, MemoryEdge, MemoryAssertion)
_BOOKKEEPING = frozenset({"valid_from", "valid_to", "version", "updated_at"})


class Snapshot(NamedTuple):
    """Rows by id, read as they are asked for: nodes first, then edges, then assertions."""

    graph_id: UUID
    as_of: datetime
    nodes: Iterator[MemoryNode | ExternalNode]
    edges: Iterator[MemoryEdge]
    assertions: Iterator[MemoryAssertion]


class Change(NamedTuple, Generic[Row]):
    """A row that differs: ``added``, ``removed`` or ``changed``."""

    change: str
    before: Row | None
    after: Row | None


class Diff(NamedTuple):
    """Changes by id, read as they are asked for."""

    graph_id: UUID
    start: datetime
    end: datetime
    nodes: Iterator[Change[MemoryNode]]
    edges: Iterator[Change[MemoryEdge]]
    assertions: Iterator[Change[MemoryAssertion]]


@contextmanager
def open_snapshot(store: Store, who: Principal, graph_id: UUID, as_of: datetime | None) -> Iterator[Snapshot]:
    """The graph as known at ``as_of``, or at the last commit.

    Repeatable: ``settle`` makes sure that every commit yet to come has a later stamp. Before the graph existed it is
    empty. Raises ``NotFound`` for an unknown graph and ``Invalid`` for a time in the future.
    """
    settled = store.settle(who, as_of)
    with store.read(who) as view:
        graphs.get(view, graph_id)
        yield Snapshot(
            graph_id,
            settled,
            merge(
                view.nodes.as_of(graph_id, settled),
                view.nodes.externals_as_of(graph_id, settled),
                key=lambda node: node.memory_node_id,
            ),
            view.edges.as_of(graph_id, settled),
            view.assertions.as_of(graph_id, settled),
        )


@contextmanager
def diff(store: Store, who: Principal, graph_id: UUID, start: datetime, end: datetime) -> Iterator[Diff]:
    """What was added, removed or changed from one system time to a later one; a change undone in between is none."""
    if end < start:
        raise Invalid("to must not be earlier than from.", "/to")
    store.settle(who, start, "from")
    store.settle(who, end, "to")
    with store.read(who) as view:
        graphs.get(view, graph_id)
        yield Diff(
            graph_id,
            start,
            end,
            _changes(view.nodes.between(graph_id, start, end), start),
            _changes(view.edges.between(graph_id, start, end), start),
            _changes(view.assertions.between(graph_id, start, end), start),
        )


def bookmark(uow: UnitOfWork, graph_id: UUID, body: NewBookmark) -> Bookmark:
    """Name a system time of the graph; by default the state this call finds."""
    graphs.get(uow, graph_id)
    if body.as_of is not None and body.as_of > uow.stamp:
        raise Invalid(f"asOf lies in the future; it is {in_words(uow.stamp)}.", "/asOf")
    row = Bookmark(uuid4(), graph_id, body.name, body.as_of or uow.stamp, uow.stamp)
    uow.graphs.add_bookmark(row)
    return row


def bookmarks(view: View, graph_id: UUID, limit: int, cursor: str | None) -> Page[Bookmark]:
    graphs.get(view, graph_id)
    return cursors.page_by_id(lambda after, count: view.graphs.bookmarks(graph_id, after, count), limit, cursor)


def _changes(versions: Iterator[Row], start: datetime) -> Iterator[Change[Row]]:
    """Pairs the version of a row known at ``start`` with the later one; the versions come by id and time."""
    for _, group in groupby(versions, key=lambda row: row[0]):
        first, last = (pair := list(group))[0], pair[-1]
        if first.valid_from > start:
            yield Change("added", None, first)
        elif first is last:
            yield Change("removed", first, None)
        elif _content(first) != _content(last):
            yield Change("changed", first, last)


def _content(row: MemoryNode | MemoryEdge | MemoryAssertion) -> dict[str, object]:
    return {name: value for name, value in row._asdict().items() if name not in _BOOKKEEPING}
