"""Runs Alembic on an open connection, so that a migration and its version are one transaction."""

from collections.abc import Callable

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from app.domain.errors import Busy
from app.resources import MIGRATIONS


def upgrade(connection: Connection, report: Callable[[str], None] | None = None) -> None:
    """Bring the schema to the newest version within the caller's transaction; nothing to do is no error."""
    before, newest = _current(connection), _newest()
    if before == newest:
        return
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
    if report:
        report(f"schema {before or 'empty'} -> {newest}")


def check(connection: Connection) -> None:
    """Raise ``Busy`` unless the schema is the one this version of the service needs."""
    found, needed = _current(connection), _newest()
    if found != needed:
        raise Busy(f"The database has schema {found or 'none'}, this service needs {needed}: run memory-graph migrate.")


def _current(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _newest() -> str | None:
    return ScriptDirectory.from_config(_config()).get_current_head()


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config
