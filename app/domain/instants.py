"""Times as people and callers read them."""

from datetime import UTC, datetime

END_OF_TIME = datetime.max.replace(tzinfo=UTC)
"""The end of a system time that has not ended."""


def in_words(instant: datetime) -> str:
    """RFC 3339 in UTC, to the microsecond."""
    return instant.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
