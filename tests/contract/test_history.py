"""System versioning, as every engine keeps it: the history of a row is the row as it was seen, without gap."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from app.domain.models import MemoryEdge, MemoryNode
from app.schemas import EdgePatch, NewEdge, NewNode, NodePatch
from app.services import edges, invalidate, nodes
from app.services.snapshot import open_snapshot
from app.store.ports import Store
from app.store.unit import UnitOfWork, View
from tests.contract.builder import DAY, GraphBuilder, edge, node
from tests.contract.cases import examples

MICROSECOND = timedelta(microseconds=1)
KEYS = ("a", "b", "c")
Work = Callable[[UnitOfWork], object]


def history_of(graph: GraphBuilder, key: str) -> list[MemoryNode]:
    return graph.read(lambda view: nodes.history(view, graph.id(key), 1000, None)).items


class Operations:
    """What can happen to a graph of three nodes and the edge from a to b; each leaves alone what it cannot do."""

    def __init__(self, graph: GraphBuilder) -> None:
        self._graph = graph
        self._edge_id = graph.edge_id("a", "b")

    def create(self, uow: UnitOfWork, key: str) -> None:
        if uow.nodes.find(self._graph.id(key)) is None:
            nodes.create(uow, NewNode(graph_id=self._graph.graph_id, key=key))

    def rename(self, uow: UnitOfWork, key: str) -> None:
        if found := uow.nodes.find(self._graph.id(key)):
            nodes.update(uow, found.memory_node_id, NodePatch(name=f"{found.name}'"), None)

    def delete(self, uow: UnitOfWork, key: str) -> None:
        if uow.nodes.find(self._graph.id(key)):
            nodes.delete(uow, self._graph.id(key), None)

    def invalidate(self, uow: UnitOfWork, key: str) -> None:
        if uow.nodes.find(self._graph.id(key)):
            invalidate.invalidate(uow, self._graph.request(key))

    def link(self, uow: UnitOfWork, _: str) -> None:
        ends = [uow.nodes.find(self._graph.id(key)) for key in "ab"]
        if all(ends) and uow.edges.find(self._edge_id) is None:
            edges.create(uow, NewEdge(graph_id=self._graph.graph_id, source="a", target="b", edge_type="Requires"))

    def weigh(self, uow: UnitOfWork, _: str) -> None:
        if found := uow.edges.find(self._edge_id):
            edges.update(uow, self._edge_id, EdgePatch(weight=found.weight / 2), None)

    def unlink(self, uow: UnitOfWork, _: str) -> None:
        if uow.edges.find(self._edge_id):
            edges.delete(uow, self._edge_id, None)


OPERATIONS = ("create", "create", "rename", "delete", "invalidate", "link", "link", "weigh", "unlink")
steps = st.tuples(st.sampled_from(OPERATIONS), st.sampled_from(KEYS))
transactions = st.lists(st.lists(steps, min_size=1, max_size=3), min_size=1, max_size=10)


@examples(50)
@given(script=transactions)
def test_history_is_what_was_seen_after_each_commit(store: Store, script: list[list[tuple[str, str]]]) -> None:
    graph = GraphBuilder(store)
    operations = Operations(graph)
    seen: list[tuple[datetime, dict[str, Any]]] = []
    for transaction in script:

        def work(uow: UnitOfWork, transaction: list[tuple[str, str]] = transaction) -> None:
            for name, key in transaction:
                getattr(operations, name)(uow, key)

        stamp = graph.stamp(work)
        seen.append((stamp, graph.read(lambda view: _rows(graph, view))))

    for key in KEYS:
        history = graph.read(lambda view, key=key: view.nodes.history(graph.id(key), DAY, 1000))
        assert _versions(history) == _lives([(stamp, rows[key]) for stamp, rows in seen])
    edge_before = None
    for stamp, rows in seen:
        assert _edge_at(graph, stamp - MICROSECOND) == edge_before
        assert _edge_at(graph, stamp) == rows["edge"]
        edge_before = rows["edge"]


def test_two_changes_in_one_transaction_leave_one_version(graph: GraphBuilder) -> None:
    first = graph.load(node("a"))

    def twice(uow: UnitOfWork) -> None:
        nodes.update(uow, graph.id("a"), NodePatch(name="one"), None)
        nodes.update(uow, graph.id("a"), NodePatch(name="two"), None)

    second = graph.stamp(twice)

    assert [(row.name, row.valid_from, row.valid_to) for row in history_of(graph, "a")] == [
        ("a", first, second),
        ("two", second, None),
    ]


def test_what_is_made_and_deleted_in_one_transaction_was_never_there(graph: GraphBuilder) -> None:
    def make_and_delete(uow: UnitOfWork) -> None:
        nodes.create(uow, NewNode(graph_id=graph.graph_id, key="a"))
        nodes.delete(uow, graph.id("a"), None)

    graph.write(make_and_delete)

    assert graph.read(lambda view: view.nodes.history(graph.id("a"), DAY, 10)) == []


def test_changed_and_deleted_in_one_transaction_closes_what_was_known_before(graph: GraphBuilder) -> None:
    first = graph.load(node("a"))

    def change_and_delete(uow: UnitOfWork) -> None:
        nodes.update(uow, graph.id("a"), NodePatch(name="one"), None)
        nodes.delete(uow, graph.id("a"), None)

    second = graph.stamp(change_and_delete)

    assert [(row.name, row.valid_from, row.valid_to) for row in history_of(graph, "a")] == [("a", first, second)]


def test_a_rolled_back_transaction_leaves_no_trace(graph: GraphBuilder) -> None:
    first = graph.load(node("a"))
    with graph.store.write(graph.who) as uow:
        nodes.update(uow, graph.id("a"), NodePatch(name="never"), None)

    assert [(row.name, row.valid_from, row.valid_to) for row in history_of(graph, "a")] == [("a", first, None)]


def test_an_edge_closed_by_an_import_or_a_call_keeps_its_versions(graph: GraphBuilder) -> None:
    first = graph.load(node("a"), node("b"), edge("a", "b"))
    second = graph.load(edge("a", "b", weight=0.5))
    third = graph.stamp(lambda uow: edges.delete(uow, graph.edge_id("a", "b"), None))

    assert _edge_at(graph, third) is None
    for stamp, weight, version in ((first, 1.0, 1), (second, 0.5, 2)):
        row = _edge_at(graph, stamp)
        assert row is not None
        assert (row.weight, row.valid_from, row.version) == (weight, stamp, version)


def _rows(graph: GraphBuilder, view: View) -> dict[str, Any]:
    """Each row as it is now, or None, by a name for it."""
    return {key: view.nodes.find(graph.id(key)) for key in KEYS} | {"edge": view.edges.find(graph.edge_id("a", "b"))}


def _edge_at(graph: GraphBuilder, as_of: datetime) -> MemoryEdge | None:
    with open_snapshot(graph.store, graph.who, graph.graph_id, as_of) as found:
        return next((row._replace(valid_to=None) for row in found.edges), None)


def _versions(history: list[MemoryNode]) -> list[Any]:
    return [(row.valid_from, row.valid_to, row._replace(valid_to=None)) for row in history]


def _lives(seen: list[tuple[datetime, Any]]) -> list[Any]:
    """The versions that must have been: one from each commit that left the row otherwise than it was."""
    versions: list[Any] = []
    known = None
    for stamp, row in seen:
        if row == known:
            continue
        if known is not None:
            start, _, before = versions.pop()
            versions.append((start, stamp, before))
        if row is not None:
            versions.append((stamp, None, row))
        known = row
    return versions
