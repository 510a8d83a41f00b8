"""How values travel to SQL Server: ids and instants as text, which every driver version sends whole."""

from datetime import UTC, datetime
from functools import lru_cache
from uuid import UUID

from app.domain.instants import END_OF_TIME, in_words


class SqlServerCodec:
    """See ``app.store.session.Codec``. Columns are ``DATETIME2(6)``, so an instant comes back as it went out."""

    @staticmethod
    @lru_cache(maxsize=131_072)
    def uuid(value: UUID | str | None) -> UUID | None:
        return value if value is None or isinstance(value, UUID) else UUID(value)

    @staticmethod
    def instant(value: datetime | None) -> datetime | None:
        return None if value is None else value.replace(tzinfo=UTC)

    @classmethod
    def period_end(cls, value: datetime | None) -> datetime | None:
        end = cls.instant(value)
        return None if end is None or end >= END_OF_TIME else end


def encode(value: object) -> object:
    """The driver's form of a bound value."""
    if isinstance(value, datetime):
        return in_words(value).removesuffix("Z")
    return str(value) if isinstance(value, UUID) else value
