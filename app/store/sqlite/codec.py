"""How SQLite stores ids and instants: 16 bytes, and microseconds since 1970."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from uuid import UUID

END_OF_TIME = 253_402_300_799_999_999
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_micros(instant: datetime) -> int:
    return (instant - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


class SqliteCodec:
    """See ``app.store.session.Codec``. The readers remember: graphs repeat their ids and stamps very often."""

    @staticmethod
    @lru_cache(maxsize=131_072)
    def uuid(value: bytes | None) -> UUID | None:
        return None if value is None else UUID(bytes=value)

    @staticmethod
    @lru_cache(maxsize=4096)
    def instant(value: int | None) -> datetime | None:
        return None if value is None else from_micros(value)

    @classmethod
    def period_end(cls, value: int | None) -> datetime | None:
        return None if value == END_OF_TIME else cls.instant(value)
