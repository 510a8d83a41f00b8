"""``outbox``: what waits for workers, what was given up, and another try for it."""

from typing import Annotated, Literal

import typer

from app.api.wire import dumps
from app.cli.options import NIL, DatabaseUrl, Fleet, Tenant
from app.cli.session import committed, opened
from app.cli.words import printable
from app.domain.errors import Conflict
from app.domain.models import OutboxEvent, Principal
from app.services import outbox as service
from app.store.ports import Store


def outbox(
    *,
    state: Annotated[
        Literal["Pending", "Done", "Dead"] | None, typer.Option(help="Only these.", show_default="Pending and Dead")
    ] = None,
    retry: Annotated[
        list[int], typer.Option(metavar="EVENT", help="Try this event again, from the beginning; may be repeated.")
    ] = [],  # noqa: B006 - how the framework is told of an empty list
    retry_dead: Annotated[bool, typer.Option("--retry-dead", help="Try everything in the dead letters again.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Most events to list.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="The events as the API answers them.")] = False,
    database_url: DatabaseUrl = None,
    tenant: Tenant = NIL,
    fleet: Fleet = NIL,
) -> None:
    """Show the events of a fleet that wait for workers or were given up, and have them tried again."""
    who = Principal(tenant, fleet)
    with opened(database_url) as store:
        wanted = [*retry, *(event.outbox_event_id for event in _all(store, who, "Dead") if retry_dead)]
        for number in dict.fromkeys(wanted):
            _retry(store, who, number)
            typer.echo(f"Event {number} is tried again by the next worker that is free.", err=True)
        if wanted:
            return
        states = [state] if state else ["Dead", "Pending"]
        found = [event for one in states for event in _all(store, who, one)]
        if as_json:
            typer.echo(dumps(found[:limit]).decode())
            return
        _show(found, limit)


def _all(store: Store, who: Principal, state: str) -> list[OutboxEvent]:
    found: list[OutboxEvent] = []
    cursor = None
    while True:
        with store.read(who) as view:
            part = service.page(view, state, limit=1000, cursor=cursor)
        found += part.items
        cursor = part.next_cursor
        if cursor is None:
            return found


def _retry(store: Store, who: Principal, number: int) -> None:
    try:
        committed(store, who, lambda uow: service.retry(uow, number))
    except Conflict as error:
        raise typer.BadParameter(error.detail, param_hint="--retry") from error


def _show(found: list[OutboxEvent], limit: int) -> None:
    if not found:
        typer.echo("Nothing waits, and nothing was given up.")
        return
    from rich.console import Console  # noqa: PLC0415 - not needed for JSON
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("event", justify="right")
    table.add_column("type", min_width=len("RevalidationRequested"))
    for name in ("state", "written"):
        table.add_column(name)
    table.add_column("attempts", justify="right")
    table.add_column("last error", overflow="fold")
    for event in found[:limit]:
        held = " (held)" if event.lease_owner else ""
        table.add_row(
            str(event.outbox_event_id),
            event.event_type,
            f"{event.event_state}{held}",
            event.created_at.isoformat(timespec="seconds").replace("+00:00", "Z"),
            str(event.attempts),
            printable(event.last_error or ""),
        )
    console = Console(highlight=False, markup=False)
    console.print(table)
    if len(found) > limit:
        console.print(f"… and {len(found) - limit:,} more (--limit lists more).", style="dim")
