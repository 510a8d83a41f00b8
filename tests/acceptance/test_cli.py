"""The command line as people run it: one process a command, on one database file."""

import gzip
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any, NamedTuple

import httpx
import pytest

from app.cli import main
from app.demo import MEMORY

PROGRAM = Path(sys.executable).with_name("memory-graph")
ROOT = Path(__file__).parents[2]
OTHER_FLEET = "6f1f3c52-0b5e-4f0e-9d3c-2f6b8f0a4c11"


PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["app.cli", "app.cli.report", "app.main", "httpx", "pytest"])


def _run(args: Sequence[str], folder: Path, env: Mapping[str, str], streams: Sequence[Path]) -> None:
    """The program, in a process of its own."""
    for number, (path, flags) in enumerate(zip(streams, (os.O_RDONLY, *[os.O_WRONLY | os.O_CREAT] * 2), strict=True)):
        os.dup2(os.open(path, flags), number)
    sys.stdin = os.fdopen(0)
    sys.argv = ["memory-graph", *args]
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    main()


class Done(NamedTuple):
    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()


class Cli:
    """Runs the program in a folder of its own, without settings from outside."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("MEMORY_GRAPH_")}

    def __call__(self, *args: str, stdin: bytes = b"", **env: str) -> Done:
        """Run to its end in a process that has the program's modules loaded, which is most of the time it takes."""
        with TemporaryDirectory() as folder:
            streams = [Path(folder, name) for name in ("in", "out", "err")]
            streams[0].write_bytes(stdin)
            process = PROCESSES.Process(target=_run, args=(args, self.folder, self.env | env, streams))
            process.start()
            process.join(120)
            assert process.exitcode is not None
            return Done(process.exitcode, streams[1].read_bytes(), streams[2].read_text(encoding="utf-8"))

    def start(self, *args: str, **env: str) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [PROGRAM, *args], cwd=self.folder, env=self.env | env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def ok(self, *args: str, stdin: bytes = b"") -> str:
        done = self(*args, stdin=stdin)
        assert (done.code, done.err) == (0, ""), done
        return done.text

    def refused(self, *args: str, code: int = 1, stdin: bytes = b"", **env: str) -> str:
        """What stderr says; nothing is on stdout, and never a traceback."""
        done = self(*args, stdin=stdin, **env)
        assert (done.code, done.out) == (code, b""), done
        assert "Traceback" not in done.err
        return done.err


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


@pytest.fixture
def demo(cli: Cli) -> Cli:
    """A database with the bundled graph, named demo."""
    cli.ok("import", str(MEMORY), "--graph", "demo")
    return cli


@pytest.fixture
def service(demo: Cli) -> Iterator[str]:
    """The address of a service on the same database."""
    process = demo.start("serve", "--port", "0", "--log-level", "warning")
    try:
        yield _address(process)
    finally:
        process.terminate()
        process.communicate(timeout=30)


def _address(process: "subprocess.Popen[bytes]") -> str:
    assert process.stdout
    for line in process.stdout:
        if found := re.search(rb"API +(http://\S+)", line):
            return found[1].decode()
    raise AssertionError(process.communicate())


def _stamp(text: str) -> str:
    found = re.search(r"[Cc]ommitted at (\S+Z)", text)
    assert found
    return found[1]


def _statuses(snapshot: str) -> dict[str, str]:
    return {node["key"]: node["status"] for node in json.loads(snapshot)["nodes"]}


class TestExchange:
    def test_import_tells_counts_and_ids_and_repeating_it_changes_nothing(self, cli: Cli) -> None:
        first = cli.ok("import", str(MEMORY), "--graph", "demo")
        assert re.search(r"nodes +20 added +0 changed", first)
        assert re.search(r"edges +21 added +0 changed", first)
        second = cli.ok("import", str(MEMORY), "--graph", "demo")
        assert "nothing changed" in second
        ids = [re.search(r"Graph id: (\S+)", text) for text in (first, second)]
        assert ids[0] and ids[1] and ids[0][1] == ids[1][1]
        assert cli.ok("export", ids[0][1]) == cli.ok("export", "demo")

    def test_export_and_import_are_inverse_through_files(self, demo: Cli) -> None:
        demo.ok("export", "demo", "-o", "plain.ndjson")
        demo.ok("export", "demo", "-o", "packed.ndjson.gz")
        plain = (demo.folder / "plain.ndjson").read_bytes()
        packed = (demo.folder / "packed.ndjson.gz").read_bytes()
        assert gzip.decompress(packed) == plain == demo.ok("export", "demo").encode()
        demo.ok("import", "packed.ndjson.gz", "--graph", "copy")
        demo.ok("import", "-", "--graph", "piped", stdin=plain)
        demo.ok("import", "-", "--graph", "piped and packed", stdin=packed)
        for copy in ("copy", "piped", "piped and packed"):
            assert sorted(demo.ok("export", copy).splitlines()) == sorted(plain.decode().splitlines())
        demo.ok("export", "demo", "-o", "again.ndjson.gz")
        assert (demo.folder / "again.ndjson.gz").read_bytes() == packed
        assert not list(demo.folder.glob(".*.part"))

    def test_a_bad_line_keeps_nothing(self, cli: Cli) -> None:
        good = MEMORY.read_bytes()
        error = cli.refused("import", "-", "--graph", "demo", stdin=good + b'{"kind":"node","key":""}\n')
        assert f"Line {len(good.splitlines()) + 1}" in error
        assert "Nothing was kept" in error
        assert "no graph 'demo'" in cli.refused("export", "demo")

    def test_files_that_cannot_be_used_are_named(self, demo: Cli) -> None:
        assert "missing.ndjson: No such file" in demo.refused("import", "missing.ndjson", "--graph", "x")
        assert "no folder nowhere" in demo.refused("export", "demo", "-o", "nowhere/x.ndjson")
        assert "other.db" in demo.refused("export", "demo", "--database-url", "sqlite:///other.db")
        assert not (demo.folder / "other.db").exists()
        (demo.folder / "text.db").write_text("no database at all, but a text that is long enough to be read as one")
        assert "not a Memory Graph database" in demo.refused("migrate", "--database-url", "sqlite:///text.db")

    def test_a_failed_export_leaves_the_file_alone(self, demo: Cli) -> None:
        (demo.folder / "kept.ndjson").write_text("precious")
        demo.refused("export", "unknown", "-o", "kept.ndjson")
        demo.refused("export", "demo", "--as-of", "2999-01-01T00:00:00Z", "-o", "kept.ndjson")
        assert (demo.folder / "kept.ndjson").read_text() == "precious"

    def test_a_reader_that_leaves_early_is_no_error(self, cli: Cli) -> None:
        lines = b"".join(b'{"kind":"node","key":"node-%d"}\n' % number for number in range(3000))
        cli.ok("import", "-", "--graph", "many", stdin=lines)
        process = cli.start("export", "many")
        assert process.stdout and process.stderr
        assert process.stdout.readline().startswith(b'{"kind":"node"')
        process.stdout.close()
        assert process.stderr.read() == b""
        process.wait(30)

    def test_fleets_do_not_see_each_other(self, demo: Cli) -> None:
        assert "no graph 'demo'" in demo.refused("export", "demo", "--fleet", OTHER_FLEET)
        assert "no graph 'demo'" in demo.refused("snapshot", "demo", "--tenant", OTHER_FLEET)
        demo.ok("import", str(MEMORY), "--graph", "demo", "--fleet", OTHER_FLEET)
        assert len(demo.ok("export", "demo", "--fleet", OTHER_FLEET).splitlines()) == 41

    def test_an_unknown_graph_is_answered_with_the_known_ones(self, demo: Cli) -> None:
        assert "Known here: demo." in demo.refused("export", "dmeo")
        assert OTHER_FLEET in demo.refused("import", str(MEMORY), "--graph", OTHER_FLEET)


class TestInvalidate:
    ARGS = ("invalidate", "demo", "price-list", "--reason", "wrong file")

    def test_the_table_tells_what_fell_at_which_depth_and_over_what(self, demo: Cli) -> None:
        told = demo.ok(*self.ARGS)
        assert "8 Invalid and 2 PotentiallyStale" in told
        assert re.search(r"0 +price-list +Invalid +was named by the request", told)
        assert re.search(r"5 +plan-contract +Invalid +is valid only when acme-can-pay", told)
        assert re.search(r"2 +globex-price +Valid \(no change: pinned\) +requires pro-price", told)
        assert re.search(r"2 +forum-post +PotentiallyStale +contradicts pro-price", told)
        assert re.search(r"2 nodes: .*acme-(signs|trusts)", told)
        assert "AlreadyAtStatus" in demo.ok(*self.ARGS)

    def test_a_dry_run_tells_the_same_and_changes_nothing(self, demo: Cli) -> None:
        before = demo.ok("export", "demo")
        told = demo.ok(*self.ARGS, "--dry-run")
        assert "nothing was changed" in told
        assert "8 Invalid and 2 PotentiallyStale" in told
        assert demo.ok("export", "demo") == before

    def test_the_list_says_where_it_was_cut(self, demo: Cli) -> None:
        told = demo.ok(*self.ARGS, "--limit", "3")
        assert "and 8 more nodes (--limit lists more)" in told
        assert "plan-contract" not in told

    def test_every_option_reaches_the_service(self, demo: Cli) -> None:
        options = ("--policy", "strict", "--propagation", "transitive", "--override-pinned")
        since = ("--effective-time", "2026-01-31T12:00:00+01:00")
        report = json.loads(demo.ok(*self.ARGS, *options, *since, "--status", "PotentiallyStale", "--json"))
        assert (report["policy"], report["propagation"]) == ("strict", "transitive")
        assert report["overridePinned"] is True
        assert report["effectiveTime"] == "2026-01-31T11:00:00Z"
        assert report["requestedStatus"] == "PotentiallyStale"
        again = json.loads(demo.ok(*self.ARGS, *options, *since, "--status", "PotentiallyStale", "--json"))
        assert again["runId"] == report["runId"]

    def test_roots_may_be_named_by_id(self, demo: Cli) -> None:
        nodes = json.loads(demo.ok("snapshot", "demo"))["nodes"]
        root = next(node["memoryNodeId"] for node in nodes if node["key"] == "price-list")
        report = json.loads(demo.ok("invalidate", "demo", "--id", root, "--reason", "by id", "--json"))
        assert report["rootNodeIds"] == [root]
        assert report["counts"]["byStatus"] == {"Invalid": 8, "PotentiallyStale": 2}

    def test_what_cannot_be_is_refused_in_a_line(self, demo: Cli) -> None:
        assert "nokey" in demo.refused("invalidate", "demo", "nokey", "--reason", "x")
        assert "future" in demo.refused(*self.ARGS, "--effective-time", "2999-01-01T00:00:00Z")
        assert "RFC 3339" in demo.refused(*self.ARGS, "--effective-time", "2026-01-31", code=2)
        assert "strict" in demo.refused(*self.ARGS, "--policy", "lax", code=2)
        assert "--reason" in demo.refused("invalidate", "demo", "price-list", code=2)
        assert "KEY or --id" in demo.refused("invalidate", "demo", "--reason", "x", code=2)
        assert set(_statuses(demo.ok("snapshot", "demo")).values()) == {"Valid"}


class TestSecondLooks:
    INVALIDATE = ("invalidate", "demo", "price-list", "--reason", "wrong file")

    def test_a_worker_drains_what_waits(self, demo: Cli) -> None:
        assert "Nothing waits" in demo.ok("outbox")
        demo.ok(*self.INVALIDATE)
        assert re.search(r"1 +InvalidationCompleted +Pending", demo.ok("outbox"))
        assert "1 event taken on" in demo.ok("worker", "--drain")
        assert "0 events taken on" in demo.ok("worker", "--drain")
        assert "Nothing waits" in demo.ok("outbox")
        done = json.loads(demo.ok("outbox", "--state", "Done", "--json"))
        assert [event["eventType"] for event in done] == ["InvalidationCompleted", "RevalidationCompleted"]

    def test_what_has_not_failed_is_not_tried_again(self, demo: Cli) -> None:
        demo.ok(*self.INVALIDATE)
        assert "has not failed" in demo.refused("outbox", "--retry", "1", code=2)
        assert "not known" in demo.refused("outbox", "--retry", "99")
        demo.ok("outbox", "--retry-dead")

    def test_a_correction_tells_what_was_restored(self, demo: Cli) -> None:
        demo.ok(*self.INVALIDATE)
        demo.ok("worker", "--drain")
        told = demo.ok("revalidate", "demo", "price-list", "--reason", "it was right")
        assert "NeedsReview 2" in told
        assert "Restored 7" in told
        assert re.search(r"plan-contract +Restored +Valid \(was Invalid\)", told)
        report = json.loads(demo.ok("revalidate", "demo", "--look", "pro-price", "--json"))
        assert report["cause"] == "ByHand"
        assert report["counts"] == {"byOutcome": {"NeedsReview": 1}}
        # all but the pinned one
        assert "19 nodes looked at" in demo.ok("revalidate", "demo", "--all", "--limit", "2")

    def test_what_cannot_be_is_refused_in_a_line(self, demo: Cli) -> None:
        assert "KEY, --id" in demo.refused("revalidate", "demo", code=2)
        assert "nokey" in demo.refused("revalidate", "demo", "nokey")
        assert "pinned" in demo.refused("revalidate", "demo", "globex-price")


class TestSnapshot:
    def test_the_past_is_what_it_was(self, demo: Cli) -> None:
        stamp = _stamp(demo.ok("import", str(MEMORY), "--graph", "demo"))
        before = demo.ok("snapshot", "demo", "--as-of", stamp)
        fallen = _stamp(demo.ok("invalidate", "demo", "price-list", "--reason", "wrong file"))
        assert demo.ok("snapshot", "demo", "--as-of", stamp) == before
        assert set(_statuses(before).values()) == {"Valid"}
        assert _statuses(demo.ok("snapshot", "demo", "--as-of", fallen))["plan-contract"] == "Invalid"
        assert demo.ok("export", "demo", "--as-of", stamp) != demo.ok("export", "demo")

    def test_both_forms_are_those_of_the_api(self, demo: Cli, service: str) -> None:
        (graph,) = httpx.get(f"{service}/memory-graphs").json()["items"]
        url = f"{service}/memory-graphs/{graph['graphId']}/snapshot"
        stamp = httpx.get(url).json()["asOf"]
        demo.ok("snapshot", "demo", "--as-of", stamp, "-o", "document.json")
        demo.ok("snapshot", "demo", "--as-of", stamp, "--format", "ndjson", "-o", "lines.ndjson")
        document = httpx.get(url, params={"asOf": stamp})
        lines = httpx.get(url, params={"asOf": stamp}, headers={"Accept": "application/x-ndjson"})
        assert (demo.folder / "document.json").read_bytes() == document.content
        assert (demo.folder / "lines.ndjson").read_bytes() == lines.content


class TestOperation:
    def test_demo_tells_what_fell_and_leaves_nothing(self, cli: Cli) -> None:
        started = monotonic()
        told = cli.ok("demo")
        assert monotonic() - started < 60
        fell, doubt, stayed = (told.index(title) for title in ("What fell", "What is only in doubt", "What stayed"))
        assert "Send Acme the contract on Friday" in told[fell:doubt]
        assert "Acme is happy with us" in told[doubt:stayed]
        assert "pinned by Ana" in told[stayed:]
        assert "/docs" in told
        assert not list(cli.folder.iterdir())
        assert cli.ok("demo", "--lines").encode() == MEMORY.read_bytes()

    def test_migrate_makes_the_schema_once(self, cli: Cli) -> None:
        assert "schema empty ->" in cli.ok("migrate")
        assert "nothing to do" in cli.ok("migrate")
        assert "There is none yet" in cli.refused("export", "demo")

    def test_openapi_writes_the_document(self, cli: Cli) -> None:
        printed = cli.ok("openapi")
        cli.ok("openapi", "-o", "openapi.json")
        assert (cli.folder / "openapi.json").read_text(encoding="utf-8") == printed
        assert "/invalidations" in json.loads(printed)["paths"]

    def test_help_and_version(self, cli: Cli) -> None:
        for command in ("serve", "import", "export", "invalidate", "snapshot", "demo", "openapi", "migrate"):
            assert command in cli.ok("--help")
            assert "Usage:" in cli.ok(command, "--help")
        assert re.fullmatch(r"memory-graph \d+\.\d+\.\d+\n", cli.ok("--version"))
        assert "No such command" in cli.refused("imprt", code=2)

    def test_settings_that_cannot_be_are_named(self, cli: Cli) -> None:
        assert "loopback" in cli.refused("serve", "--host", "0.0.0.0")
        assert "MEMORY_GRAPH_PORT" in cli.refused("serve", MEMORY_GRAPH_PORT="many")
        assert "MEMORY_GRAPH_LOG_LEVEL" in cli.refused("serve", "--log-level", "loud")
        assert "MEMORY_GRAPH_DATABASE_URL" in cli.refused("migrate", MEMORY_GRAPH_DATABASE_URL="nonsense")
        assert "opened" in cli.refused("serve", "--database-url", "sqlite:///missing/x.db")


class TestServe:
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_starts_on_an_empty_folder_answers_and_stops(self, cli: Cli, number: signal.Signals) -> None:
        process = cli.start("serve", "--port", "0")
        try:
            address = _address(process)
            with httpx.Client(base_url=address) as client:  # an idle connection must not hold it up
                assert client.get("/health/live").json() == {"status": "live"}
                assert client.get("/health/ready").json() == {"status": "ready"}
                assert client.get("/docs").status_code == 200
                started = monotonic()
                process.send_signal(number)
                _, errors = process.communicate(timeout=5)
                assert monotonic() - started < 5
        finally:
            process.kill()
        assert process.returncode == 0
        assert b"Traceback" not in errors
        assert (cli.folder / "memory-graph.db").exists()

    def test_shares_its_file_with_other_processes(self, demo: Cli, service: str) -> None:
        port = service.rsplit(":", 1)[1]
        assert f"port {port} of 127.0.0.1 is taken" in demo.refused("serve", "--port", port)
        demo.ok("invalidate", "demo", "price-list", "--reason", "wrong file")
        (graph,) = httpx.get(f"{service}/memory-graphs").json()["items"]
        snapshot: Any = httpx.get(f"{service}/memory-graphs/{graph['graphId']}/snapshot").text
        assert _statuses(snapshot)["plan-contract"] == "Invalid"


def test_every_command_runs_as_it_is_installed(cli: Cli) -> None:
    """The other tests take a short cut into the program; here each command is what a shell would start."""
    for command, expected in (
        (("import", str(MEMORY), "--graph", "demo"), "20 added"),
        (("migrate",), "nothing to do"),
        (("invalidate", "demo", "price-list", "--reason", "wrong file"), "8 Invalid"),
        (("snapshot", "demo", "--format", "ndjson"), '"kind":"snapshot"'),
        (("export", "demo", "-o", "demo.ndjson.gz"), ""),
        (("import", "demo.ndjson.gz", "--graph", "demo"), "nothing changed"),
        (("openapi",), "/invalidations"),
        (("demo",), "What fell"),
    ):
        process = cli.start(*command)
        out, errors = process.communicate(timeout=120)
        assert (process.returncode, errors) == (0, b""), (command, errors)
        assert expected in out.decode()
    process = cli.start("export", "unknown")
    out, errors = process.communicate(timeout=120)
    assert (process.returncode, out) == (1, b"")
    assert errors.decode().splitlines() == [
        "memory-graph: there is no graph 'unknown' in this database for this tenant and fleet.",
        "Known here: demo.",
    ]


def test_ci_runs_the_command_of_the_readme() -> None:
    command = ".tools/bin/uv run pytest"
    assert command in (ROOT / "README.md").read_text(encoding="utf-8")
    assert command in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
