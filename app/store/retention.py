"""How far back history is kept."""

from datetime import datetime, timedelta

from app.domain.errors import Gone
from app.domain.instants import in_words


def refuse_forgotten(as_of: datetime | None, now: datetime, retention_days: int | None, field: str) -> None:
    """Raise ``Gone`` for a system time whose history may have been cleaned up (SEMANTICS 5)."""
    if as_of is None or retention_days is None:
        return
    kept_since = now - timedelta(days=retention_days)
    if as_of < kept_since:
        raise Gone(f"{field} {in_words(as_of)} is older than history is kept, which is since {in_words(kept_since)}.")
