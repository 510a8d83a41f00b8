"""Opaque cursors of lists: the key of the last row, so that a page never repeats or skips a row."""

import base64
from collections.abc import Callable
from datetime import datetime
from typing import TypeVar
from uuid import UUID

import orjson

from app.domain.errors import Invalid
from app.domain.models import Page

Row = TypeVar("Row")


def encode(*key: object) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(key)).decode().rstrip("=")


def decode(cursor: str, *kinds: Callable[..., object]) -> list[object]:
    """The key that ``encode`` was given, each part made by its kind; ``Invalid`` for anything else."""
    try:
        parts = orjson.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True))
        return [kind(part) for kind, part in zip(kinds, parts, strict=True)]
    except (ValueError, TypeError, AttributeError) as error:
        raise Invalid("The cursor is not one that this list gave out.", "/cursor") from error


def after_id(cursor: str | None) -> UUID | None:
    if cursor is None:
        return None
    (id_,) = decode(cursor, UUID)
    assert isinstance(id_, UUID)  # noqa: S101 - what UUID makes
    return id_


def after_instant(cursor: str | None) -> datetime | None:
    if cursor is None:
        return None
    (after,) = decode(cursor, instant)
    assert isinstance(after, datetime)  # noqa: S101 - what instant makes
    return after


def instant(text: str) -> datetime:
    """A part of a key that is a time."""
    value = datetime.fromisoformat(text)
    if value.tzinfo is None:
        raise ValueError("no offset")
    return value


def depth(part: object) -> int:
    """A part of a key that is the depth of an impact."""
    if type(part) is not int or not 0 <= part < 1 << 31:
        raise ValueError("no depth")
    return part


def page_by_id(fetch: Callable[[UUID | None, int], list[Row]], limit: int, cursor: str | None) -> Page[Row]:
    """A page of a list ordered by its rows' first field."""
    rows = fetch(after_id(cursor), limit + 1)
    more = len(rows) > limit
    return Page(rows[:limit], encode(rows[limit - 1][0]) if more else None)  # type: ignore[index]
