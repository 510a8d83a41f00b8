"""The guard against lost updates: a change names the version it was made from (``If-Match``)."""

from typing import TypeVar

from app.domain.errors import VersionMismatch
from app.domain.models import MemoryAssertion, MemoryEdge, MemoryNode

Row = TypeVar("Row", MemoryNode, MemoryEdge, MemoryAssertion)


def seen(row: Row, version: int | None) -> Row:
    """The row, if it is still at the version that the caller has seen; None takes any. Raises ``VersionMismatch``."""
    if version is not None and row.version != version:
        raise VersionMismatch(row.version)
    return row
