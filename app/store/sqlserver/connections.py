"""Pools of connections to one database, set up for what they are used for."""

import struct
from collections.abc import Callable
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import URL

from app.store.sqlserver.driver import find_driver, import_pyodbc

_ACCESS_TOKEN = 1256
"""SQL_COPT_SS_ACCESS_TOKEN: an Entra token in place of user and password."""

_POOL_SECONDS = 30
_LOGIN_SECONDS = 15
_SESSION = "SET NOCOUNT ON; SET XACT_ABORT ON; SET TRANSACTION ISOLATION LEVEL {level};"

Token = Callable[[], str]


class Connections:
    """Readers see one state of committed rows (SNAPSHOT). T-SQL begins and commits, so connections are in autocommit
    mode: else the driver would begin a transaction long before its first statement, and stamp rows with that time."""

    def __init__(self, url: URL, *, driver: str | None = None, token: Token | None = None) -> None:
        import_pyodbc()
        self.url = _completed(url, driver)
        self._token = token
        self.reader = self._engine(self.url, "SNAPSHOT", pool_size=10, max_overflow=90)
        self.writer = self._engine(self.url, "READ COMMITTED", pool_size=10, max_overflow=90)

    def engine_for(self, database: str | None, *, autocommit: bool) -> Engine:
        """A small pool of its own for one task, to be disposed of when it is done."""
        return self._engine(
            self.url.set(database=database), "READ COMMITTED", autocommit=autocommit, pool_size=1, max_overflow=0
        )

    def dispose(self) -> None:
        self.reader.dispose()
        self.writer.dispose()

    def _engine(self, url: URL, level: str, *, autocommit: bool = True, **pool: int) -> Engine:
        engine = create_engine(
            url,
            pool_timeout=_POOL_SECONDS,
            pool_pre_ping=True,
            pool_reset_on_return=None if autocommit else "rollback",
            connect_args={"autocommit": autocommit, "timeout": _LOGIN_SECONDS},
            **pool,
        )

        @event.listens_for(engine, "connect")
        def prepare(connection: Any, _record: object) -> None:
            cursor = connection.cursor()
            cursor.execute(_SESSION.format(level=level))
            cursor.close()

        if self._token:
            event.listen(engine, "do_connect", self._log_in)
        return engine

    def _log_in(self, _dialect: object, _record: object, arguments: list[str], options: dict[str, Any]) -> None:
        """A fresh token for every connection: tokens expire, connections do not."""
        assert self._token is not None  # noqa: S101 - listened for only then
        arguments[0] = arguments[0].replace(";Trusted_Connection=Yes", "")
        options["attrs_before"] = {_ACCESS_TOKEN: packed(self._token())}


def packed(token: str) -> bytes:
    """A token as the driver takes it: its length in bytes, then UTF-16."""
    text = token.encode("utf-16-le")
    return struct.pack(f"<I{len(text)}s", len(text), text)


def _completed(url: URL, driver: str | None) -> URL:
    """The URL with a driver, and encrypted unless it says otherwise."""
    query = {key.lower(): value for key, value in url.query.items()}
    if "odbc_connect" in query:
        return url
    query.setdefault("driver", driver or find_driver())
    query.setdefault("encrypt", "yes")
    return url.set(drivername="mssql+pyodbc", query=query)
