"""System time (SEMANTICS 5): what was known is answered for ever, and in the same words."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Event
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import pytest

from app.domain.errors import Invalid, NotFound
from app.domain.models import MemoryAssertion, MemoryEdge, MemoryNode
from app.schemas import AssertionPatch, EdgePatch, NewAssertion, NewBookmark, NewEdge, NewNode, NodePatch
from app.services import assertions, edges, invalidate, nodes, snapshot
from app.services.snapshot import Diff
from app.store.ports import Store
from app.store.repositories.nodes import ExternalNode
from tests.contract.builder import DAY, GraphBuilder, assertion, edge, node
from tests.contract.conftest import NewDatabase

MICROSECOND = timedelta(microseconds=1)
HOUR = timedelta(hours=1)


class Answer(NamedTuple):
    as_of: datetime
    nodes: list[MemoryNode | ExternalNode]
    edges: list[MemoryEdge]
    assertions: list[MemoryAssertion]

    @property
    def keys(self) -> set[str | None]:
        return {row.key for row in self.nodes}


def taken(graph: GraphBuilder, as_of: datetime | None = None) -> Answer:
    """A snapshot without validTo, which changes later and is not part of one."""
    with snapshot.open_snapshot(graph.store, graph.who, graph.graph_id, as_of) as found:
        return Answer(
            found.as_of,
            [row._replace(valid_to=None) if isinstance(row, MemoryNode) else row for row in found.nodes],
            [row._replace(valid_to=None) for row in found.edges],
            [row._replace(valid_to=None) for row in found.assertions],
        )


def difference(graph: GraphBuilder, start: datetime, end: datetime) -> AbstractContextManager[Diff]:
    return snapshot.diff(graph.store, graph.who, graph.graph_id, start, end)


class SteppingClock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = datetime(2030, 1, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def test_round_trip_every_stamp_shows_the_change_that_carried_it(graph: GraphBuilder) -> None:
    a, b = graph.id("a"), graph.id("b")
    a_to_b = graph.edge_id("a", "b")
    made: list[UUID] = []
    new_edge = NewEdge(graph_id=graph.graph_id, source="a", target="b", edge_type="Requires")
    new_assertion = NewAssertion(memory_node_id=a, content="So it is.")

    def the_node(key: str) -> Callable[[Answer], Any]:
        return lambda answer: next((row for row in answer.nodes if row.key == key), None)

    steps: list[tuple[Callable[[Any], object], Callable[[Answer], bool]]] = [
        (
            lambda uow: nodes.create(uow, NewNode(graph_id=graph.graph_id, key="a")),
            lambda answer: answer.keys == {"a"},
        ),
        (
            lambda uow: nodes.create(uow, NewNode(graph_id=graph.graph_id, key="b")),
            lambda answer: answer.keys == {"a", "b"},
        ),
        (
            lambda uow: edges.create(uow, new_edge),
            lambda answer: [row.memory_edge_id for row in answer.edges] == [a_to_b],
        ),
        (
            lambda uow: made.append(assertions.create(uow, new_assertion).memory_assertion_id),
            lambda answer: [row.content for row in answer.assertions] == ["So it is."],
        ),
        (
            lambda uow: nodes.update(uow, a, NodePatch(name="A"), None),
            lambda answer: the_node("a")(answer).name == "A",
        ),
        (
            lambda uow: edges.update(uow, a_to_b, EdgePatch(weight=0.25), None),
            lambda answer: answer.edges[0].weight == 0.25,
        ),
        (
            lambda uow: assertions.update(uow, made[0], AssertionPatch(importance=0.75), None),
            lambda answer: answer.assertions[0].importance == 0.75,
        ),
        (
            lambda uow: invalidate.invalidate(uow, graph.request("a", effective_time=DAY)),
            lambda answer: {the_node(key)(answer).status for key in "ab"} == {"Invalid"},
        ),
        (
            lambda uow: assertions.delete(uow, made[0], None),
            lambda answer: answer.assertions == [],
        ),
        (
            lambda uow: edges.delete(uow, a_to_b, None),
            lambda answer: answer.edges == [],
        ),
        (
            lambda uow: nodes.delete(uow, b, None),
            lambda answer: answer.keys == {"a"},
        ),
    ]
    stamps = [graph.stamp(work) for work, _ in steps]

    for stamp, (_, is_shown), before in zip(stamps, steps, [None, *stamps], strict=False):
        assert is_shown(taken(graph, stamp))
        if before is not None:  # and not a microsecond earlier
            assert not is_shown(taken(graph, stamp - MICROSECOND))
    assert stamps == sorted(set(stamps))


def test_round_trip_of_valid_from_and_of_the_default(graph: GraphBuilder) -> None:
    stamp = graph.load(node("a"))

    answer = taken(graph)

    assert answer.as_of == stamp
    (row,) = answer.nodes
    assert isinstance(row, MemoryNode)
    assert row.valid_from == row.updated_at == stamp
    assert taken(graph, row.valid_from) == answer


def test_repeatable_whatever_is_done_since(graph: GraphBuilder) -> None:
    graph.load(*map(node, "abc"), edge("a", "b"), assertion("a", "One."))
    first = taken(graph)

    graph.invalidate("a")
    graph.load(node("d"), node("c", name="C"), edge("a", "b", weight=0.5), assertion("a", "One.", importance=0.1))
    graph.write(lambda uow: edges.delete(uow, graph.edge_id("a", "b"), None))
    graph.write(lambda uow: nodes.delete(uow, graph.id("b"), None))

    assert taken(graph, first.as_of) == first


def test_repeatable_while_a_writer_is_under_way(graph: GraphBuilder) -> None:
    """A transaction that began before asOf and commits after the first answer must not show in the second."""
    graph.load(node("a"))
    began, asked = Event(), Event()

    def write_slowly() -> datetime:
        with graph.store.write(graph.who) as uow:
            nodes.create(uow, NewNode(graph_id=graph.graph_id, key="slow"))
            began.set()
            asked.wait(0.3)
            uow.commit()
        return uow.stamp

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write_slowly)
        began.wait(10)
        as_of = datetime.now(UTC)
        first = taken(graph, as_of)
        asked.set()
        stamp = writing.result()

    assert taken(graph, as_of) == first
    assert ("slow" in first.keys) == (stamp <= as_of)


def test_reads_are_not_blocked_by_a_writer(graph: GraphBuilder, stranger: GraphBuilder) -> None:
    stamp = graph.load(node("a"))
    stranger.load(node("a"))

    with stranger.store.write(stranger.who) as uow:
        nodes.create(uow, NewNode(graph_id=stranger.graph_id, key="b"))
        assert set(graph.nodes()) == {"a"}
        assert taken(graph).keys == {"a"}
        assert taken(graph, stamp).keys == {"a"}
        assert set(stranger.nodes()) == {"a"}
        uow.commit()
    assert set(stranger.nodes()) == {"a", "b"}


def test_a_time_in_the_future_is_refused(graph: GraphBuilder) -> None:
    graph.load(node("a"))
    later = datetime.now(UTC) + HOUR

    with pytest.raises(Invalid) as refused:
        taken(graph, later)
    assert refused.value.pointer == "/asOf"
    with pytest.raises(Invalid), difference(graph, DAY, later):
        pass


def test_before_the_graph_existed_it_is_empty_and_an_unknown_one_is_not_found(
    graph: GraphBuilder, stranger: GraphBuilder
) -> None:
    stranger.load(node("theirs"))
    graph.load(node("a"))

    assert taken(graph, DAY)[1:] == ([], [], [])
    for as_of in (DAY, None):
        with pytest.raises(NotFound), snapshot.open_snapshot(graph.store, graph.who, uuid4(), as_of):
            pass
    with pytest.raises(NotFound), snapshot.open_snapshot(graph.store, graph.who, uuid4(), None):
        pass
    assert taken(graph).keys == {"a"}


def test_a_graph_of_another_fleet_is_not_found(store: Store, graph: GraphBuilder) -> None:
    other = GraphBuilder(store)

    with pytest.raises(NotFound), snapshot.open_snapshot(store, graph.who, other.graph_id, None):
        pass
    with pytest.raises(NotFound), snapshot.diff(store, graph.who, other.graph_id, DAY, DAY):
        pass


def test_externals_stand_for_nodes_of_other_graphs(store: Store, graph: GraphBuilder) -> None:
    other, third = GraphBuilder(store, graph.who), GraphBuilder(store, graph.who)
    other.load(node("base", name="Base"), node("unrelated"))
    third.load(node("unseen"))
    stamp = graph.load(node("a"), edge("", "a", source_node_id=other.id("base")))
    other.load(node("base", name="Renamed"))

    answer = taken(graph, stamp)

    stub = ExternalNode(other.id("base"), "base", other.graph_id, "Base")
    assert [row for row in answer.nodes if isinstance(row, ExternalNode)] == [stub]
    assert [row.memory_node_id for row in answer.nodes] == sorted([graph.id("a"), other.id("base")])
    # An edge belongs to the graph of its target: the other graph shows neither it nor a stub for a.
    assert (taken(other).keys, taken(other).edges) == ({"base", "unrelated"}, [])
    assert [row.name for row in taken(graph).nodes if isinstance(row, ExternalNode)] == ["Renamed"]


def test_an_external_that_was_deleted_is_still_seen_before(store: Store, graph: GraphBuilder) -> None:
    other = GraphBuilder(store, graph.who)
    other.load(node("base"))
    stamp = graph.load(node("a"), edge("", "a", source_node_id=other.id("base")))
    first = taken(graph, stamp)

    other.write(lambda uow: nodes.delete(uow, other.id("base"), None))

    assert taken(graph, stamp) == first
    assert (taken(graph).keys, taken(graph).edges) == ({"a"}, [])


def test_the_order_is_that_of_the_ids_as_text(graph: GraphBuilder) -> None:
    # Ids whose bytes run over the whole range: signed, or little-endian, comparison would show.
    ids = [UUID(f"{first:02x}{'00' * 14}{last:02x}") for first in (0, 1, 127, 128, 255) for last in (9, 1)]
    graph.load(
        *(node(f"k{i}", memory_node_id=id_) for i, id_ in enumerate(ids)),
        *(edge("k0", f"k{i}", memory_edge_id=id_) for i, id_ in enumerate(ids) if i),
        *(assertion("k0", f"{i}", memory_assertion_id=id_) for i, id_ in enumerate(ids)),
    )

    answer = taken(graph)

    in_order = sorted(map(str, ids))
    assert [str(row.memory_node_id) for row in answer.nodes] == in_order
    assert [str(row.memory_assertion_id) for row in answer.assertions] == in_order
    assert [str(row.memory_edge_id) for row in answer.edges] == sorted(map(str, ids[1:]))


def test_atomic_a_snapshot_shows_all_of_an_import_or_nothing(graph: GraphBuilder) -> None:
    rounds, size = 15, 120
    done = Event()

    def import_again_and_again() -> None:
        for number in range(rounds):
            graph.load(
                *(node(f"n{i}", category=f"round {number}") for i in range(size)),
                *(edge("n0", f"n{i}", weight=number / rounds) for i in range(1, size)),
            )
        done.set()

    seen: list[Answer] = []
    with ThreadPoolExecutor(1) as pool:
        importing = pool.submit(import_again_and_again)
        while not done.is_set() and not importing.done():
            seen.append(taken(graph, datetime.now(UTC) if len(seen) % 2 else None))
        importing.result()
    seen.append(taken(graph))

    for answer in seen:
        assert (len(answer.nodes), len(answer.edges)) in {(0, 0), (size, size - 1)}
        assert len({row.category for row in answer.nodes if isinstance(row, MemoryNode)}) <= 1
        assert len({row.weight for row in answer.edges}) <= 1
        assert taken(graph, answer.as_of) == answer
    assert len({answer.as_of for answer in seen}) > 2


def test_atomic_a_snapshot_shows_all_of_a_cascade_or_nothing(graph: GraphBuilder) -> None:
    keys = [f"n{i}" for i in range(40)]
    graph.load(*map(node, keys), *(edge("n0", key) for key in keys[1:]))

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(graph.invalidate, "n0")
        seen = [taken(graph) for _ in range(10)]
        running.result()

    for answer in [*seen, taken(graph)]:
        assert len({row.status for row in answer.nodes if isinstance(row, MemoryNode)}) == 1


def test_stamps_grow_when_the_clock_steps_back_and_exceed_every_answered_time(
    new_database: NewDatabase,
) -> None:
    clock = SteppingClock()
    noon = clock.now
    database = new_database(clock)
    graph = GraphBuilder(database.store)
    first = graph.load(node("a"))
    assert first >= noon

    clock.now = noon - HOUR
    second = graph.load(node("b"))
    assert second > first
    assert taken(graph, first).keys == {"a"}

    # The clock is right again; a time with no commit of its own is asked for, and answered.
    clock.now = noon + HOUR
    as_of = noon + HOUR - timedelta(seconds=1)
    answered = taken(graph, as_of)
    assert answered.keys == {"a", "b"}

    # Back once more: what is written now must not show in the answer given.
    clock.now = noon - HOUR
    third = graph.load(node("c"))
    assert third > as_of
    assert taken(graph, as_of) == answered
    assert taken(graph, third).keys == {"a", "b", "c"}


def test_an_answered_time_is_kept_over_a_restart(new_database: NewDatabase) -> None:
    clock = SteppingClock()
    noon = clock.now
    database = new_database(clock)
    graph = GraphBuilder(database.store)
    graph.load(node("a"))
    clock.now = noon + HOUR
    answered = taken(graph, noon + HOUR)

    earlier = SteppingClock()
    earlier.now = noon - HOUR
    database.reopen(earlier)
    graph.store = database.store

    assert graph.load(node("b")) > noon + HOUR
    assert taken(graph, noon + HOUR) == answered
    assert answered.keys == {"a"}


def test_the_future_begins_after_the_clock_and_the_last_stamp(new_database: NewDatabase) -> None:
    clock = SteppingClock()
    graph = GraphBuilder(new_database(clock).store)
    stamp = graph.load(node("a"))

    clock.now = stamp - HOUR  # the clock is behind: the last stamp counts
    assert taken(graph, stamp).keys == {"a"}
    with pytest.raises(Invalid):
        taken(graph, stamp + MICROSECOND)

    clock.now = stamp + HOUR  # the clock counts
    assert taken(graph, stamp + HOUR).keys == {"a"}
    with pytest.raises(Invalid):
        taken(graph, stamp + HOUR + MICROSECOND)


def test_a_refused_future_time_does_not_move_the_stamps(new_database: NewDatabase) -> None:
    clock = SteppingClock()
    graph = GraphBuilder(new_database(clock).store)
    with pytest.raises(Invalid):
        taken(graph, clock.now + HOUR)

    assert graph.load(node("a")) < clock.now + HOUR


def test_diff_added_removed_and_changed(graph: GraphBuilder, stranger: GraphBuilder) -> None:
    start = graph.load(
        *map(node, ["same", "changed", "removed", "also"]),
        edge("same", "changed"),
        edge("same", "also"),
        edge("same", "removed"),
        assertion("same", "Stays."),
        assertion("changed", "Grows in weight."),
        assertion("removed", "Goes."),
    )
    stranger.load(node("theirs"))
    graph.load(
        node("added"),
        node("changed", name="Changed"),
        edge("same", "added"),
        edge("same", "changed", weight=0.5),
        assertion("changed", "Grows in weight.", importance=0.9),
        assertion("added", "Comes."),
    )
    end = graph.stamp(lambda uow: nodes.delete(uow, graph.id("removed"), None))
    graph.load(node("too late"))

    with difference(graph, start, end) as found:
        by_node = {(change.after or change.before).key: change for change in found.nodes}  # type: ignore[union-attr]
        by_edge = {(change.after or change.before).target_node_id: change.change for change in found.edges}  # type: ignore[union-attr]
        by_content = {(change.after or change.before).content: change.change for change in found.assertions}  # type: ignore[union-attr]

    assert {key: change.change for key, change in by_node.items()} == {
        "added": "added",
        "changed": "changed",
        "removed": "removed",
    }
    assert by_node["added"].before is None
    assert by_node["removed"].after is None
    before, after = by_node["changed"].before, by_node["changed"].after
    assert before is not None
    assert after is not None
    assert (before.name, after.name) == ("changed", "Changed")
    assert by_edge == {
        graph.id("added"): "added",
        graph.id("changed"): "changed",
        graph.id("removed"): "removed",
    }
    assert by_content == {"Comes.": "added", "Grows in weight.": "changed", "Goes.": "removed"}


def test_diff_a_change_undone_in_between_is_none(graph: GraphBuilder) -> None:
    start = graph.load(node("a", name="A"), node("b"))
    graph.load(node("a", name="Other"), node("c"), edge("a", "c"))
    graph.write(lambda uow: edges.delete(uow, graph.edge_id("a", "c"), None))
    graph.write(lambda uow: nodes.delete(uow, graph.id("c"), None))
    end = graph.load(node("a", name="A"))

    with difference(graph, start, end) as found:
        assert (list(found.nodes), list(found.edges), list(found.assertions)) == ([], [], [])


def test_diff_of_a_cascade_and_of_nothing(graph: GraphBuilder) -> None:
    start = graph.load(node("a"), node("b"), edge("a", "b"))
    end = graph.invalidate("a").run.committed_at
    assert end is not None

    with difference(graph, start, end) as found:
        assert {(c.after.key, c.change, c.before.status, c.after.status) for c in found.nodes} == {  # type: ignore[union-attr]
            (key, "changed", "Valid", "Invalid") for key in "ab"
        }
        assert list(found.edges) == []
    with difference(graph, end, end) as found:
        assert list(found.nodes) == []
    with difference(graph, DAY, start) as found:
        assert {c.change for c in found.nodes} == {"added"}
    with pytest.raises(Invalid) as refused, difference(graph, end, start):
        pass
    assert refused.value.pointer == "/to"


def test_diff_is_ordered_by_id(graph: GraphBuilder) -> None:
    keys = [f"n{i}" for i in range(30)]
    start = graph.load(*map(node, keys[:20]))
    graph.load(*(node(key, name="New") for key in keys[5:]))
    for key in keys[:5]:
        graph.write(partial(nodes.delete, node_id=graph.id(key), if_match=None))
    end = taken(graph).as_of

    with difference(graph, start, end) as found:
        ids = [(change.after or change.before).memory_node_id for change in found.nodes]  # type: ignore[union-attr]

    assert ids == sorted(map(graph.id, keys))


def test_bookmarks(graph: GraphBuilder, stranger: GraphBuilder) -> None:
    stamp = graph.load(node("a"))

    def bookmarked(name: str, as_of: datetime | None = None) -> Any:
        body = NewBookmark(name=name, as_of=as_of)
        return graph.write(lambda uow: snapshot.bookmark(uow, graph.graph_id, body))

    now = bookmarked("now")
    then = bookmarked("then", stamp - MICROSECOND)
    graph.load(node("b"))
    stranger.write(lambda uow: snapshot.bookmark(uow, graph.graph_id, NewBookmark(name="theirs")))

    assert taken(graph, now.as_of).keys == {"a"}
    assert taken(graph, then.as_of).keys == set()
    found = graph.read(lambda view: snapshot.bookmarks(view, graph.graph_id, 10, None))
    assert found.items == sorted([now, then], key=lambda row: row.snapshot_id)
    assert found.next_cursor is None
    first = graph.read(lambda view: snapshot.bookmarks(view, graph.graph_id, 1, None))
    rest = graph.read(lambda view: snapshot.bookmarks(view, graph.graph_id, 1, first.next_cursor))
    assert [*first.items, *rest.items] == found.items
    with pytest.raises(Invalid):
        bookmarked("tomorrow", datetime.now(UTC) + HOUR)
    with pytest.raises(NotFound):
        graph.write(lambda uow: snapshot.bookmark(uow, uuid4(), NewBookmark(name="nowhere")))
    with pytest.raises(NotFound):
        graph.read(lambda view: snapshot.bookmarks(view, uuid4(), 10, None))


def test_a_deleted_node_is_seen_in_the_past_and_in_its_history(graph: GraphBuilder) -> None:
    stamp = graph.load(node("a", content="It was."), node("b"), edge("a", "b"))
    gone = graph.stamp(lambda uow: nodes.delete(uow, graph.id("a"), None))

    with pytest.raises(NotFound):
        graph.node("a")
    past = taken(graph, stamp)
    assert past.keys == {"a", "b"}
    assert len(past.edges) == len(past.assertions) == 1
    history = graph.read(lambda view: nodes.history(view, graph.id("a"), 10, None))
    assert [(row.valid_from, row.valid_to, row.version) for row in history.items] == [(stamp, gone, 1)]


def test_a_node_deleted_and_made_again_has_both_lives_in_its_history(graph: GraphBuilder) -> None:
    made = graph.load(node("a"))
    gone = graph.stamp(lambda uow: nodes.delete(uow, graph.id("a"), None))
    back = graph.load(node("a"))

    history = graph.read(lambda view: nodes.history(view, graph.id("a"), 10, None))

    assert [(row.valid_from, row.valid_to) for row in history.items] == [(made, gone), (back, None)]
    assert taken(graph, gone).keys == set()
    assert taken(graph, back).keys == {"a"}
