"""``invalidate``: what no longer holds, and everything that rested on it."""

from typing import Annotated

import typer

from app.api.reports import show_report
from app.api.wire import dumps
from app.cli.options import NIL, DatabaseUrl, EffectiveTime, Fleet, Graph, NodeIds, Tenant
from app.cli.session import committed, known_graph, opened
from app.domain.models import Principal
from app.schemas import NewInvalidation
from app.schemas.fields import Lowered, Policy, Propagation
from app.services import invalidate as service


def invalidate(
    graph: Graph,
    keys: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY…", show_default=False, help="Keys of the nodes that no longer hold."),
    ] = None,
    *,
    reason: Annotated[str, typer.Option("--reason", "-r", show_default=False, help="Why; it is kept.")],
    ids: NodeIds = [],  # noqa: B006 - how the framework is told of an empty list
    status: Annotated[Lowered, typer.Option(help="What the roots become.")] = "Invalid",
    policy: Annotated[
        Policy | None, typer.Option(show_default="the graph's", help="strict: the loss of any ground counts.")
    ] = None,
    propagation: Annotated[
        Propagation | None, typer.Option(show_default="the graph's", help="transitive: doubt travels as well.")
    ] = None,
    effective_time: EffectiveTime = None,
    override_pinned: Annotated[bool, typer.Option("--override-pinned", help="Change pinned nodes too.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the report and change nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The report as the API answers it.")] = False,
    limit: Annotated[int, typer.Option(min=0, help="Most nodes to list.")] = 50,
    database_url: DatabaseUrl = None,
    tenant: Tenant = NIL,
    fleet: Fleet = NIL,
) -> None:
    """Say that nodes no longer hold: what rested on them falls, or is marked to be looked at."""
    if not keys and not ids:
        raise typer.BadParameter("name at least one node, by KEY or --id", param_hint="KEY")
    who = Principal(tenant, fleet)
    with opened(database_url) as store:
        with store.read(who) as view:
            graph_id = known_graph(view, graph).graph_id
        body = NewInvalidation(
            graph_id=graph_id,
            root_node_ids=ids,
            root_keys=keys or [],
            reason=reason,
            status=status,
            effective_time=effective_time,
            policy=policy,
            propagation=propagation,
            override_pinned=override_pinned,
            dry_run=dry_run,
        )
        report = (
            service.plan(store, who, body)
            if dry_run
            else committed(store, who, lambda uow: service.invalidate(uow, body))
        )
        if as_json:
            typer.echo(dumps(show_report(report)).decode())
            return
        from app.cli.report import print_report  # noqa: PLC0415 - not needed for JSON

        with store.read(who) as view:
            print_report(view, report, limit)
