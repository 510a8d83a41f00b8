"""``dbo.InvalidateMemoryGraph`` as a T-SQL caller finds it: the documented call, and what it answers."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import orjson
import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from app.domain.models import Impact, InvalidationRun
from app.services import invalidate
from app.store.session import _columns_of
from app.store.sqlserver.codec import encode
from tests.contract.builder import DAY, GraphBuilder, edge, node
from tests.contract.engines import SqlServerDatabase

CHAIN = (node("a"), node("b"), node("c"), edge("a", "b"), edge("b", "c"))
DOCUMENTED = """
DECLARE @TenantId UNIQUEIDENTIFIER = ?, @FleetId UNIQUEIDENTIFIER = ?, @RootNodeId UNIQUEIDENTIFIER = ?,
        @Reason NVARCHAR(200) = ?, @EffectiveTime DATETIMEOFFSET = ?, @RunId UNIQUEIDENTIFIER;
EXEC dbo.InvalidateMemoryGraph @TenantId, @FleetId, @RootNodeId, @Reason, @EffectiveTime, @RunId OUTPUT;
"""


@pytest.fixture
def connection(database: SqlServerDatabase) -> Iterator[Connection]:
    """A caller of its own, in autocommit mode."""
    with database.connected() as connection:
        yield connection


def call(connection: Connection, graph: GraphBuilder, root: str | None, **options: Any) -> tuple[Any, list[Any]]:
    """The run and the impacts, as the two result sets give them."""
    binds = {
        "TenantId": graph.who.tenant_id,
        "FleetId": graph.who.fleet_id,
        "RootNodeId": graph.id(root) if root else None,
        "Reason": "It was wrong.",
    }
    time = encode(options.pop("EffectiveTime", None))
    declared = f"DECLARE @Time DATETIMEOFFSET{'' if time is None else ' = ?'};"
    given = {name: encode(value) for name, value in (binds | options).items()}
    arguments = ", ".join(f"@{name} = {'NULL' if value is None else '?'}" for name, value in given.items())
    values = tuple(value for value in (time, *given.values()) if value is not None)
    return answered(
        connection, f"{declared} EXEC dbo.InvalidateMemoryGraph {arguments}, @EffectiveTime = @Time", values
    )


def answered(connection: Connection, sql: str, values: tuple[object, ...]) -> tuple[Any, list[Any]]:
    cursor = connection.exec_driver_sql(sql, values).cursor
    assert cursor is not None
    names = [column[0] for column in cursor.description]
    run = dict(zip(names, cursor.fetchone(), strict=True))
    assert cursor.nextset()
    names = [column[0] for column in cursor.description]
    impacts = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    assert not cursor.nextset()
    cursor.close()
    return run, impacts


def id_of(value: object) -> UUID:
    return UUID(str(value))


def test_the_documented_call_works_as_it_is_written_and_again(connection: Connection, graph: GraphBuilder) -> None:
    graph.load(*CHAIN)
    now = datetime.fromisoformat("2024-03-01T01:00:00+01:00")
    for root, affected in (("b", 2), ("a", 3)):
        values = (
            str(graph.who.tenant_id),
            str(graph.who.fleet_id),
            str(graph.id(root)),
            "It was wrong.",
            now.isoformat(),
        )
        run, impacts = answered(connection, DOCUMENTED, values)
        assert run["RunStatus"] == "Completed"
        assert run["EffectiveTime"] == DAY.replace(tzinfo=None)
        assert len(impacts) == affected
    assert graph.statuses() == {"a": "Invalid", "b": "Invalid", "c": "Invalid"}


def test_it_answers_with_the_columns_of_the_models(connection: Connection, graph: GraphBuilder) -> None:
    graph.load(*CHAIN)
    run, impacts = call(connection, graph, "a")
    assert list(run) == list(_columns_of(InvalidationRun))
    assert [list(impact) for impact in impacts] == [list(_columns_of(Impact))] * 3

    stored = graph.read(lambda view: view.invalidations.impacts(id_of(run["RunId"]), None, 0, None, 10))
    assert [(i.key, i.depth, i.outcome) for i in stored] == [(i["Key"], i["Depth"], i["Outcome"]) for i in impacts]
    assert [i["Key"] for i in impacts] == ["a", "b", "c"]


def test_it_records_what_the_service_records(
    connection: Connection, graph: GraphBuilder, database: SqlServerDatabase
) -> None:
    graph.load(*CHAIN)
    run, _ = call(connection, graph, "a")
    events = [event for event in database.outbox(graph.who) if event[0] == "InvalidationCompleted"]
    assert events == [("InvalidationCompleted", id_of(run["RunId"]))]
    assert graph.node("a").invalidation == "Direct"
    assert graph.node("c").invalidation == "Derived"


def test_a_dry_run_answers_the_same_and_changes_nothing(
    connection: Connection, graph: GraphBuilder, database: SqlServerDatabase
) -> None:
    graph.load(*CHAIN)
    before = database.rows(graph.who)
    _, planned = call(connection, graph, "a", DryRun=True)
    assert database.rows(graph.who) == before
    _, done = call(connection, graph, "a")
    assert planned == done


def test_service_and_procedure_know_each_others_runs(connection: Connection, graph: GraphBuilder) -> None:
    graph.load(*CHAIN)
    first = graph.invalidate("a", "b", effective_time=DAY).run.run_id
    both = orjson.dumps([graph.id("a"), graph.id("b")]).decode()
    run, _ = call(connection, graph, None, RootNodeIds=both, EffectiveTime=DAY)
    assert id_of(run["RunId"]) == first

    later, _ = call(connection, graph, "c", EffectiveTime=DAY + timedelta(microseconds=1))
    assert graph.invalidate("c", effective_time=DAY + timedelta(microseconds=1)).run.run_id == id_of(later["RunId"])


def test_a_key_returns_the_first_run_and_refuses_another_request(connection: Connection, graph: GraphBuilder) -> None:
    graph.load(*CHAIN)
    first, _ = call(connection, graph, "a", IdempotencyKey="once")
    again, _ = call(connection, graph, "a", IdempotencyKey="once")
    other, _ = call(connection, graph, "a", IdempotencyKey="twice")
    assert first["RunId"] == again["RunId"] != other["RunId"]
    with pytest.raises(DBAPIError, match="51422"):
        call(connection, graph, "b", IdempotencyKey="once")


def test_a_pending_run_that_it_covers_is_superseded_and_hands_on_its_time(
    connection: Connection, graph: GraphBuilder
) -> None:
    graph.load(*CHAIN)
    pending = graph.write(lambda uow: invalidate.accept(uow, graph.request("a", effective_time=DAY))).run.run_id
    run, _ = call(connection, graph, "a", EffectiveTime=DAY + timedelta(days=1))
    superseded = graph.read(lambda view: view.invalidations.find(pending))
    assert superseded is not None
    assert (superseded.run_status, superseded.superseded_by_run_id) == ("Superseded", id_of(run["RunId"]))
    assert graph.node("a").invalid_since == DAY


@pytest.mark.parametrize(
    ("root", "options", "number"),
    [
        ("nobody", {}, "51404"),
        (None, {}, "51422"),
        ("a", {"Status": "Valid"}, "51422"),
        ("a", {"Policy": "lenient"}, "51422"),
        ("a", {"Propagation": "sideways"}, "51422"),
        ("a", {"Reason": ""}, "51422"),
        ("a", {"RootNodeIds": "not json"}, "51422"),
        ("a", {"EffectiveTime": datetime.fromisoformat("2999-01-01T00:00:00+00:00")}, "51422"),
    ],
)
def test_what_it_refuses_leaves_everything_as_it_was(
    graph: GraphBuilder, database: SqlServerDatabase, root: str | None, options: dict[str, Any], number: str
) -> None:
    graph.load(*CHAIN)
    before = database.rows(graph.who)
    with database.connected() as connection, pytest.raises(DBAPIError, match=number):
        call(connection, graph, root, **options)
    assert database.rows(graph.who) == before
    graph.load(node("d"))  # and the fleet's lock is free


def test_another_fleet_is_not_reached(connection: Connection, graph: GraphBuilder) -> None:
    graph.load(*CHAIN)
    stranger = GraphBuilder(graph.store)
    stranger.load(*CHAIN)
    with pytest.raises(DBAPIError, match="51404"):
        call(connection, stranger, None, RootNodeIds=orjson.dumps([graph.id("a")]).decode())
    assert graph.statuses() == stranger.statuses() == {}


def test_in_a_callers_transaction_commit_and_rollback_are_the_callers(
    connection: Connection, graph: GraphBuilder
) -> None:
    graph.load(*CHAIN)
    connection.exec_driver_sql("BEGIN TRANSACTION")
    call(connection, graph, "a")
    connection.exec_driver_sql("ROLLBACK TRANSACTION")
    assert graph.statuses() == {}

    connection.exec_driver_sql("BEGIN TRANSACTION")
    call(connection, graph, "a", DryRun=True)
    call(connection, graph, "b")
    connection.exec_driver_sql("COMMIT TRANSACTION")
    assert graph.statuses() == {"b": "Invalid", "c": "Invalid"}


def test_an_unknown_recorded_run_is_refused(connection: Connection, graph: GraphBuilder) -> None:
    with pytest.raises(DBAPIError, match="51422"):
        call(connection, graph, None, RunId=uuid4())
