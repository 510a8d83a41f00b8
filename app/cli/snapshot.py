"""``snapshot``: the graph as the database knew it."""

from typing import Annotated, Literal

import typer

from app.api.past import written_snapshot
from app.cli.options import NIL, AsOf, DatabaseUrl, Fleet, Graph, Output, Tenant
from app.cli.output import sink
from app.cli.session import known_graph, opened
from app.domain.models import Principal
from app.services.snapshot import open_snapshot


def snapshot(
    graph: Graph,
    *,
    as_of: AsOf = None,
    output_format: Annotated[
        Literal["json", "ndjson"], typer.Option("--format", help="One document, or one object a line.")
    ] = "json",
    output: Output = None,
    database_url: DatabaseUrl = None,
    tenant: Tenant = NIL,
    fleet: Fleet = NIL,
) -> None:
    """Write the graph as it was known at a system time; the same time always gives the same bytes."""
    who = Principal(tenant, fleet)
    with opened(database_url) as store:
        with store.read(who) as view:
            graph_id = known_graph(view, graph).graph_id
        with open_snapshot(store, who, graph_id, as_of) as state, sink(output) as out:
            out.writelines(written_snapshot(state, lines=output_format == "ndjson"))
