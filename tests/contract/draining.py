"""Drains the outbox in the test's own thread, as a worker does."""

from datetime import timedelta
from uuid import uuid4

from app.services import drain_outbox, revalidate
from app.services.drain_outbox import Claim
from app.services.reports import RevalidationReport
from app.store.ports import Store
from app.store.repositories.outbox import ClaimedEvent
from tests.contract.builder import GraphBuilder

LEASE = timedelta(seconds=60)


def claimant(lease: timedelta = LEASE) -> Claim:
    """A worker of its own."""
    return Claim(f"test:{uuid4()}", lease)


def refuse(_: Store, event: ClaimedEvent) -> None:
    """Nothing is to be delivered."""
    raise AssertionError(f"a delivery: {event}")


def drain(graph: GraphBuilder) -> list[RevalidationReport]:
    """Handle events, of whatever fleet, until there is none; the runs of the graph's fleet by their events."""
    waiting = graph.read(lambda view: view.outbox.page("Pending", 0, 1))
    by = claimant()
    while events := drain_outbox.claim(graph.store, by):
        drain_outbox.work(graph.store, by, events, refuse, lambda: False)
    if not waiting:
        return []
    before = waiting[0].outbox_event_id - 1
    handled = graph.read(lambda view: view.outbox.page(None, before, 10_000))
    assert {event.event_state for event in handled} == {"Done"}
    found = [graph.read(lambda view, n=event.outbox_event_id: view.revalidations.find_by_event(n)) for event in handled]
    return [graph.read(lambda view, run=run: revalidate.get(view, run.run_id)) for run in found if run]
