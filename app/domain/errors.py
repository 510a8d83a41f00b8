"""Every error a caller can cause. The docstring of a class is the title of its problem document.

MemoryGraphError
├── Invalid                422  the request says something that cannot be
│   ├── BadLine                 … in one line of an import
│   └── IdempotencyMismatch     … under a key that was used for another request
├── NotFound               404
├── Conflict               409
│   ├── PlanChanged
│   └── VersionMismatch    412
├── Gone                   410
├── TooLarge               413
└── Busy                   503
    ├── Retryable               … as long as the whole transaction is tried again
    └── OutcomeUnknown          … with the same idempotency key only
"""

from collections.abc import Sequence


class MemoryGraphError(Exception):
    """The request failed."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class Invalid(MemoryGraphError):
    """The request is not valid."""

    def __init__(self, detail: str, pointer: str | None = None) -> None:
        super().__init__(detail)
        self.pointer = pointer
        """JSON pointer of the field at fault, such as ``/effectiveTime``."""


class BadLine(Invalid):
    """A line of the import is not valid; nothing was kept."""

    def __init__(self, line: int, detail: str, pointer: str | None = None) -> None:
        super().__init__(detail, pointer)
        self.line = line
        """Number of the line, counted from 1."""


class IdempotencyMismatch(Invalid):
    """The idempotency key was used for a different request."""


class NotFound(MemoryGraphError):
    """There is no such thing here."""

    def __init__(self, what: str, ids: Sequence[object]) -> None:
        named = ", ".join(str(i) for i in ids[:10]) + (" …" if len(ids) > 10 else "")
        super().__init__(f"{what} {named} is not known here.")


class Conflict(MemoryGraphError):
    """The request conflicts with what is stored."""


class PlanChanged(Conflict):
    """The invalidation would no longer do what its plan said; nothing was changed."""


class VersionMismatch(Conflict):
    """The row has changed since it was read."""

    def __init__(self, version: int) -> None:
        super().__init__(f"The row is at version {version}, which is not the one you name; read it again.")


class Gone(MemoryGraphError):
    """History of that time is no longer kept."""


class TooLarge(MemoryGraphError):
    """The request body is too large."""


class Busy(MemoryGraphError):
    """The store is busy; try again shortly."""


class Retryable(Busy):
    """The store was busy with something else; nothing was kept."""


class OutcomeUnknown(Busy):
    """The connection was lost while committing; ask again with the same Idempotency-Key to learn what became of it."""
