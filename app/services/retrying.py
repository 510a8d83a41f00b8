"""Tries whole transactions again, each time with a new begin."""

from collections.abc import Callable
from typing import TypeVar

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from app.domain.errors import OutcomeUnknown, Retryable

Result = TypeVar("Result")

_ATTEMPTS = 6
_FIRST_SECONDS, _LONGEST_SECONDS = 0.02, 2.0


def retrying(transaction: Callable[[], Result], *, is_idempotent: bool = False) -> Result:
    """What ``transaction`` returns; it is begun again where it lost to another one, or lost its connection.

    Waits grow, with jitter, so that those who met do not meet again. Where the connection was lost in the commit
    itself, only a transaction that finds its own trace is begun again. The last error is raised as it is.
    """
    again = (Retryable, OutcomeUnknown) if is_idempotent else Retryable
    attempts = Retrying(
        retry=retry_if_exception_type(again),
        stop=stop_after_attempt(_ATTEMPTS),
        wait=wait_random_exponential(multiplier=_FIRST_SECONDS, max=_LONGEST_SECONDS),
        reraise=True,
    )
    return attempts(transaction)
