"""Makes the database and brings it to the newest schema: an operator's task, never done at start."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from app.domain.errors import Busy
from app.resources import SQL
from app.store.queries import load_queries
from app.store.sqlserver.connections import Connections
from app.store.sqlserver.errors import number_of

_CANNOT_OPEN = frozenset({911, 4060})
"""The numbers by which a server says that it has no such database."""
_OPTIONS = ("allow_snapshot_isolation", "read_committed_snapshot")
_TABLE_OPTIONS = ("clean_up_history", "keep_nodes", "keep_edges", "keep_assertions", "lock_rows_only")

Report = Callable[[str], None]


class Database:
    """The database that the connections lead to."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._operations = load_queries(SQL / "sqlserver" / "operations")

    def create_where_missing(self, report: Report | None) -> None:
        name = self._connections.url.database or "master"
        try:
            with self._connected():
                return
        except DBAPIError as error:
            if number_of(str(error.orig))[0] not in _CANNOT_OPEN:
                raise
        with self._connected("master") as connection:
            connection.exec_driver_sql(f"CREATE DATABASE [{name.replace(']', ']]')}]")
        if report:
            report(f"database {name} created")

    @contextmanager
    def migrating(self) -> Iterator[Connection]:
        """A connection in a transaction. Replicas that migrate at once take turns; the later ones find it done."""
        with self._connected() as holder:
            if holder.exec_driver_sql(self._operations["migration_turn"].sql).scalar_one() < 0:
                raise Busy("Another process has been migrating the database for ten minutes; look at that one first.")
            for name in _OPTIONS:
                holder.exec_driver_sql(self._operations[name].sql)
            with self._connected(autocommit=False) as connection, connection.begin():
                connection.exec_driver_sql("SET NOCOUNT OFF")  # Alembic counts the rows of its version
                yield connection

    def set_options(self, retention_days: int | None) -> None:
        """Of the tables: among them that the server cleans up history that is older; None keeps it for ever."""
        period = "INFINITE" if retention_days is None else f"{retention_days} DAYS"
        with self._connected() as connection:
            for name in _TABLE_OPTIONS:
                connection.exec_driver_sql(self._operations[name].sql.replace("INFINITE", period))

    @contextmanager
    def _connected(self, database: str | None = None, *, autocommit: bool = True) -> Iterator[Connection]:
        """A connection that is closed on leaving, which ends its session and the locks of it."""
        engine = self._connections.engine_for(database or self._connections.url.database, autocommit=autocommit)
        try:
            with engine.connect() as connection:
                yield connection
        finally:
            engine.dispose()
