"""The outbox: what a claim gives, to whom, in which order, and what becomes of what fails (SEMANTICS 6, Retry)."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from app.domain.errors import Conflict, NotFound
from app.domain.models import OutboxEvent
from app.services import drain_outbox, outbox, revalidate
from app.services.drain_outbox import Claim
from app.store.ports import Store
from app.store.repositories.outbox import ClaimedEvent, Horizon
from tests.contract.builder import GraphBuilder, edge, fresh_principal, node
from tests.contract.draining import LEASE, claimant, refuse
from tests.contract.engines import Engine

NEVER_STOPS = lambda: False  # noqa: E731


@pytest.fixture
def store(engine: Engine) -> Iterator[Store]:
    """A database of the test's own: claims are over all fleets."""
    database = engine.new_database()
    yield database.store
    database.store.dispose()


def graph_with_events(store: Store, count: int) -> GraphBuilder:
    """A graph whose fleet has so many events that nobody has handled."""
    graph = GraphBuilder(store, fresh_principal())
    graph.load(node("a"), *(node(f"n{i}") for i in range(count)))
    for i in range(count):
        graph.write(lambda uow, i=i: uow.outbox.add("BaseConfidenceChanged", graph.id(f"n{i}"), uow.stamp))
    return graph


def events_of(graph: GraphBuilder, state: str | None = None) -> list[OutboxEvent]:
    return graph.read(lambda view: outbox.page(view, state, limit=1000, cursor=None)).items


def work(store: Store, by: Claim, events: list[ClaimedEvent]) -> None:
    drain_outbox.work(store, by, events, refuse, NEVER_STOPS)


def test_a_claim_is_of_one_fleet_in_the_order_of_commits(store: Store) -> None:
    first, second = graph_with_events(store, 3), graph_with_events(store, 2)

    one, two = (drain_outbox.claim(store, claimant()) for _ in range(2))

    assert [event.subject_id for event in one] == [first.id(f"n{i}") for i in range(3)]
    assert [event.subject_id for event in two] == [second.id(f"n{i}") for i in range(2)]
    assert {(event.tenant_id, event.fleet_id) for event in one} == {first.who}
    assert drain_outbox.claim(store, claimant()) == []


def test_nobody_else_gets_a_fleet_while_it_is_held(store: Store) -> None:
    graph = graph_with_events(store, 1)
    by = claimant()
    assert len(drain_outbox.claim(store, by)) == 1
    graph.write(lambda uow: uow.outbox.add("NodeUnpinned", graph.id("a"), uow.stamp))

    assert drain_outbox.claim(store, claimant()) == []

    work(store, by, [])
    drain_outbox.release(store, by)
    assert len(drain_outbox.claim(store, claimant())) == 2


def test_many_workers_at_once_never_share_a_fleet(store: Store) -> None:
    graphs = [graph_with_events(store, 2) for _ in range(6)]

    with ThreadPoolExecutor(12) as pool:
        claims = list(pool.map(lambda _: drain_outbox.claim(store, claimant()), range(12)))

    held = [(events[0].tenant_id, events[0].fleet_id) for events in claims if events]
    assert sorted(held) == sorted(graph.who for graph in graphs)
    assert all(len(events) == 2 for events in claims if events)


def claim_at(store: Store, now: datetime, by: Claim) -> list[ClaimedEvent]:
    """As if the clock of the worker said so."""
    with store.queue() as queue:
        horizon = Horizon(now, now + by.lease * 2, now + timedelta(hours=1))
        return queue.claim(by.owner, horizon, now + by.lease, 100)


def test_a_lease_that_has_run_out_is_anybodys_and_counts_as_an_attempt_of_the_first_event(store: Store) -> None:
    graph_with_events(store, 3)
    now = datetime.now(UTC)
    assert [event.attempts for event in claim_at(store, now, claimant())] == [0, 0, 0]

    assert claim_at(store, now + LEASE - timedelta(seconds=1), claimant()) == []
    later = claim_at(store, now + LEASE, claimant())

    assert [event.attempts for event in later] == [1, 0, 0]


def test_an_event_that_no_worker_survives_is_given_up(store: Store) -> None:
    graph = graph_with_events(store, 2)
    now = datetime.now(UTC)
    for _ in range(9):  # each dies with its lease
        events = claim_at(store, now, claimant())
        now += LEASE
    assert [event.attempts for event in events] == [8, 0]

    by = claimant()
    work(store, by, claim_at(store, now, by))

    assert [event.event_state for event in events_of(graph)] == ["Dead", "Done"]
    assert "ended before it was done" in str(events_of(graph)[0].last_error)


def test_a_heartbeat_holds_on(store: Store) -> None:
    graph_with_events(store, 1)
    now, by = datetime.now(UTC), claimant()
    claim_at(store, now, by)
    with store.queue() as queue:
        assert queue.heartbeat(by.owner, now + LEASE * 2) == 1

    assert claim_at(store, now + LEASE, claimant()) == []


def test_a_clock_that_was_ahead_holds_nobody_up(store: Store) -> None:
    """What was leased, or put off, by a clock an hour ahead is over once the clock is right."""
    graph = graph_with_events(store, 2)
    ahead, by = datetime.now(UTC) + timedelta(hours=3), claimant()
    first, second = claim_at(store, ahead, by)
    with store.queue() as queue:
        assert queue.fail(first, by.owner, "fault", ahead, ahead + timedelta(minutes=5))

    assert len(claim_at(store, datetime.now(UTC), claimant())) == 2
    assert second.subject_id == graph.id("n1")


def test_effects_and_the_word_that_they_are_done_are_one_transaction(store: Store) -> None:
    """A worker that has lost its lease undoes what it did."""
    graph = GraphBuilder(store, fresh_principal())
    graph.load(node("a"), node("b"), edge("a", "b"))
    graph.invalidate("a")
    slow, quick = claimant(timedelta(seconds=0)), claimant()
    events = drain_outbox.claim(store, slow)
    others = drain_outbox.claim(store, quick)
    assert [event.outbox_event_id for event in events] == [event.outbox_event_id for event in others]

    work(store, slow, events)
    assert graph.read(lambda view: revalidate.page(view, limit=10, cursor=None)).items == []
    work(store, quick, others)
    assert len(graph.read(lambda view: revalidate.page(view, limit=10, cursor=None)).items) == 1
    work(store, quick, others)  # again: nothing happens twice
    assert len(graph.read(lambda view: revalidate.page(view, limit=10, cursor=None)).items) == 1


Handler = Callable[..., bool]


@pytest.fixture
def poison(monkeypatch: pytest.MonkeyPatch) -> set[UUID]:
    """Subjects whose events cannot be handled."""
    poisoned: set[UUID] = set()
    handle: Handler = revalidate.handle

    def failing(uow: object, event: ClaimedEvent, budget: object) -> bool:
        if event.subject_id in poisoned:
            raise RuntimeError("cannot be handled")
        return handle(uow, event, budget)

    monkeypatch.setattr(revalidate, "handle", failing)
    return poisoned


def drain_at(store: Store, now: datetime) -> None:
    by = claimant()
    while events := claim_at(store, now, by):
        work(store, by, events)


def test_a_poison_event_holds_nobody_up_and_is_tried_again(store: Store, poison: set[UUID]) -> None:
    graph = graph_with_events(store, 5)
    poison.add(graph.id("n1"))

    drain_at(store, datetime.now(UTC))

    assert [event.event_state for event in events_of(graph)] == ["Done", "Pending", "Done", "Done", "Done"]
    stuck = events_of(graph, "Pending")[0]
    assert stuck.attempts == 1
    assert stuck.last_error == "RuntimeError: cannot be handled"
    assert stuck.available_at is not None
    assert stuck.lease_owner is None
    assert drain_outbox.claim(store, claimant()) == []  # not before its time

    poison.clear()
    drain_at(store, stuck.available_at)
    assert {event.event_state for event in events_of(graph)} == {"Done"}


def test_after_the_last_attempt_it_is_in_the_dead_letters_and_a_replay_succeeds(
    store: Store, poison: set[UUID]
) -> None:
    graph = graph_with_events(store, 2)
    poison.add(graph.id("n0"))
    now = datetime.now(UTC)
    for _ in range(20):
        drain_at(store, now)
        now += timedelta(minutes=10)

    dead = events_of(graph, "Dead")
    assert [event.subject_id for event in dead] == [graph.id("n0")]
    assert dead[0].attempts == 8
    assert dead[0].last_error == "RuntimeError: cannot be handled"
    assert dead[0].handled_at is not None

    poison.clear()
    again = graph.write(lambda uow: outbox.retry(uow, dead[0].outbox_event_id))
    assert (again.event_state, again.attempts, again.available_at) == ("Pending", 0, None)
    drain_at(store, datetime.now(UTC))
    assert {event.event_state for event in events_of(graph)} == {"Done"}


def test_only_what_has_failed_can_be_tried_again(store: Store) -> None:
    graph = graph_with_events(store, 1)
    other = graph_with_events(store, 1)
    number = events_of(graph)[0].outbox_event_id
    with pytest.raises(Conflict, match="has not failed"):
        graph.write(lambda uow: outbox.retry(uow, number))
    drain_at(store, datetime.now(UTC))
    with pytest.raises(Conflict, match="is Done"):
        graph.write(lambda uow: outbox.retry(uow, number))
    with pytest.raises(NotFound):
        other.write(lambda uow: outbox.retry(uow, number))


def test_the_outbox_is_paged_and_every_fleet_sees_its_own(store: Store) -> None:
    graph, other = graph_with_events(store, 5), graph_with_events(store, 3)
    seen: list[UUID] = []
    cursor = None
    while True:
        page = graph.read(lambda view, cursor=cursor: outbox.page(view, "Pending", limit=2, cursor=cursor))
        seen += [event.subject_id for event in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == [graph.id(f"n{i}") for i in range(5)]
    assert len(events_of(other)) == 3


def test_health_counts_what_waits_what_is_held_and_what_is_dead(store: Store, poison: set[UUID]) -> None:
    assert outbox.health(store) == (0, 0, 0, 0.0, 0.0)
    graph = graph_with_events(store, 4)
    poison.add(graph.id("n0"))
    now = datetime.now(UTC)
    for _ in range(20):
        drain_at(store, now)
        now += timedelta(minutes=10)
    held = graph_with_events(store, 2)
    drain_outbox.claim(store, claimant())
    graph_with_events(store, 3)

    found = outbox.health(store)

    assert (found.waiting, found.held, found.dead) == (3, 2, 1)
    assert 0 < found.oldest_seconds < 60
    assert 0 <= found.lag_seconds < 60
    assert len(events_of(held)) == 2


def test_handled_events_of_long_ago_go_and_others_stay(store: Store) -> None:
    graph = graph_with_events(store, 3)
    drain_at(store, datetime.now(UTC))
    graph.write(lambda uow: uow.outbox.add("NodeUnpinned", graph.id("a"), uow.stamp))

    assert drain_outbox.clean(store, timedelta(hours=1)) == 0
    assert len(events_of(graph)) == 4
    assert drain_outbox.clean(store, timedelta(seconds=-5)) == 3
    assert [event.event_type for event in events_of(graph)] == ["NodeUnpinned"]


def test_an_event_of_something_that_is_gone_is_done(store: Store) -> None:
    graph = GraphBuilder(store, fresh_principal())
    for kind in ("InvalidationCompleted", "EdgeAdded", "RuleVersionAdded", "RevalidationRequested"):
        graph.write(lambda uow, kind=kind: uow.outbox.add(kind, uuid4(), uow.stamp))

    drain_at(store, datetime.now(UTC))

    assert {event.event_state for event in events_of(graph)} == {"Done"}
