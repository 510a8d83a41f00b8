"""A database on SQL Server, for what only that engine can show."""

from collections.abc import Iterator

import pytest

from app.domain.models import Principal
from app.store.sqlserver.engine import SqlServerStore
from tests.contract.builder import GraphBuilder, fresh_principal
from tests.contract.engines import NO_SQLSERVER, SqlServerDatabase, SqlServerEngine, sqlserver


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest) -> Iterator[SqlServerEngine]:
    with sqlserver() as engine:
        if engine is None:
            if request.config.getoption("--require-sqlserver"):
                pytest.fail(NO_SQLSERVER, pytrace=False)
            pytest.skip(NO_SQLSERVER)
        yield engine


@pytest.fixture(scope="session")
def database(server: SqlServerEngine) -> SqlServerDatabase:
    return server.new_database()


@pytest.fixture
def store(database: SqlServerDatabase) -> SqlServerStore:
    assert isinstance(database.store, SqlServerStore)
    return database.store


@pytest.fixture
def who() -> Principal:
    return fresh_principal()


@pytest.fixture
def graph(store: SqlServerStore, who: Principal) -> GraphBuilder:
    return GraphBuilder(store, who)
