"""Numbers for Prometheus, read from the store when they are asked for: so they are right whichever process works."""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app.services import outbox
from app.store.ports import Store


class _Outbox(Collector):
    def __init__(self, store: Store) -> None:
        self._store = store

    def collect(self) -> Iterator[Metric]:
        health = outbox.health(self._store)
        events = GaugeMetricFamily("memory_graph_outbox_events", "Events that are not done.", labels=["state"])
        for state in ("waiting", "held", "dead"):
            events.add_metric([state], getattr(health, state))
        yield events
        yield GaugeMetricFamily(
            "memory_graph_outbox_oldest_age_seconds",
            "Age of the oldest event that is not handled.",
            value=health.oldest_seconds,
        )
        yield GaugeMetricFamily(
            "memory_graph_outbox_lag_seconds",
            "From commit to handled: the mean over the events of the last five minutes.",
            value=health.lag_seconds,
        )


def metrics(store: Store) -> bytes:
    """The text format of Prometheus."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Outbox(store))
    return generate_latest(registry)
