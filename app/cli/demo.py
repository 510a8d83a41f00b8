"""``demo``: the main job on a small graph, in words."""

import shutil
from typing import Annotated

import typer

from app.cli.output import sink
from app.demo import MEMORY


def demo(
    *,
    lines: Annotated[
        bool, typer.Option("--lines", help="Write the lines of that graph instead, as import takes them.")
    ] = False,
) -> None:
    """Show in a few seconds what Memory Graph does, on a small graph of its own. Leaves nothing behind."""
    if lines:
        with MEMORY.open("rb") as file, sink(None) as out:
            shutil.copyfileobj(file, out)
        return
    from rich.console import Console  # noqa: PLC0415 - no other command needs the story

    from app.demo.show import tell  # noqa: PLC0415
    from app.demo.story import play  # noqa: PLC0415

    tell(play(), Console(highlight=False))
