"""When to try again what has failed (SEMANTICS 6, Retry). A decision only: who carries it out is elsewhere."""

from datetime import datetime, timedelta
from typing import NamedTuple


class Patience(NamedTuple):
    """How often something is tried, and how long is waited in between."""

    first: timedelta
    """The wait after the first failure; each further one doubles it."""
    longest: timedelta
    most: int
    """After so many failures it is given up."""


HANDLING = Patience(timedelta(seconds=1), timedelta(minutes=5), 8)
"""Events of the service itself: a fault here is a bug or an outage, and an operator should see it within minutes."""
DELIVERY = Patience(timedelta(seconds=5), timedelta(hours=1), 15)
"""Deliveries to subscribers: their outages last hours."""


def next_attempt(failures: int, at: datetime, jitter: float, patience: Patience) -> datetime | None:
    """When to try again after so many failures, or None: never.

    The wait is between half and all of its full length, by ``jitter`` in [0, 1], so that what failed together does not
    come back together.
    """
    if failures >= patience.most:
        return None
    full = min(patience.longest, patience.first * (1 << min(failures - 1, 30)))
    return at + full * (0.5 + jitter / 2)
