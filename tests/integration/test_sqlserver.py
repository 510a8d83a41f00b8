"""What only a SQL Server can show: its clock and locks, its security policy, retention, migrations."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from app.domain.errors import BadLine, Gone, Retryable
from app.domain.models import Principal
from app.resources import SQL
from app.services import snapshot
from app.services.retrying import retrying
from app.settings import Settings
from app.store.scripts import split_batches
from app.store.sqlserver.engine import SqlServerStore
from app.store.sqlserver.errors import number_of, translated
from app.wiring import open_store
from tests.contract.builder import GraphBuilder, edge, fresh_principal, node
from tests.contract.engines import SqlServerDatabase, SqlServerEngine

COLUMNS = """
SELECT t.name, c.name, c.column_id, TYPE_NAME(c.user_type_id), c.max_length, c.is_nullable
FROM sys.tables AS t
JOIN sys.columns AS c ON c.object_id = t.object_id
WHERE t.name <> 'alembic_version'
"""
INDEXES = "SELECT OBJECT_NAME(i.object_id), i.name, i.is_unique FROM sys.indexes AS i WHERE i.name LIKE '[CIPU][KXX]%'"


def has(connection: Connection, sql: str) -> bool:
    """Whether the server knows what is asked for."""
    try:
        return bool(connection.exec_driver_sql(sql).scalar())
    except DBAPIError:
        return False


def test_a_transaction_begun_before_the_last_commit_cannot_change_its_rows(
    database: SqlServerDatabase, graph: GraphBuilder
) -> None:
    """Error 13535: why every writer takes its fleet's lock before it begins."""
    graph.load(node("a"))
    update = "UPDATE dbo.MemoryNodes SET Name = N'late' WHERE TenantId = ? AND FleetId = ?"
    scope = (str(graph.who.tenant_id), str(graph.who.fleet_id))
    with database.connected() as early:
        early.exec_driver_sql("BEGIN TRANSACTION")
        early.exec_driver_sql("SELECT COUNT(*) FROM dbo.MemoryGraphs").scalar()
        graph.load(node("a", name="A"))
        with pytest.raises(DBAPIError) as refused:
            early.exec_driver_sql(update, scope)
        early.exec_driver_sql("IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION")
    assert number_of(str(refused.value.orig))[0] == 13535
    with pytest.raises(Retryable), translated():
        raise refused.value
    assert graph.node("a").name == "A"


def test_a_clock_behind_a_promised_time_is_waited_for_and_then_refused(
    database: SqlServerDatabase, graph: GraphBuilder, store: SqlServerStore
) -> None:
    graph.load(node("a"))
    promise = "UPDATE dbo.FleetPromises SET AsOf = DATEADD(MILLISECOND, ?, SYSUTCDATETIME()) WHERE TenantId = ?"
    with database.connected() as connection:
        connection.exec_driver_sql(promise, (500, str(graph.who.tenant_id)))
        with store.write(graph.who) as uow:  # waits half a second
            stamp = uow.stamp
        connection.exec_driver_sql(promise, (3_600_000, str(graph.who.tenant_id)))
        with pytest.raises(Retryable, match="clock"), store.write(graph.who):
            pass
        connection.exec_driver_sql(promise, (0, str(graph.who.tenant_id)))
    assert graph.load(node("b")) > stamp


def test_writers_of_one_fleet_take_turns_and_their_stamps_rise(graph: GraphBuilder) -> None:
    with ThreadPoolExecutor(4) as threads:
        stamps = list(threads.map(lambda i: graph.load(node(f"n{i}")), range(12)))
    assert len(set(stamps)) == 12
    assert len(graph.nodes()) == 12
    for stamp in stamps:
        known = graph.read(lambda view, at=stamp: list(view.nodes.as_of(graph.graph_id, at)))
        assert len(known) == sum(other <= stamp for other in stamps)


def test_a_unit_leaves_its_connection_as_it_found_it(store: SqlServerStore, graph: GraphBuilder) -> None:
    with pytest.raises(ZeroDivisionError), store.write(graph.who):
        raise ZeroDivisionError
    with store._connections.writer.connect() as connection:
        state = "SELECT @@TRANCOUNT, CAST(SESSION_CONTEXT(N'TenantId') AS NVARCHAR(36))"
        assert tuple(connection.exec_driver_sql(state).one()) == (0, None)
    graph.load(node("a"))  # and the lock is free


def test_the_victim_of_a_deadlock_is_tried_again(store: SqlServerStore, graph: GraphBuilder) -> None:
    other = GraphBuilder(store, graph.who)
    met = Barrier(2, timeout=30)
    tries: list[str] = []

    def rename(first: GraphBuilder, second: GraphBuilder, name: str) -> None:
        def transaction() -> None:
            tries.append(name)
            with translated(), store._session(store._connections.writer, graph.who) as session:
                session.batch("BEGIN TRANSACTION")
                for number, one in enumerate((first, second)):
                    sql = (
                        "UPDATE dbo.MemoryGraphs SET Name = Name + ? WHERE TenantId = ? AND FleetId = ? AND GraphId = ?"
                    )
                    values = (name, str(graph.who.tenant_id), str(graph.who.fleet_id), str(one.graph_id))
                    session.connection.exec_driver_sql(sql, values)
                    if number == 0 and len(tries) < 3:
                        met.wait()
                session.batch("COMMIT TRANSACTION")

        retrying(transaction)

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda order: rename(*order), ((graph, other, "x"), (other, graph, "y"))))
    assert len(tries) == 3
    names = graph.read(lambda view: [row.name for row in view.graphs.page(None, 10)])
    assert sorted("".join(sorted(name.removeprefix("graph"))) for name in names) == ["xy", "xy"]


def test_the_security_policy_shows_a_session_its_own_fleet_and_no_history_of_others(
    store: SqlServerStore, database: SqlServerDatabase, graph: GraphBuilder
) -> None:
    with database.connected() as connection:
        if not has(connection, "SELECT COUNT(*) FROM sys.security_policies"):
            pytest.skip("needs the capability row-level security")
    graph.load(node("a"))
    graph.load(node("a", name="A"))
    counts = {}
    for session_of in (graph.who, fresh_principal()):
        with store._session(store._connections.reader, session_of) as session:
            for table in ("MemoryGraphs", "MemoryNodes", "MemoryNodesHistory"):
                found = session.connection.exec_driver_sql(f"SELECT COUNT(*) FROM dbo.{table}").scalar()
                counts[table, session_of == graph.who] = found
    assert {key: count for key, count in counts.items() if key[1]} == {
        ("MemoryGraphs", True): 1,
        ("MemoryNodes", True): 1,
        ("MemoryNodesHistory", True): 1,
    }
    assert {count for key, count in counts.items() if not key[1]} == {0}
    insert = (
        "INSERT INTO dbo.SourceRules (SourceRuleId, TenantId, FleetId, Name, Version, EffectiveAt, NameExact,"
        " VersionExact, SourceRuleIdText) SELECT i.Id, i.Id, i.Id, N'x', N'1', SYSUTCDATETIME(), N'x' + NCHAR(1),"
        " N'1' + NCHAR(1), LOWER(CONVERT(CHAR(36), i.Id)) FROM (SELECT NEWID() AS Id) AS i"
    )
    with store._session(store._connections.writer, graph.who) as session, pytest.raises(DBAPIError, match="33504"):
        session.connection.exec_driver_sql(insert)


def test_history_is_kept_as_long_as_the_setting_says(server: SqlServerEngine, database: SqlServerDatabase) -> None:
    settings = Settings(database_url=database.url.render_as_string(hide_password=False), history_retention_days=30)
    store = open_store(settings)
    store.migrate()
    graph = GraphBuilder(store)
    stamp = graph.load(node("a"))
    with pytest.raises(Gone, match="older"):
        snapshot.open_snapshot(store, graph.who, graph.graph_id, stamp.replace(year=stamp.year - 1)).__enter__()
    store.dispose()
    period = "SELECT t.history_retention_period FROM sys.tables AS t WHERE t.name = 'MemoryNodes'"
    with database.connected() as connection:
        if not has(connection, period):
            pytest.skip("needs the capability history retention")
        assert connection.exec_driver_sql(period).scalar() == 30
        database.store.migrate()
        assert connection.exec_driver_sql(period).scalar() == -1


def test_replicas_that_migrate_at_once_do_it_once(server: SqlServerEngine) -> None:
    database = server.new_database()
    told: list[str] = []
    stores = [database._open() for _ in range(3)]
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(lambda store: store.migrate(told.append), stores))
    for store in stores:
        store.check()
        store.dispose()
    assert told == []


def test_the_migrations_make_the_schema_of_the_scripts(server: SqlServerEngine, database: SqlServerDatabase) -> None:
    scripted = server.new_database(migrated=False)
    with scripted.connected() as connection:
        for folder in ("schema", "procedures"):
            for script in sorted((SQL / "sqlserver" / folder).glob("*.sql")):
                for batch in split_batches(script.read_text(encoding="utf-8")):
                    connection.exec_driver_sql(batch)
        made = _listed(connection)
    with database.connected() as connection:
        assert _listed(connection) == made
    assert len(made["columns"]) > 200


def test_a_temporal_table_can_be_changed_later_with_its_history(server: SqlServerEngine) -> None:
    """The worked example: tests/integration/add_language.sql."""
    database = server.new_database()
    graph = GraphBuilder(database.store, Principal(*fresh_principal()))
    before = graph.load(node("a"))
    graph.load(node("a", name="A"))
    names = {stamp: _names(graph, stamp) for stamp in (before, graph.node("a").valid_from)}
    script = Path(__file__).with_name("add_language.sql").read_text(encoding="utf-8")
    with database.store.migrating() as connection:
        for batch in split_batches(script):
            connection.exec_driver_sql(batch)

    assert {stamp: _names(graph, stamp) for stamp in names} == names
    graph.load(node("a", name="AA"))
    language = "SELECT n.Name, n.Language FROM dbo.MemoryNodes FOR SYSTEM_TIME ALL AS n WHERE n.TenantId = ?"
    with database.connected() as connection:
        found = connection.exec_driver_sql(language, (str(graph.who.tenant_id),)).fetchall()
    assert sorted(map(tuple, found)) == [("A", "en"), ("AA", "en"), ("a", "en")]


def _names(graph: GraphBuilder, as_of: Any) -> list[str]:
    with snapshot.open_snapshot(graph.store, graph.who, graph.graph_id, as_of) as state:
        return [row.name for row in state.nodes]


def _listed(connection: Connection) -> dict[str, list[tuple[Any, ...]]]:
    return {
        "columns": sorted(map(tuple, connection.exec_driver_sql(COLUMNS))),
        "indexes": sorted(map(tuple, connection.exec_driver_sql(INDEXES)), key=repr),
    }


def test_a_failed_import_leaves_nothing_staged(database: SqlServerDatabase, graph: GraphBuilder) -> None:
    with pytest.raises(BadLine):
        graph.load(node("a"), edge("a", "nobody"))
    with database.connected() as connection:
        for table in ("StagedNodes", "StagedEdges"):
            assert connection.exec_driver_sql(f"SELECT COUNT(*) FROM dbo.{table}").scalar() == 0
