"""What the command line says when something cannot be done: what is wrong, and what to do next."""

from pydantic import ValidationError

from app.domain.errors import BadLine, MemoryGraphError
from app.settings import PREFIX, SettingsError
from app.wiring import BadDatabaseUrl

DEBUG_ADVICE = f"This is a bug; please report it. With {PREFIX}LOG_LEVEL=DEBUG the place is shown."


class Refused(Exception):
    """The command cannot be carried out; ``advice`` says what to do next."""

    def __init__(self, message: str, advice: str | None = None) -> None:
        super().__init__(message)
        self.advice = advice


def explain(error: Exception) -> list[str] | None:
    """The lines for a person; None for an error that nobody expected."""
    lines: list[str] | None = None
    match error:
        case Refused():
            lines = [str(error), *([error.advice] if error.advice else [])]
        case BadLine():
            lines = [error.detail, "Nothing was kept. Correct the line and import again."]
        case MemoryGraphError():
            lines = [error.detail]
        case ValidationError():
            lines = [_fault(fault["loc"], fault["msg"]) for fault in error.errors()]
        case SettingsError() | BadDatabaseUrl():
            lines = str(error).splitlines()
        case OSError() if error.strerror:
            lines = [f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."]
    return lines


def _fault(loc: tuple[int | str, ...], message: str) -> str:
    said = message.removeprefix("Value error, ")
    return f"{'.'.join(map(str, loc))}: {said}." if loc else f"{said}."
