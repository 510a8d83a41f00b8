"""Times as people and callers read them."""

from datetime import UTC, datetime


def in_words(instant: datetime) -> str:
    """RFC 3339 in UTC, to the microsecond."""
    return instant.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
