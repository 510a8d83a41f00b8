"""Database URL to store. The only module that names both engines."""

from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from app.settings import Settings
from app.store.ports import Store
from app.store.sqlite.engine import SqliteStore

_ADVICE = "try sqlite:///memory-graph.db or mssql+pyodbc://user@host/database"


class BadDatabaseUrl(ValueError):
    """MEMORY_GRAPH_DATABASE_URL names no store there is."""


def open_store(settings: Settings) -> Store:
    """The store that the settings name. A SQLite file need not exist yet, its folder must."""
    try:
        url = make_url(settings.database_url)
    except ArgumentError as error:
        raise BadDatabaseUrl(f"MEMORY_GRAPH_DATABASE_URL is not a database URL; {_ADVICE}") from error
    match url.get_backend_name():
        case "sqlite" if url.database:
            return SqliteStore(Path(url.database), retention_days=settings.history_retention_days)
        case "mssql" if url.database or "odbc_connect" in url.query:
            return _sql_server(url, settings)
    raise BadDatabaseUrl(
        f"MEMORY_GRAPH_DATABASE_URL {url.render_as_string()} is neither a SQLite file nor a SQL Server database; "
        f"{_ADVICE}"
    )


def _sql_server(url: URL, settings: Settings) -> Store:
    from app.store.sqlserver.connections import Connections  # noqa: PLC0415 - needs ODBC, which others need not have
    from app.store.sqlserver.engine import SqlServerStore  # noqa: PLC0415
    from app.store.sqlserver.entra import azure_token  # noqa: PLC0415

    if url.password is None and settings.database_password is not None:
        url = url.set(password=settings.database_password.get_secret_value())
    token = azure_token() if settings.database_entra else None
    connections = Connections(url, driver=settings.sqlserver_driver, token=token)
    return SqlServerStore(connections, settings.history_retention_days)
