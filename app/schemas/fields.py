"""The kinds of value that fields hold. Each refuses what the store could not keep exactly."""

import re
from datetime import UTC, datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, StringConstraints, WithJsonSchema
from pydantic_core import PydanticCustomError

_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_LOST_PLUS = re.compile(r"(.*\d) (\d\d:\d\d)")


def parse_instant(value: object) -> datetime:
    """UTC time of an RFC 3339 string with offset; no numbers, nothing finer than a microsecond."""
    if isinstance(value, datetime) and value.tzinfo:
        return value.astimezone(UTC)
    match = _INSTANT.fullmatch(value) if isinstance(value, str) else None
    if not match or not isinstance(value, str):
        raise _bad_instant("must be an RFC 3339 time with an offset, such as 2026-01-31T12:00:00Z")
    if match[1] and len(match[1]) > 7:
        raise _bad_instant("must not be finer than a microsecond (six decimals)")
    try:
        return datetime.fromisoformat(value.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise _bad_instant("must be a time that exists, in UTC between the years 1 and 9999") from None


def _bad_instant(message: str) -> PydanticCustomError:
    return PydanticCustomError("instant", "{reason}", {"reason": message})


def parse_query_instant(value: object) -> datetime:
    """As ``parse_instant``, for query strings, where an unescaped ``+`` arrives as a space."""
    lost = _LOST_PLUS.fullmatch(value) if isinstance(value, str) else None
    return parse_instant(f"{lost[1]}+{lost[2]}" if lost else value)


def parse_id(value: object) -> UUID:
    """A UUID in its usual form of 36 characters; no braces, no ``urn:``, no bare digits."""
    if isinstance(value, UUID):
        return value
    if not isinstance(value, str) or not _UUID.fullmatch(value):
        raise PydanticCustomError("uuid", "must be a UUID such as 6f1f3c52-0b5e-5f0e-9d3c-2f6b8f0a4c11")
    return UUID(value)


def check_text(value: str) -> str:
    """Refuse the two things that JSON can say and no database keeps: NUL and half of a surrogate pair."""
    if "\0" in value:
        raise PydanticCustomError("nul", "must not contain the NUL character")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise PydanticCustomError("surrogate", "must not contain half of a surrogate pair") from None
    return value


def _whole(value: object) -> object:
    """JSON knows one kind of number: 2.0 is as whole as 2."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def or_default(default: object, kind: object) -> BeforeValidator:
    """Read null as absent, so as ``default``; ``kind`` is what the documentation says instead."""
    return BeforeValidator(lambda value: default if value is None else value, json_schema_input_type=kind)


_Text = AfterValidator(check_text)
_TIME_SCHEMA = WithJsonSchema({"type": "string", "format": "date-time"})

Instant = Annotated[datetime, PlainValidator(parse_instant), _TIME_SCHEMA]
QueryInstant = Annotated[datetime, PlainValidator(parse_query_instant), _TIME_SCHEMA]
Id = Annotated[UUID, PlainValidator(parse_id), WithJsonSchema({"type": "string", "format": "uuid"})]

Name = Annotated[str, StringConstraints(min_length=1, max_length=256), _Text]
Key = Annotated[str, StringConstraints(min_length=1, max_length=256), _Text]
"""A caller's own name for a node: compared byte for byte, nothing trimmed or folded."""
Label = Annotated[str, StringConstraints(min_length=1, max_length=100), _Text]
Reason = Annotated[str, StringConstraints(min_length=1, max_length=2000), _Text]
Content = Annotated[str, StringConstraints(min_length=1, max_length=65_536), _Text]

Unit = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
MinSupport = Annotated[int, BeforeValidator(_whole, json_schema_input_type=int), Field(ge=1, le=1_000_000)]

Status = Literal["Valid", "PotentiallyStale", "Invalid"]
Lowered = Literal["Invalid", "PotentiallyStale"]
Invalidation = Literal["Direct", "Derived"]
Policy = Literal["evidential", "strict"]
Propagation = Literal["frontier", "transitive"]
RevalidationMode = Literal["automatic", "agent"]
EdgeType = Literal[
    "Requires", "ValidOnlyWhen", "DerivedFrom", "SupportedBy", "ObservedFrom", "Contradicts", "Supersedes"
]
Outcome = Literal["Invalidated", "MarkedPotentiallyStale", "AlreadyAtStatus", "SkippedPinned", "Reexamine"]
RunStatus = Literal["Pending", "Completed", "Superseded"]

EVIDENTIAL = frozenset({"DerivedFrom", "SupportedBy", "ObservedFrom"})
