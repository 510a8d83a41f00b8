"""Database URL to store. The only module that names both engines."""

from pathlib import Path

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from app.settings import Settings
from app.store.ports import Store
from app.store.sqlite.engine import SqliteStore

_ADVICE = "try sqlite:///memory-graph.db"


class BadDatabaseUrl(ValueError):
    """MEMORY_GRAPH_DATABASE_URL names no store this release has."""


def open_store(settings: Settings) -> Store:
    """The store that the settings name; its file need not exist yet, its folder must."""
    try:
        url = make_url(settings.database_url)
    except ArgumentError as error:
        raise BadDatabaseUrl(f"MEMORY_GRAPH_DATABASE_URL is not a database URL; {_ADVICE}") from error
    if url.get_backend_name() != "sqlite" or not url.database:
        raise BadDatabaseUrl(f"MEMORY_GRAPH_DATABASE_URL {url} is not a SQLite file; {_ADVICE}")
    return SqliteStore(Path(url.database))
