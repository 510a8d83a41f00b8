"""A database on SQL Server, for what only that engine can show."""

from collections.abc import Iterator

import pytest

from app.domain.models import Principal
from app.store.sqlserver.engine import SqlServerStore
from tests.contract.builder import GraphBuilder, fresh_principal
from tests.contract.engines import SqlServerDatabase, SqlServerEngine, required_sqlserver


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest) -> Iterator[SqlServerEngine]:
    with required_sqlserver(request.config) as engine:
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
