"""``sql/*/schema`` is the truth; the migrations make the same schema."""

import re
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from io import StringIO
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config

from app.domain.errors import Busy
from app.resources import MIGRATIONS, ROOT, SQL
from app.store.scripts import split_batches
from app.store.sqlite.engine import SqliteStore

Schema = list[tuple[str, str, str, str]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory-graph.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(path)
    yield store
    store.dispose()


def schema_of(connection: sqlite3.Connection) -> Schema:
    """Every object there is with its text, white space apart."""
    found = connection.execute("SELECT type, name, tbl_name, COALESCE(sql, '') FROM sqlite_master ORDER BY type, name")
    return [
        (kind, name, table, " ".join(sql.split()))
        for kind, name, table, sql in found
        if not {"alembic_version", "sqlite_sequence"} & {name, table}
    ]


def test_the_migrations_make_the_schema_of_the_scripts(store: SqliteStore, path: Path) -> None:
    store.migrate()
    with closing(sqlite3.connect(":memory:")) as scripted, closing(sqlite3.connect(path)) as migrated:
        for script in sorted((SQL / "sqlite" / "schema").glob("*.sql")):
            scripted.executescript(script.read_text(encoding="utf-8"))

        wanted = schema_of(scripted)
        assert schema_of(migrated) == wanted
        assert len(wanted) > 50
        clock = "SELECT * FROM SystemClock"
        assert migrated.execute(clock).fetchall() == scripted.execute(clock).fetchall() == [(1, 0, None)]
        assert migrated.execute("PRAGMA foreign_key_check").fetchall() == []
        assert migrated.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_the_database_is_refused_until_it_is_migrated(store: SqliteStore, path: Path) -> None:
    with pytest.raises(Busy):
        store.check()  # no file yet, perhaps no folder
    path.touch()
    with pytest.raises(Busy, match="migrate"):
        store.check()
    store.migrate()
    store.check()


def test_migrating_again_does_nothing(store: SqliteStore, path: Path) -> None:
    told: list[str] = []
    store.migrate(told.append)
    assert len(told) == 1
    with closing(sqlite3.connect(path)) as connection:
        before = schema_of(connection)

        store.migrate(told.append)

        assert len(told) == 1
        assert schema_of(connection) == before


def test_several_processes_that_migrate_at_once_do_it_once(path: Path) -> None:
    stores = [SqliteStore(path) for _ in range(4)]
    told: list[str] = []
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda store: store.migrate(told.append), stores))
    for store in stores:
        store.check()
        store.dispose()
    assert len(told) == 1


def test_a_schema_that_this_version_does_not_know_is_refused(store: SqliteStore, path: Path) -> None:
    store.migrate()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")

    with pytest.raises(Busy, match="9999"):
        store.check()


def alembic(path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """As Alembic's own command line would run on that database."""
    monkeypatch.setenv("MEMORY_GRAPH_DATABASE_URL", f"sqlite:///{path}")
    return Config(ROOT / "alembic.ini")


def test_alembic_goes_up_and_down_by_itself(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = alembic(path, monkeypatch)
    command.upgrade(config, "head")
    with closing(sqlite3.connect(path)) as connection:
        made = schema_of(connection)
        assert len(made) > 50
        command.downgrade(config, "base")
        assert schema_of(connection) == []
        command.upgrade(config, "head")
        assert schema_of(connection) == made


# SQL Server, read from the scripts: there is no server to ask

Model = dict[str, set[str]]
"""By object: its columns and constraints, its predicates, or its text."""


def script(name: str) -> str:
    return (MIGRATIONS / "sqlserver" / f"{name}.sql").read_text(encoding="utf-8")


def parts_of(listed: str) -> list[str]:
    """What commas separate, those within parentheses aside, white space made even."""
    parts, depth = [""], 0
    for char in " ".join(listed.split()):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [re.sub(r"^ADD ", "", part.strip()) for part in parts]


def applied(model: Model, scripts: str) -> Model:
    """The objects there are once the batches have run."""
    model = {name: set(parts) for name, parts in model.items()}
    for batch in split_batches(scripts):
        text = " ".join(line for line in batch.splitlines() if not line.lstrip().startswith("--"))
        text = " ".join(text.split()).removesuffix(";")
        if match := re.fullmatch(r"CREATE TABLE (dbo\.\w+) \((.*)\)( WITH \(.*\))?", text):
            model[match[1]] = {*parts_of(match[2]), match[3] or ""}
        elif match := re.fullmatch(r"CREATE SECURITY POLICY (dbo\.\w+) (.*) WITH \(.*\)", text):
            model[match[1]] = set(parts_of(match[2]))
        elif match := re.fullmatch(r"ALTER (?:TABLE|SECURITY POLICY) (dbo\.\w+) ADD (.*)", text):
            model[match[1]] |= set(parts_of(match[2]))
        elif match := re.fullmatch(r"ALTER TABLE (dbo\.\w+) DROP (?:CONSTRAINT|COLUMN) (.*)", text):
            gone = tuple(parts_of(match[2]))
            model[match[1]] = {
                re.sub(rf" CONSTRAINT (?:{'|'.join(gone)}) DEFAULT \S+$", "", part)
                for part in model[match[1]]
                if not part.startswith(tuple(f"{kind}{name} " for kind in ("", "CONSTRAINT ") for name in gone))
            }
        elif match := re.fullmatch(r"ALTER SECURITY POLICY (dbo\.\w+) (DROP .*)", text):
            for part in parts_of(match[2]):
                dropped = re.sub(r"^DROP (\w+) PREDICATE", r"\1 PREDICATE dbo.InScope(TenantId, FleetId)", part)
                model[match[1]].remove(dropped)
        elif match := re.fullmatch(r"DROP TABLE (dbo\.\w+)", text):
            del model[match[1]]
            model = {name: parts for name, parts in model.items() if f" ON {match[1]} (" not in "".join(parts)}
        elif match := re.fullmatch(r"DROP INDEX (\w+) ON .*", text):
            del model[match[1]]
        elif match := re.match(r"CREATE (?:UNIQUE )?(?:INDEX|VIEW|PROCEDURE|FUNCTION) ([\w.]+)", text):
            model[match[1]] = {text}
        elif not text.startswith(("DELETE", "INSERT", "ALTER TABLE")) and text:
            raise AssertionError(f"what does this do? {text[:80]}")
    return model


def test_the_scripts_for_sql_server_make_its_schema_and_procedures() -> None:
    parts = [
        *sorted((SQL / "sqlserver" / "schema").glob("*.sql")),
        *sorted((SQL / "sqlserver" / "procedures").glob("*.sql")),
    ]
    wanted = applied({}, "".join(part.read_text(encoding="utf-8") for part in parts))
    first = applied({}, script("0001_initial"))
    made = applied(first, script("0002_revalidation"))
    assert len(wanted) > 50
    assert made.keys() == wanted.keys()
    for name, parts_made in made.items():
        assert parts_made == wanted[name], name
    assert applied(made, script("0002_revalidation_down")) == first


def test_the_script_down_drops_everything_that_the_script_up_creates() -> None:
    up, down = script("0001_initial"), script("0001_initial_down")
    kinds = r"(TABLE|VIEW|PROCEDURE|FUNCTION|SECURITY POLICY) (dbo\.\w+)"
    created = set(re.findall(f"CREATE {kinds}", up))
    histories = {("TABLE", name) for name in re.findall(r"HISTORY_TABLE = (dbo\.\w+)", up)}
    assert len(histories) == 3
    assert set(re.findall(f"DROP {kinds}", down)) == created | histories


def test_a_script_can_be_written_without_a_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMORY_GRAPH_DATABASE_URL", raising=False)
    written_to = StringIO()
    command.upgrade(Config(ROOT / "alembic.ini", output_buffer=written_to), "head", sql=True)
    written = [re.split(r" -> \d{4}\n\n", batch)[-1] for batch in split_batches(written_to.getvalue())]
    for name in ("0001_initial", "0002_revalidation"):
        assert [batch for batch in split_batches(script(name)) if batch not in written] == []
    assert written[-1].startswith("COMMIT")
