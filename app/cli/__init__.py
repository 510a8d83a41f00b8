"""The command line: ``memory-graph``. Its commands work on the store itself, so no server has to run."""

import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Annotated

import typer

from app.cli.demo import demo
from app.cli.exchange import export_graph, import_graph
from app.cli.faults import DEBUG_ADVICE, explain
from app.cli.invalidate import invalidate
from app.cli.operate import migrate, openapi
from app.cli.outbox import outbox
from app.cli.revalidate import revalidate
from app.cli.serve import serve
from app.cli.snapshot import snapshot
from app.cli.worker import worker
from app.settings import PREFIX

_COMMANDS: dict[str, Callable[..., None]] = {
    "serve": serve,
    "import": import_graph,
    "export": export_graph,
    "invalidate": invalidate,
    "revalidate": revalidate,
    "snapshot": snapshot,
    "demo": demo,
    "openapi": openapi,
    "migrate": migrate,
    "worker": worker,
    "outbox": outbox,
}

app = typer.Typer(
    name="memory-graph",
    help="Keeps what agents remember as a graph of what rests on what, and finds what has become stale.",
    epilog="New here? Try: memory-graph demo",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for _name, _function in _COMMANDS.items():
    app.command(_name)(_function)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"memory-graph {version('memory-graph')}")
        raise typer.Exit


@app.callback()
def program(
    *,
    show_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """What all commands share."""


def main() -> None:
    """Run the command line. Exit codes: 1 it could not be done, 2 wrong usage, 130 interrupted."""
    try:
        app()
    except Exception as error:
        lines = explain(error)
        if lines is None and os.environ.get(f"{PREFIX}LOG_LEVEL", "").upper() == "DEBUG":
            raise
        first, *more = lines or [f"the program failed: {type(error).__name__}: {error}", DEBUG_ADVICE]
        for line in (f"memory-graph: {first}", *more):
            typer.echo(line, err=True)
        sys.exit(1)
