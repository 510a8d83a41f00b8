"""A system time whose history may be gone is refused (SEMANTICS 5)."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.domain.errors import Gone
from app.services import snapshot
from app.store.settling import refuse_forgotten
from app.store.sqlite.engine import SqliteStore
from tests.contract.builder import GraphBuilder, node

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)


def test_the_bound_is_exact_to_the_microsecond() -> None:
    kept_since = NOW - timedelta(days=7)
    refuse_forgotten(kept_since, NOW, 7, "asOf")
    with pytest.raises(Gone, match=r"2026-03-03T11:59:59\.999999Z"):
        refuse_forgotten(kept_since - timedelta(microseconds=1), NOW, 7, "asOf")


def test_without_a_retention_or_a_time_nothing_is_refused() -> None:
    refuse_forgotten(datetime.min.replace(tzinfo=UTC), NOW, None, "asOf")
    refuse_forgotten(None, NOW, 7, "asOf")


def test_a_snapshot_and_a_diff_of_a_forgotten_time_are_gone(tmp_path: Path) -> None:
    now = NOW
    store = SqliteStore(tmp_path / "memory-graph.db", lambda: now, retention_days=7)
    store.migrate()
    graph = GraphBuilder(store)
    stamp = graph.load(node("a"))
    with snapshot.open_snapshot(store, graph.who, graph.graph_id, stamp) as state:
        assert len(list(state.nodes)) == 1
    now += timedelta(days=8)
    for opened in (
        snapshot.open_snapshot(store, graph.who, graph.graph_id, stamp),
        snapshot.diff(store, graph.who, graph.graph_id, stamp, now),
    ):
        with pytest.raises(Gone, match="older than history is kept"), opened:
            pass
    store.dispose()
