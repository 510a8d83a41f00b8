"""Runs ``memory-graph serve`` in processes of its own, which tests may kill at any moment.

A nursery process does the imports once and forks a server for each start, so that hundreds of starts are affordable.
What runs in the fork is the command itself, from its command line on.
"""

import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType
from typing import Any, Self
from uuid import UUID, uuid4

import httpx
import orjson

ROOT = Path(__file__).parents[2]
PROBLEM = "application/problem+json"
NDJSON = "application/x-ndjson"
_START_SECONDS = 60
_ADDRESS = re.compile(r"API +(http://\S+)")

Json = dict[str, Any]


class Process:
    """A command that runs in a process of its own."""

    def __init__(self, nursery: "Nursery", log: Path, pid: int) -> None:
        self.pid = pid
        self.log = log
        self._nursery = nursery
        self._alive = True

    def output(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def kill(self) -> None:
        """End the process at once, as a power cut would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def has_ended(self) -> bool:
        return self._nursery.has_ended(self.pid)

    def _end(self, number: int) -> None:
        if self._alive:
            self._alive = False
            os.kill(self.pid, number)  # not waited for yet, so the id is still its own
            self._nursery.wait(self.pid)


class Server(Process):
    """One server process on one database file."""

    def __init__(self, nursery: "Nursery", database: Path, log: Path, pid: int) -> None:
        super().__init__(nursery, log, pid)
        self.database = database
        self._url: str | None = None

    @property
    def url(self) -> str:
        """The address, once the server takes requests."""
        if self._url is None:
            deadline = monotonic() + _START_SECONDS
            while not (found := _ADDRESS.search(self.output())):
                assert monotonic() < deadline, self.output()
                assert not self._nursery.has_ended(self.pid), self.output()
                sleep(0.005)
            self._url = found[1]
        return self._url

    def client(self, tenant: UUID | None = None, fleet: UUID | None = None, timeout: float = 60) -> httpx.Client:
        """A connection to the server; its callers close it."""
        scope = {"X-Tenant-Id": tenant, "X-Fleet-Id": fleet}
        headers = {name: str(value) for name, value in scope.items() if value is not None}
        return httpx.Client(base_url=self.url, headers=headers, timeout=timeout)

    def peak_memory(self) -> int:
        """The most memory the process has had, in bytes."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        assert found
        return int(found[1]) * 1024


class Nursery:
    """The process that servers are forked from."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from tests.acceptance.server import nurse; nurse()"],
            cwd=ROOT,
            env={name: value for name, value in os.environ.items() if not name.startswith("MEMORY_GRAPH_")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(30)

    def start(self, database: Path, *options: str) -> Server:
        """A server on the file; ``url`` waits until it takes requests."""
        log, pid = self._start("serve", "--port", "0", *_on(database), *options)
        return Server(self, database, log, pid)

    def start_worker(self, database: Path, *options: str) -> Process:
        """``memory-graph worker`` on the file."""
        return Process(self, *self._start("worker", *_on(database), *options))

    def _start(self, *arguments: str) -> tuple[Path, int]:
        self._count += 1
        log = self._folder / f"process-{self._count}.log"
        log.touch()
        return log, int(self._ask("start", str(log), *arguments))

    def has_ended(self, pid: int) -> bool:
        return self._ask("ended", str(pid)) == "True"

    def wait(self, pid: int) -> None:
        self._ask("wait", str(pid))

    @contextmanager
    def running(self, database: Path, *options: str) -> Iterator[Server]:
        server = self.start(database, *options)
        try:
            yield server
        finally:
            server.stop()

    def _ask(self, *words: str) -> str:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(orjson.dumps(words).decode() + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()


def _on(database: Path) -> list[str]:
    return ["--database-url", f"sqlite:///{database}", "--log-level", "warning"]


def nurse() -> None:
    """What the nursery process does: a command a line, an answer a line."""
    import uvicorn.lifespan.on
    import uvicorn.loops.auto
    import uvicorn.protocols.http.auto  # noqa: F401 - what a server would import when it starts

    import app.main  # noqa: F401
    from app.cli import main

    for line in sys.stdin:
        command, *words = orjson.loads(line)
        if command == "start":
            answer = _fork(main, words)
        else:
            answer = str(_reap(int(words[0]), os.WNOHANG if command == "ended" else 0))
        print(answer, flush=True)  # noqa: T201 - the answer


def _fork(main: Any, words: list[str]) -> str:
    pid = os.fork()
    if pid:
        return str(pid)
    log, *arguments = words
    output = os.open(log, os.O_WRONLY | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, file in enumerate((nothing, output, output)):
        os.dup2(file, number)
    sys.argv = ["memory-graph", *arguments]
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    try:
        main()
        os._exit(0)
    except SystemExit as end:
        os._exit(int(end.code or 0))
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(1)


def _reap(pid: int, flags: int) -> bool:
    """Whether the process has ended; with no flags, waits for that."""
    try:
        return os.waitpid(pid, flags)[0] == pid
    except ChildProcessError:
        return True


def lines_of(*rows: Json) -> bytes:
    """Rows as the body of an import."""
    return b"".join(orjson.dumps(row) + b"\n" for row in rows)


def ok(answer: httpx.Response, status: int = 200) -> Json:
    """The body of an answer that has to have the status."""
    assert answer.status_code == status, f"{answer.request.method} {answer.request.url}: {answer.text[:2000]}"
    body: Json = answer.json()
    return body


def new_graph(client: httpx.Client, name: str = "graph", **more: object) -> str:
    """The id of a graph just made."""
    return str(ok(client.post("/memory-graphs", json={"name": name, **more}), 201)["graphId"])


def load(client: httpx.Client, graph: str, *rows: Json) -> Json:
    return ok(client.post(f"/memory-graphs/{graph}/import", content=lines_of(*rows), headers={"Content-Type": NDJSON}))


def export(client: httpx.Client, graph: str) -> bytes:
    answer = client.get(f"/memory-graphs/{graph}/export")
    assert answer.status_code == 200, answer.text
    return answer.content


def problem(answer: httpx.Response, *statuses: int) -> Json:
    """The problem document of an answer, which has to be one of those statuses and whole."""
    assert answer.status_code in statuses, f"{answer.status_code} {answer.text[:500]}"
    assert answer.headers["Content-Type"] == PROBLEM
    body: Json = answer.json()
    assert body["status"] == answer.status_code
    assert body["type"].startswith("/problems/")
    assert body["title"]
    assert body["detail"]
    return body


def pages(client: httpx.Client, path: str, **params: Any) -> list[Json]:
    """Every item of a list, page after page."""
    items: list[Json] = []
    cursor = None
    while True:
        page = ok(client.get(path, params={**params, **({"cursor": cursor} if cursor else {})}))
        items += page["items"]
        cursor = page["nextCursor"]
        if cursor is None:
            return items


def check_file(database: Path) -> None:
    """What SQLite itself has to say of the file."""
    connection = sqlite3.connect(database, timeout=30)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    finally:
        connection.close()


def fresh_key() -> str:
    return uuid4().hex
