"""Opaque cursors of lists: the key of the last row, so that a page never repeats or skips a row."""

import base64
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

import orjson

from app.domain.errors import Invalid
from app.domain.models import Page

Row = TypeVar("Row", bound=tuple[Any, ...])


def encode(*key: object) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(key)).decode().rstrip("=")


def decode(cursor: str | None, *kinds: Callable[..., object]) -> list[Any]:
    """The key that ``encode`` was given, each part made by its kind; ``Invalid`` for anything else.

    Without a cursor, before the first row, every part is None.
    """
    if cursor is None:
        return [None] * len(kinds)
    try:
        parts = orjson.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True))
        return [kind(part) for kind, part in zip(kinds, parts, strict=True)]
    except (ValueError, TypeError, AttributeError) as error:
        raise Invalid("The cursor is not one that this list gave out.", "/cursor") from error


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


def number(part: object) -> int:
    """A part of a key that is the number of an event."""
    if type(part) is not int or not 0 <= part < 1 << 62:
        raise ValueError("no number")
    return part


def cut(rows: list[Row], limit: int, key: Callable[[Row], tuple[object, ...]]) -> Page[Row]:
    """The page that ``rows`` begin, of which one more than ``limit`` was asked for; ``key`` is a row's place."""
    return Page(rows[:limit], encode(*key(rows[limit - 1])) if len(rows) > limit else None)


def page_by_id(fetch: Callable[[UUID | None, int], list[Row]], limit: int, cursor: str | None) -> Page[Row]:
    """A page of a list ordered by its rows' first field."""
    (after_id,) = decode(cursor, UUID)
    return cut(fetch(after_id, limit + 1), limit, lambda row: row[:1])
