"""``migrate`` and ``openapi``: for whoever runs or builds on the service."""

import json

import typer

from app.cli.options import DatabaseUrl, Output
from app.cli.output import sink
from app.settings import Settings
from app.wiring import open_store


def migrate(database_url: DatabaseUrl = None) -> None:
    """Bring the database to the schema of this version, and make it where a server lacks it."""
    settings = Settings.load(database_url=database_url)
    store = open_store(settings)
    done: list[str] = []
    try:
        store.migrate(done.append)
    finally:
        store.dispose()
    typer.echo("\n".join(done) if done else "The schema is the newest; nothing to do.")


def openapi(output: Output = None) -> None:
    """Write the OpenAPI document of the service."""
    from app.main import create_app  # noqa: PLC0415 - takes a second that no other command should wait

    document = create_app(Settings.load()).openapi()
    with sink(output) as out:
        out.write(json.dumps(document, indent=2, ensure_ascii=False).encode() + b"\n")
