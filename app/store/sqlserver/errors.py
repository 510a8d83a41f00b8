"""Turns what the server raises into the service's own errors, once, by number."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, InterfaceError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.domain.errors import Busy, Conflict, Retryable

CLOCK_BEHIND = frozenset({13535, 51503})
"""The transaction began before the last stamp of what it changes."""

_RETRYABLE = CLOCK_BEHIND | {
    1205,  # chosen as the victim of a deadlock
    1222,  # lock request timed out
    3960,  # snapshot isolation: the row was changed by another
    *(10928, 10929, 40197, 40501, 40613, 49918, 49919, 49920),  # Azure SQL: busy, moving, not open yet
}
_LOST = ("08001", "08S01", "08003", "08007", "HYT00", "HYT01")
"""SQLSTATE of a connection that was lost or could not be made, and of a timeout."""

_BROKEN_CONSTRAINT = frozenset({515, 547, 2601, 2627})
_ADVICE = {
    208: "The database lacks a table or procedure of this version: run memory-graph migrate.",
    2812: "The database lacks a procedure of this version: run memory-graph migrate.",
    229: "The login may not do that; grant it to the database user.",
    1105: "The database is full; nothing was kept. Give it room and try again.",
    9002: "The transaction log is full; nothing was kept. Back it up or give it room, and try again.",
    3906: "The database is read-only.",
    3952: "Snapshot isolation is not allowed in this database: run memory-graph migrate.",
    911: "There is no such database: run memory-graph migrate to make it.",
    4060: "There is no such database, or the login may not open it: run memory-graph migrate to make it.",
    18456: "The login failed; check user and password.",
}
_NUMBER = re.compile(r"(?:\]|^)(?P<text>[^\[\]]*?)\((?P<number>\d+)\) ?\(SQL")


@contextmanager
def translated() -> Iterator[None]:
    """Raises ``Retryable`` for what a new transaction may well get through, ``Busy`` for what an operator can mend,
    ``Conflict`` for a broken constraint."""
    try:
        yield
    except PoolTimeout as error:
        raise Busy("Other requests have kept the database busy for too long; try again shortly.") from error
    except DBAPIError as error:
        raise translate(error) from error


def translate(error: DBAPIError) -> Exception:
    """What the service says of an error of the driver; the error itself where nothing better is known."""
    text = " ".join(str(argument) for argument in error.orig.args) if error.orig else str(error)
    number, message = number_of(text)
    said: Exception = error
    if number in _ADVICE:
        said = Busy(_ADVICE[number])
    elif number in CLOCK_BEHIND:
        said = Retryable("The clock of the database is behind the last stamp; try again shortly.")
    elif number in _RETRYABLE:
        said = Retryable("Other requests were in the way; try again shortly.")
    elif number in _BROKEN_CONSTRAINT:
        said = Conflict(f"The store refused it: {message.strip()}")
    elif error.connection_invalidated or any(state in text for state in _LOST):
        said = Retryable(f"The database cannot be reached, or the connection was lost; try again shortly. {text[:300]}")
    elif isinstance(error, InterfaceError):
        said = Busy(f"The database cannot be reached: {text[:300]}")
    return said


def number_of(text: str) -> tuple[int | None, str]:
    """The server's number for an error, and its words. The order of a driver error's arguments is not reliable."""
    found = [match for match in _NUMBER.finditer(text) if int(match["number"])]
    return (int(found[0]["number"]), found[0]["text"]) if found else (None, text)
