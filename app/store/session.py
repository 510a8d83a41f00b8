"""Runs named statements on one connection, always inside the caller's scope, and turns rows into models."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Protocol, TypeVar, cast

from sqlalchemy import Connection

from app.domain.models import Principal
from app.store.queries import Statement

Model = TypeVar("Model", bound=tuple[Any, ...])
Converter = Callable[[Any], Any]

PART = 2000
"""Rows read at a time."""

_STATUS_NAMES = dict(enumerate(("Valid", "PotentiallyStale", "Invalid")))
LEVELS = {name: level for level, name in _STATUS_NAMES.items()}
"""How a status is stored; the order is that of SEMANTICS 2."""


class Codec(Protocol):
    """How one engine gives ids and instants back."""

    def uuid(self, value: Any) -> Any:
        """An id as it comes from the driver, as a UUID."""

    def instant(self, value: Any) -> Any:
        """A time as it comes from the driver, in UTC."""

    def period_end(self, value: Any) -> Any:
        """The end of a row's system time; None for a row that is current."""


class Session(ABC):
    """One connection of one caller. Tenant and fleet are bound to every statement by the session itself."""

    def __init__(self, connection: Connection, queries: Mapping[str, Statement], codec: Codec, who: Principal) -> None:
        self.connection = connection
        self.codec = codec
        self.who = who
        self._queries = queries
        self._scope = {"tenant_id": who.tenant_id, "fleet_id": who.fleet_id}

    @abstractmethod
    def execute(self, name: str, /, **binds: object) -> int:
        """Run a statement; how many rows it changed."""

    @abstractmethod
    def execute_many(self, name: str, rows: Sequence[Mapping[str, object]]) -> None:
        """Run a statement for each row, in as few round trips as the driver can."""

    @abstractmethod
    def scalar(self, name: str, /, **binds: object) -> Any:
        """The first column of the first row, as the driver gives it, or None."""

    @abstractmethod
    def _parts(self, name: str, binds: Mapping[str, object]) -> tuple[Sequence[str], Iterator[Sequence[Sequence[Any]]]]:
        """Column names, and the rows in parts of a bounded size, none of them empty."""

    def rows(self, model: type[Model], name: str, /, **binds: object) -> list[Model]:
        return list(self.stream(model, name, **binds))

    def one(self, model: type[Model], name: str, /, **binds: object) -> Model | None:
        """The first row, or None."""
        return next(iter(self.rows(model, name, **binds)), None)

    def stream(self, model: type[Model], name: str, /, **binds: object) -> Iterator[Model]:
        """Rows as they are read, without keeping them; the column names choose the fields. Read to its end before the
        next statement is run."""
        columns, parts = self._parts(name, binds)
        picks = [columns.index(field) for field in _columns_of(model)]
        plan = [(pick, self._converter(columns[pick])) for pick in picks]
        make = cast("Callable[[Iterable[Any]], Model]", model._make)  # type: ignore[attr-defined]
        for part in parts:  # column by column, so that the loop over rows is the interpreter's
            read = list(zip(*part, strict=True))
            yield from map(
                make, zip(*(map(convert, read[i]) if convert else read[i] for i, convert in plan), strict=True)
            )

    def _converter(self, column: str) -> Converter | None:
        if column.endswith(("Id", "SupersededBy", "Lane")):
            return self.codec.uuid if column != "OutboxEventId" else None
        if column == "ValidTo":
            return self.codec.period_end
        if column.endswith(("At", "From", "To", "Since", "Time", "AsOf")):
            return self.codec.instant
        if column.endswith("Status") and column != "RunStatus":
            return _STATUS_NAMES.get
        if column.startswith(("Is", "Override")):
            return bool
        return None


@cache
def _columns_of(model: type[tuple[Any, ...]]) -> tuple[str, ...]:
    """``memory_node_id`` is the column ``MemoryNodeId``."""
    fields: tuple[str, ...] = model._fields  # type: ignore[attr-defined]
    return tuple(re.sub(r"(?:^|_)([a-z])", lambda m: m[1].upper(), field) for field in fields)
