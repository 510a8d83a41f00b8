"""One suite, every engine: the engines supply the fixtures, the tests know none of them.

Tests share one database and isolate by fresh tenant and fleet ids and real commits. Only a test about clocks and
restarts asks for a database of its own.
"""

from collections.abc import Callable, Iterator

import pytest

from app.domain.models import Principal
from app.store.ports import Store
from tests.contract.builder import GraphBuilder, fresh_principal
from tests.contract.engines import Clock, Database, Engine, SqliteEngine, required_sqlserver

NewDatabase = Callable[..., Database]


@pytest.fixture(scope="session", params=["sqlite", "sqlserver"])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    if request.param == "sqlite":
        yield SqliteEngine(lambda: tmp_path_factory.mktemp("database"))
        return
    with required_sqlserver(request.config) as server:
        yield server


@pytest.fixture(scope="session")
def database(engine: Engine) -> Iterator[Database]:
    """The one that tests share."""
    database = engine.new_database()
    yield database
    database.store.dispose()


@pytest.fixture(scope="session")
def store(database: Database) -> Store:
    return database.store


@pytest.fixture
def new_database(engine: Engine) -> Iterator[NewDatabase]:
    """Makes databases of the test's own, with a clock of its own."""
    made: list[Database] = []

    def make(clock: Clock | None = None) -> Database:
        made.append(engine.new_database(clock))
        return made[-1]

    yield make
    for database in made:
        database.store.dispose()


@pytest.fixture
def who() -> Principal:
    """A fleet that nobody has used before."""
    return fresh_principal()


@pytest.fixture
def graph(store: Store, who: Principal) -> GraphBuilder:
    """An empty graph of that fleet."""
    return GraphBuilder(store, who)


@pytest.fixture
def stranger(store: Store, graph: GraphBuilder) -> GraphBuilder:
    """A graph of another fleet of the same tenant, with the same graph id: the same keys have the same node ids in it,
    and nothing that ``graph`` is asked may answer with any of its rows."""
    return GraphBuilder(store, fresh_principal()._replace(tenant_id=graph.who.tenant_id), graph.graph_id)
