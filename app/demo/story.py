"""What happens in the demo, by the same services that the API calls."""

import tempfile
from datetime import datetime
from pathlib import Path
from time import perf_counter
from typing import NamedTuple
from uuid import UUID, uuid4

from app.demo import MEMORY
from app.domain.models import NOBODY, Impact, MemoryEdge, MemoryNode, Principal
from app.schemas import NewGraph, NewInvalidation
from app.schemas.revalidation import Correction, NewRevalidation
from app.services import exchange, invalidate, revalidate, reviews, runs, snapshot
from app.services.reports import OpenReview, Report, RevalidationReport, Staleness
from app.services.staleness import staleness
from app.settings import Settings
from app.store.ports import Store
from app.store.repositories.invalidations import PathStep
from app.wiring import open_store

ROOT = "price-list"
REASON = "Marketing sent the wrong PDF: it is last year's price list."
CORRECTION = "Marketing sent the price list of this year."
ASKED = "plan-contract"
"""The node about which the story asks why it is not Valid."""


class Story(NamedTuple):
    nodes: dict[UUID, MemoryNode]
    """Before the invalidation."""
    edges: list[MemoryEdge]
    now: dict[UUID, MemoryNode]
    imported_at: datetime
    invalidated_at: datetime
    seconds: float
    """What the invalidation took."""
    report: Report
    asked: Staleness
    path: list[PathStep]
    then: dict[UUID, MemoryNode]
    """The snapshot of ``imported_at``, read after the invalidation."""
    changed: list[snapshot.Change[MemoryNode]]
    corrected: RevalidationReport
    """The root is right again: what the look at everything that rested on it came to."""
    waiting: list[OpenReview]
    """What waits for a person after that."""

    def by_key(self, key: str) -> MemoryNode:
        return next(node for node in self.nodes.values() if node.key == key)

    def impacts(self, *outcomes: str) -> list[Impact]:
        return [impact for impact in self.report.impacts.items if impact.outcome in outcomes]

    def status(self, node_id: UUID) -> str:
        return self.now[node_id].status


def play() -> Story:
    """Play the story in a database that is thrown away afterwards."""
    with tempfile.TemporaryDirectory(prefix="memory-graph-demo-") as folder:
        store = open_store(Settings.load(database_url=f"sqlite:///{Path(folder) / 'demo.db'}"))
        try:
            store.migrate()
            return _play(store, NOBODY)
        finally:
            store.dispose()


def _play(store: Store, who: Principal) -> Story:
    graph_id = uuid4()
    with MEMORY.open("rb") as lines:
        exchange.import_lines(store, who, graph_id, lines, new_graph=NewGraph(name="demo", graph_id=graph_id))
    nodes, edges, imported_at = _known(store, who, graph_id, None)

    started = perf_counter()
    with store.write(who) as uow:
        body = NewInvalidation(graph_id=graph_id, root_keys=[ROOT], reason=REASON)
        report = invalidate.invalidate(uow, body)
        uow.commit()
    seconds = perf_counter() - started

    now, _, invalidated_at = _known(store, who, graph_id, None)
    asked = next(node.memory_node_id for node in now.values() if node.key == ASKED)
    with store.read(who) as view:
        why, path = staleness(view, asked), runs.path(view, report.run.run_id, asked)
    with snapshot.diff(store, who, graph_id, imported_at, invalidated_at) as found:
        changed = list(found.nodes)
    then, _, _ = _known(store, who, graph_id, imported_at)
    corrected = _correct(store, who, graph_id)
    with store.read(who) as view:
        waiting = reviews.page(view, kind="Review", graph_id=graph_id, limit=100, cursor=None).items
    return Story(
        nodes,
        edges,
        now,
        imported_at,
        invalidated_at,
        seconds,
        report,
        why,
        path,
        then,
        changed,
        corrected,
        waiting,
    )


def _correct(store: Store, who: Principal, graph_id: UUID) -> RevalidationReport:
    right = Correction(key=ROOT, content=CORRECTION)
    with store.write(who) as uow:
        body = NewRevalidation(graph_id=graph_id, corrections=[right], reason=CORRECTION)
        report = revalidate.revalidate(uow, body)
        uow.commit()
    return report


def _known(
    store: Store, who: Principal, graph_id: UUID, as_of: datetime | None
) -> tuple[dict[UUID, MemoryNode], list[MemoryEdge], datetime]:
    with snapshot.open_snapshot(store, who, graph_id, as_of) as state:
        nodes = {node.memory_node_id: node for node in state.nodes if isinstance(node, MemoryNode)}
        return nodes, list(state.edges), state.as_of
