"""Which system times can be answered for at once, and which not at all (SEMANTICS 5)."""

from datetime import datetime, timedelta

from app.domain.errors import Gone, Invalid
from app.domain.instants import in_words
from app.store.unit import View


def time_to_answer(view: View, as_of: datetime | None, retention_days: int | None, field: str) -> tuple[datetime, bool]:
    """The time to answer for, and whether it lies after the last commit, so that it has to be promised first.

    Raises ``Gone`` for a time older than history is kept, ``Invalid`` for one later than both clock and last stamp.
    """
    last = view.graphs.last_stamp()
    refuse_forgotten(as_of, view.now, retention_days, field)
    if as_of is None or as_of <= last:
        return as_of or last, False
    if as_of > view.now:
        raise Invalid(f"{field} {in_words(as_of)} lies in the future; it is {in_words(view.now)}.", f"/{field}")
    return as_of, True


def refuse_forgotten(as_of: datetime | None, now: datetime, retention_days: int | None, field: str) -> None:
    """Raise ``Gone`` for a system time whose history may have been cleaned up (SEMANTICS 5)."""
    if as_of is None or retention_days is None:
        return
    kept_since = now - timedelta(days=retention_days)
    if as_of < kept_since:
        raise Gone(f"{field} {in_words(as_of)} is older than history is kept, which is since {in_words(kept_since)}.")
