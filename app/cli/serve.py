"""``serve``: the HTTP service, until it is told to stop."""

import errno
import signal
import socket
from importlib.metadata import version
from types import FrameType
from typing import Annotated, Literal

import typer

from app.cli.faults import Refused
from app.cli.options import DatabaseUrl, setting
from app.cli.session import shown_url
from app.settings import Settings
from app.wiring import open_store

_GRACE_SECONDS = 10
"""How long requests under way may go on once the service is told to stop."""


def serve(
    *,
    database_url: DatabaseUrl = None,
    host: Annotated[str | None, typer.Option(show_default=False, help=setting("host", "Address to listen on."))] = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65_535, show_default=False, help=setting("port", "Port; 0 is any free one.")),
    ] = None,
    auth: Annotated[
        Literal["open"] | None,
        typer.Option(
            show_default=False, help=setting("auth", "open: callers name their fleet, from this machine only.")
        ),
    ] = None,
    log_level: Annotated[
        str | None,
        typer.Option(metavar="LEVEL", show_default=False, help=setting("log_level", "DEBUG to CRITICAL.")),
    ] = None,
    worker: Annotated[
        Literal["embedded", "none"] | None,
        typer.Option(
            show_default=False,
            help="embedded: the server drains the outbox itself. none: memory-graph worker does. "
            "(variable MEMORY_GRAPH_WORKER, default embedded on SQLite, else none)",
        ),
    ] = None,
    max_body_bytes: Annotated[
        int | None, typer.Option(show_default=False, help=setting("max_body_bytes", "Largest JSON body."))
    ] = None,
    max_import_bytes: Annotated[
        int | None,
        typer.Option(show_default=False, help=setting("max_import_bytes", "Largest import, as sent.")),
    ] = None,
) -> None:
    """Serve the HTTP API, with its documentation at /docs. Makes or migrates the database first."""
    settings = Settings.load(
        database_url=database_url,
        host=host,
        port=port,
        auth=auth,
        log_level=log_level,
        worker=worker,
        max_body_bytes=max_body_bytes,
        max_import_bytes=max_import_bytes,
    )
    _prepare(settings)
    with _listen(settings) as listener:
        _run(settings, listener)


def _prepare(settings: Settings) -> None:
    """Fail here, in a line, rather than in the middle of starting the server."""
    store = open_store(settings)
    try:
        store.start()
    finally:
        store.dispose()


def _listen(settings: Settings) -> socket.socket:
    host = settings.host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, settings.port), family=family, backlog=2048)
    except OSError as error:
        why = "is taken" if error.errno == errno.EADDRINUSE else f"cannot be opened: {error.strerror}"
        raise Refused(
            f"port {settings.port} of {settings.host} {why}.", "Choose another with --port; 0 is any free one."
        ) from error
    # Only where a socket says that it is TCP does asyncio switch off Nagle's delay, 40 ms an answer.
    return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=listener.detach())


def _run(settings: Settings, listener: socket.socket) -> None:
    import uvicorn  # noqa: PLC0415 - with the application it takes a second, which other commands save

    from app.cli import logs  # noqa: PLC0415
    from app.main import create_app  # noqa: PLC0415

    app = create_app(settings)

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            app.state.is_stopping = True  # streams without an end take it as theirs
            super().handle_exit(sig, frame)

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            _greet(settings, listener.getsockname()[1])

    logs.configure(settings.log_level)
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level=settings.log_level.lower(),
        timeout_graceful_shutdown=_GRACE_SECONDS,
        server_header=False,
    )
    for signal_number in (signal.SIGINT, signal.SIGTERM):  # the server repeats them once it has stopped
        signal.signal(signal_number, lambda *_: None)
    Server(config).run(sockets=[listener])


def _greet(settings: Settings, port: int) -> None:
    host = f"[{settings.host}]" if ":" in settings.host and "[" not in settings.host else settings.host
    typer.echo(f"Memory Graph {version('memory-graph')} keeps its graphs in {shown_url(settings.database_url)}")
    typer.echo(f"  API   http://{host}:{port}")
    typer.echo(f"  Docs  http://{host}:{port}/docs")
    typer.echo("Ctrl-C stops it.")
