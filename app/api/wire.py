"""Writes rows as JSON straight from the named tuples; what the store checked needs no model any more."""

from collections.abc import Callable
from functools import cache
from operator import itemgetter
from typing import Any

import orjson
from pydantic.alias_generators import to_camel

_RENAMED = {"run_status": "status"}


def dumps(value: object) -> bytes:
    """JSON bytes: rows as objects with camelCase names, times in UTC with a ``Z``."""
    return orjson.dumps(value, default=wire, option=orjson.OPT_UTC_Z)


def wire(row: Any) -> dict[str, Any]:
    """A row as its JSON object."""
    return dict(zip(_names(row._fields), row, strict=True))


def wire_timeless(row: Any) -> dict[str, Any]:
    """A row as a snapshot shows it: without ``validTo``, which changes later."""
    names, pick = _timeless(row._fields)
    return dict(zip(names, pick(row), strict=True))


@cache
def _names(fields: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(to_camel(_RENAMED.get(name, name)) for name in fields)


@cache
def _timeless(fields: tuple[str, ...]) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    kept = [i for i, name in enumerate(fields) if name != "valid_to"]
    return _names(tuple(fields[i] for i in kept)), itemgetter(*kept)
