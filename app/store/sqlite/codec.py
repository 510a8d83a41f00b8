"""How SQLite stores ids and instants: 16 bytes, and microseconds since 1970."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from uuid import UUID

END_OF_TIME = 253_402_300_799_999_999
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_micros(instant: datetime) -> int:
    return (instant - _EPOCH) // _MICROSECOND


@lru_cache(maxsize=4096)
def from_micros(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


@lru_cache(maxsize=65536)
def _uuid(value: bytes) -> UUID:
    return UUID(bytes=value)


class SqliteCodec:
    """See ``app.store.session.Codec``."""

    def encode(self, value: object) -> object:
        if isinstance(value, UUID):
            return value.bytes
        if isinstance(value, datetime):
            return to_micros(value)
        return value

    def uuid(self, value: bytes | None) -> UUID | None:
        return None if value is None else _uuid(value)

    def instant(self, value: int | None) -> datetime | None:
        return None if value is None or value == END_OF_TIME else from_micros(value)
