"""Turns what the driver raises into the service's own errors, once, by error code."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.domain.errors import Busy, Conflict

_ADVICE = {
    "SQLITE_BUSY": "Another process holds the database; try again shortly.",
    "SQLITE_LOCKED": "Another connection holds the database; try again shortly.",
    "SQLITE_FULL": "The disk is full; nothing was kept. Free some room and try again.",
    "SQLITE_READONLY": "The database file cannot be written; check its owner and mode.",
    "SQLITE_CANTOPEN": "The database file cannot be opened. Serving or importing makes one where its folder exists "
    "and can be written; for any other command it has to be there.",
    "SQLITE_IOERR": "The disk did not answer; nothing was kept.",
    "SQLITE_CORRUPT": "The database file is damaged; restore it from a backup.",
    "SQLITE_NOTADB": "The file is not a Memory Graph database.",
}


@contextmanager
def translated() -> Iterator[None]:
    """Raises ``Busy`` for what may pass or an operator can mend, ``Conflict`` for a broken constraint."""
    try:
        yield
    except PoolTimeout as error:
        raise Busy("Other requests have kept the database busy for too long; try again shortly.") from error
    except DBAPIError as error:
        raise _translate(error) from error
    except sqlite3.Error as error:
        raise _by_name(error) from error


def _translate(error: DBAPIError) -> Exception:
    return _by_name(error.orig) if isinstance(error.orig, sqlite3.Error) else error


def _by_name(error: sqlite3.Error) -> Exception:
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith("SQLITE_CONSTRAINT"):
        return Conflict(f"The store refused it: {error}.")
    for prefix, advice in _ADVICE.items():
        if name.startswith(prefix):
            return Busy(advice)
    return error
