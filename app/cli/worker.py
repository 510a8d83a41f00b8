"""``worker``: drains the outbox, until it is told to stop or nothing is left."""

import signal
from threading import Event
from typing import Annotated

import typer

from app.cli import logs
from app.cli.options import DatabaseUrl, setting
from app.cli.session import opened, shown_url
from app.settings import Settings
from app.worker import Worker

_GRACE_SECONDS = 10


def worker(
    *,
    database_url: DatabaseUrl = None,
    threads: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=64,
            show_default=False,
            help=setting("worker_threads", "Fleets worked on at once."),
        ),
    ] = None,
    lease_seconds: Annotated[
        float | None,
        typer.Option(
            min=1,
            max=3600,
            show_default=False,
            help=setting("lease_seconds", "For how long a dead worker keeps others from its events."),
        ),
    ] = None,
    drain: Annotated[bool, typer.Option("--drain", help="Work off what can be worked off now, then stop.")] = False,
    log_level: Annotated[
        str | None,
        typer.Option(metavar="LEVEL", show_default=False, help=setting("log_level", "DEBUG to CRITICAL.")),
    ] = None,
) -> None:
    """Handle the events of all fleets: second looks after invalidations, deliveries to subscribers.

    Any number of workers may run on one database. Ctrl-C or SIGTERM lets each finish what it has begun.
    """
    settings = Settings.load(
        database_url=database_url, worker_threads=threads, lease_seconds=lease_seconds, log_level=log_level
    )
    logs.configure(settings.log_level)
    with opened(database_url) as store:
        work = Worker.of(settings, store)
        if drain:
            taken = work.drain()
            typer.echo(
                f"{taken:,} {'event' if taken == 1 else 'events'} taken on; none waits that could be handled now."
            )
            return
        stop = Event()
        for signal_number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(signal_number, lambda *_: stop.set())
        work.start()
        typer.echo(
            f"Working on {shown_url(settings.database_url)} with {settings.worker_threads} threads. Ctrl-C stops it."
        )
        stop.wait()
        if not work.stop(_GRACE_SECONDS):
            typer.echo(f"Not all was finished in {_GRACE_SECONDS} s; another worker goes on with it.", err=True)
