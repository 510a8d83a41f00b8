"""Where the driver is found, and with what a connection is made. Needs no server."""

import struct
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy.engine import make_url

from app.domain.errors import Busy
from app.settings import Settings
from app.store.sqlserver import connections, driver, entra
from app.store.sqlserver.codec import SqlServerCodec, encode
from app.store.sqlserver.connections import Connections, packed
from app.store.sqlserver.driver import find_driver
from app.wiring import BadDatabaseUrl, open_store


@pytest.fixture(autouse=True)
def no_odbc_manager_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLAlchemy asks for pyodbc when an engine is made; what is asked here is decided before that."""
    monkeypatch.setattr(connections, "import_pyodbc", lambda: None)
    monkeypatch.setattr(connections, "create_engine", lambda *_, **options: FakeEngine(options))
    monkeypatch.setattr(connections.event, "listens_for", lambda *_: lambda function: function)
    monkeypatch.setattr(connections.event, "listen", lambda *_: None)


class FakeEngine:
    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options


def url_for(text: str, **options: Any) -> dict[str, Any]:
    return dict(Connections(make_url(text), **options).url.query)


def test_the_driver_of_the_wheel_is_found_for_this_system() -> None:
    assert Path(find_driver()).name.startswith("libmsodbcsql-18")
    assert Path(find_driver()).is_file()


def test_a_missing_wheel_or_driver_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(driver, "_architecture", lambda: "riscv64")
        with pytest.raises(Busy, match="MEMORY_GRAPH_SQLSERVER_DRIVER"):
            find_driver()
    monkeypatch.setitem(sys.modules, "mssql_python_odbc", None)
    with pytest.raises(Busy, match=r"memory-graph\[sqlserver\]"):
        find_driver()


def test_encryption_is_on_and_the_driver_is_given_unless_the_url_says_otherwise() -> None:
    assert url_for("mssql+pyodbc://sa@host/db", driver="mine") == {"driver": "mine", "encrypt": "yes"}
    assert url_for("mssql+pyodbc://sa@host/db?Encrypt=no&Driver=ODBC") == {"driver": "ODBC", "encrypt": "no"}
    whole = "mssql+pyodbc:///?odbc_connect=Driver%3Dx"
    assert url_for(whole) == {"odbc_connect": "Driver=x"}


def test_connections_leave_transactions_to_tsql() -> None:
    made = Connections(make_url("mssql+pyodbc://sa@host/db"), driver="mine")
    assert made.writer.options["connect_args"]["autocommit"] is True  # type: ignore[attr-defined]
    assert made.engine_for("master", autocommit=False).options["connect_args"]["autocommit"] is False  # type: ignore[attr-defined]


def test_an_entra_token_takes_the_place_of_the_login() -> None:
    tokens = iter(["first", "second"])
    made = Connections(make_url("mssql+pyodbc://host/db"), driver="mine", token=lambda: next(tokens))
    for token in ("first", "second"):
        arguments, options = ["Driver={mine};Server=host;Trusted_Connection=Yes"], dict[str, Any]()
        made._log_in(None, None, arguments, options)
        assert arguments == ["Driver={mine};Server=host"]
        assert options == {"attrs_before": {1256: packed(token)}}


def test_a_token_is_packed_as_the_driver_takes_it() -> None:
    text = packed("ab")
    assert struct.unpack("<I", text[:4]) == (4,)
    assert text[4:] == b"a\0b\0"


def test_entra_without_its_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "azure.identity", None)
    with pytest.raises(Busy, match=r"memory-graph\[azure\]"):
        entra.azure_token()


def test_the_password_comes_from_its_own_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr("app.store.sqlserver.connections.Connections.__init__", lambda _, url, **__: seen.append(url))
    monkeypatch.setenv("MEMORY_GRAPH_DATABASE_PASSWORD", "p@ss;{}:/")
    for url in ("mssql+pyodbc://sa@host/db", "mssql+pyodbc://sa:its-own@host/db"):
        open_store(Settings.load(database_url=url))
    assert [url.password for url in seen] == ["p@ss;{}:/", "its-own"]
    assert "p@ss" not in repr(Settings.load())


@pytest.mark.parametrize("url", ["mssql+pyodbc://sa:secret@host", "postgresql://sa:secret@host/db", "sqlite://"])
def test_a_url_that_names_no_database_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(BadDatabaseUrl) as refused:
        open_store(Settings.load(database_url=url))
    assert "secret" not in str(refused.value)


def test_an_instant_goes_out_to_the_microsecond_in_utc_and_comes_back() -> None:
    east = datetime(2024, 3, 1, 1, 0, 0, 5, timezone(timedelta(hours=1)))
    assert encode(east) == "2024-03-01T00:00:00.000005"
    assert SqlServerCodec.instant(datetime(2024, 3, 1, 0, 0, 0, 5)) == east  # noqa: DTZ001 - as the driver gives it
    assert SqlServerCodec.period_end(datetime.max) is None  # noqa: DTZ901
    assert SqlServerCodec.period_end(datetime(2024, 3, 1)) == datetime(2024, 3, 1, tzinfo=UTC)  # noqa: DTZ001


def test_ids_come_back_whatever_form_the_driver_gives_them() -> None:
    id_ = UUID("6f1f3c52-0b5e-5f0e-9d3c-2f6b8f0a4c11")
    assert encode(id_) == str(id_)
    assert SqlServerCodec.uuid(str(id_).upper()) == SqlServerCodec.uuid(id_) == id_
    assert SqlServerCodec.uuid(None) is None
