"""``revalidate``: what is right again, and everything that rested on it."""

from typing import Annotated

import typer

from app.api.reports import show_revalidation
from app.api.wire import dumps
from app.cli.options import NIL, DatabaseUrl, Fleet, Graph, NodeIds, Tenant
from app.cli.session import committed, known_graph, opened
from app.cli.words import STATUS_STYLE, printable
from app.domain.models import Principal
from app.schemas.revalidation import NewRevalidation
from app.services import revalidate as service
from app.services.reports import RevalidationReport
from app.store.unit import View


def revalidate(
    graph: Graph,
    keys: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY…", show_default=False, help="Keys of the nodes that are right again."),
    ] = None,
    *,
    reason: Annotated[str | None, typer.Option("--reason", "-r", show_default=False, help="Why; it is kept.")] = None,
    ids: NodeIds = [],  # noqa: B006 - how the framework is told of an empty list
    look: Annotated[list[str], typer.Option(metavar="KEY", help="A node to look at as it is; may be repeated.")] = [],  # noqa: B006
    everything: Annotated[bool, typer.Option("--all", help="Look at every node of the graph as it is.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The report as the API answers it.")] = False,
    limit: Annotated[int, typer.Option(min=0, max=1000, help="Most nodes to list.")] = 50,
    database_url: DatabaseUrl = None,
    tenant: Tenant = NIL,
    fleet: Fleet = NIL,
) -> None:
    """Say that nodes are right again: what rested on them is looked at, and restored where its ground is back."""
    if not (keys or ids or look or everything):
        raise typer.BadParameter("name at least one node, by KEY, --id or --look, or --all", param_hint="KEY")
    who = Principal(tenant, fleet)
    with opened(database_url) as store:
        with store.read(who) as view:
            graph_id = known_graph(view, graph).graph_id
        body = NewRevalidation(
            graph_id=graph_id, root_node_ids=ids, root_keys=keys or [], keys=look, whole_graph=everything, reason=reason
        )
        report = committed(store, who, lambda uow: service.revalidate(uow, body))
        if as_json:
            typer.echo(dumps(show_revalidation(report)).decode())
            return
        with store.read(who) as view:
            _show(view, report, limit)


def _show(view: View, report: RevalidationReport, limit: int) -> None:
    from rich.console import Console  # noqa: PLC0415 - not needed for JSON
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console(highlight=False, markup=False)
    looked_at = sum(report.by_outcome.values())
    by_outcome = ", ".join(f"{name} {count:,}" for name, count in sorted(report.by_outcome.items()))
    console.print(f"{looked_at:,} nodes looked at: {by_outcome or 'none'}.", soft_wrap=True)
    if report.child_run_ids:
        console.print(f"{len(report.child_run_ids):,} cascades went on from them.")
    shown = service.decisions(view, report.run.run_id, outcome=None, limit=max(limit, 1), cursor=None).items[:limit]
    if shown:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for name in ("node", "outcome", "status"):
            table.add_column(name, overflow="fold")
        table.add_column("confidence", justify="right")
        for decision in shown:
            outcome = decision.outcome + (f" ({decision.review_reason})" if decision.review_reason else "")
            status = Text(decision.new_status, STATUS_STYLE[decision.new_status])
            if decision.old_status != decision.new_status:
                status.append(f" (was {decision.old_status})", "dim")
            name = printable(decision.key) if decision.key is not None else str(decision.memory_node_id)
            table.add_row(Text(name), outcome, status, f"{decision.new_confidence:.3f}")
        console.print(table)
    if looked_at > len(shown):
        console.print(f"… and {looked_at - len(shown):,} more nodes (--limit lists more).", style="dim")
    console.print(f"Run {report.run.run_id}.", style="dim")
