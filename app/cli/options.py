"""Options that several commands take."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated, TypeVar
from uuid import UUID

import typer
from pydantic_core import PydanticCustomError

from app.schemas.fields import parse_id, parse_instant
from app.settings import PREFIX, Settings

Value = TypeVar("Value")
NIL = UUID(int=0)


def setting(name: str, explanation: str) -> str:
    """The help of an option that is also a variable; without either the default of ``Settings`` counts."""
    default = Settings.model_fields[name].default
    return f"{explanation} (variable {PREFIX}{name.upper()}, default {default})"


def _checked(parse: Callable[[object], Value]) -> Callable[[str], Value]:
    """``parse`` for the command line, where a value that is refused is wrong usage."""

    def parsed(text: str | Value) -> Value:
        try:
            return parse(text)
        except PydanticCustomError as error:
            raise typer.BadParameter(f"{error.message()}, not {text!r}") from error

    return parsed


DatabaseUrl = Annotated[
    str | None,
    typer.Option(metavar="URL", show_default=False, help=setting("database_url", "Where the graphs are kept.")),
]
Tenant = Annotated[
    UUID, typer.Option(parser=_checked(parse_id), metavar="UUID", help="Tenant.", show_default="nil UUID")
]
Fleet = Annotated[UUID, typer.Option(parser=_checked(parse_id), metavar="UUID", help="Fleet.", show_default="nil UUID")]
AsOf = Annotated[
    datetime | None,
    typer.Option(
        parser=_checked(parse_instant),
        metavar="TIME",
        show_default=False,
        help="A system time, RFC 3339 with offset: what was known then. Default: now.",
    ),
]
EffectiveTime = Annotated[
    datetime | None,
    typer.Option(
        parser=_checked(parse_instant),
        metavar="TIME",
        show_default=False,
        help="Since when it is so in the world, RFC 3339 with offset. Default: now.",
    ),
]
NodeIds = Annotated[
    list[UUID],
    typer.Option("--id", parser=_checked(parse_id), metavar="UUID", help="A root by id; may be repeated."),
]
Graph = Annotated[str, typer.Argument(metavar="GRAPH", show_default=False, help="Name or id of the graph.")]
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", show_default=False, help="Write here; .gz is packed."),
]
