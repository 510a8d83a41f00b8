"""When something is tried again, worked out by hand."""

from datetime import UTC, datetime, timedelta

import pytest

from app.domain.attempts import DELIVERY, HANDLING, Patience, next_attempt

AT = datetime(2026, 3, 1, tzinfo=UTC)
PATIENCE = Patience(first=timedelta(seconds=10), longest=timedelta(seconds=60), most=6)


@pytest.mark.parametrize(
    ("failures", "jitter", "seconds"),
    [(1, 1.0, 10), (1, 0.0, 5), (1, 0.5, 7.5), (2, 1.0, 20), (3, 1.0, 40), (4, 1.0, 60), (5, 1.0, 60), (5, 0.0, 30)],
)
def test_waits_double_up_to_the_longest_and_jitter_takes_up_to_half(
    failures: int, jitter: float, seconds: float
) -> None:
    assert next_attempt(failures, AT, jitter, PATIENCE) == AT + timedelta(seconds=seconds)


def test_it_is_given_up_after_the_most() -> None:
    assert next_attempt(5, AT, 1.0, PATIENCE) is not None
    assert next_attempt(6, AT, 1.0, PATIENCE) is None
    assert next_attempt(1_000_000, AT, 1.0, PATIENCE) is None


def test_faults_of_the_service_are_given_up_within_minutes_and_deliveries_within_half_a_day() -> None:
    def longest(patience: Patience) -> timedelta:
        waits = (next_attempt(n, AT, 1.0, patience) for n in range(1, patience.most))
        return sum((again - AT for again in waits if again), timedelta())

    assert timedelta(minutes=1) < longest(HANDLING) < timedelta(minutes=5)
    assert timedelta(hours=4) < longest(DELIVERY) < timedelta(hours=12)
