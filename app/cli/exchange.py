"""``import`` and ``export``: whole graphs, as lines of JSON."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Annotated, BinaryIO
from uuid import UUID, uuid4

import orjson
import typer

from app.cli.options import NIL, AsOf, DatabaseUrl, Fleet, Graph, Output, Tenant
from app.cli.output import sink
from app.cli.progress import progress_over
from app.cli.session import find_graph, is_id, known_graph, opened
from app.domain.errors import NotFound
from app.domain.models import Principal
from app.schemas import NewGraph
from app.services import exchange
from app.services.export import export_lines
from app.store.ports import Store


def import_graph(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", allow_dash=True, show_default=False, help="Lines, plain or gzip; - is standard input."
        ),
    ],
    *,
    graph: Annotated[
        str,
        typer.Option("--graph", "-g", metavar="NAME_OR_ID", show_default=False, help="A new name makes a new graph."),
    ],
    database_url: DatabaseUrl = None,
    tenant: Tenant = NIL,
    fleet: Fleet = NIL,
) -> None:
    """Load a graph from lines of JSON: all of them or, if one is wrong, none. The same lines again change nothing."""
    who = Principal(tenant, fleet)
    started = monotonic()
    with _lines(file) as lines, opened(database_url, start=True) as store:
        graph_id, new_graph = _find(store, who, graph)
        with progress_over(lines) as progress:
            answer = exchange.import_lines(store, who, graph_id, lines, progress=progress, new_graph=new_graph)
    _tell(orjson.loads(answer.body), f"{_named(file)} into {graph} in {monotonic() - started:.1f} s")


def export_graph(
    graph: Graph,
    *,
    as_of: AsOf = None,
    output: Output = None,
    database_url: DatabaseUrl = None,
    tenant: Tenant = NIL,
    fleet: Fleet = NIL,
) -> None:
    """Write a graph as the lines that an import takes. Importing them elsewhere gives the same graph."""
    who = Principal(tenant, fleet)
    with opened(database_url) as store:
        with store.read(who) as view:
            graph_id = known_graph(view, graph).graph_id
        with export_lines(store, who, graph_id, as_of) as lines, sink(output) as out:
            out.writelines(lines)


def _find(store: Store, who: Principal, name_or_id: str) -> tuple[UUID, NewGraph | None]:
    """The graph to import into; where none has that name, a new one, to be made with its lines."""
    with store.read(who) as view:
        graph = find_graph(view, name_or_id)
    if graph:
        return graph.graph_id, None
    if is_id(name_or_id):
        raise NotFound("Memory graph", [name_or_id])
    graph_id = uuid4()
    return graph_id, NewGraph(name=name_or_id, graph_id=graph_id)


@contextmanager
def _lines(path: Path) -> Iterator[BinaryIO]:
    """The file, or a copy of standard input: the import has to look at the start twice."""
    if str(path) != "-":
        with path.open("rb") as file:
            yield file
        return
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy)
        copy.seek(0)
        yield copy


def _named(path: Path) -> str:
    return "standard input" if str(path) == "-" else str(path)


def _tell(report: dict[str, object], what: str) -> None:
    added, changed = report["added"], report["changed"]
    assert isinstance(added, dict)  # noqa: S101 - as the import answers
    assert isinstance(changed, dict)  # noqa: S101 - as the import answers
    typer.echo(f"Imported {what}.")
    for kind, count in added.items():
        if count or changed[kind]:
            typer.echo(f"  {kind:<10} {count:>10,} added {changed[kind]:>10,} changed")
    if not any(added.values()) and not any(changed.values()):
        typer.echo("  Every line was there already; nothing changed.")
    typer.echo(f"Committed at {report['committedAt']} (an --as-of that shows this state).")
    typer.echo(f"Graph id: {report['graphId']}")
