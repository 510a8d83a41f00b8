"""Alembic's entry: on the connection it is handed, else on the database of the settings, or for a script."""

import os

from alembic import context
from sqlalchemy import Connection
from sqlalchemy.engine import make_url

from app.settings import PREFIX, Settings
from app.wiring import open_store


def run_on(connection: Connection) -> None:
    context.configure(connection=connection)
    context.run_migrations()


def run_here() -> None:
    store = open_store(Settings.load())
    try:
        with store.migrating() as connection:
            run_on(connection)
    finally:
        store.dispose()


def write_script() -> None:
    url = os.environ.get(f"{PREFIX}DATABASE_URL", "mssql://")
    context.configure(dialect_name=make_url(url).get_backend_name())
    with context.begin_transaction():
        context.run_migrations()


if context.is_offline_mode():
    write_script()
elif "connection" in context.config.attributes:
    run_on(context.config.attributes["connection"])
else:
    run_here()
