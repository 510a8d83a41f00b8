"""A server to measure, in a process of its own, and the clock and memory it is measured with."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, TypeVar, cast
from uuid import UUID

import httpx

_START_SECONDS = 30

Result = TypeVar("Result")


def timed(work: Callable[[], Result]) -> tuple[float, Result]:
    """Seconds of wall time that ``work`` took, and what it gave."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def median_of(repeats: int, work: Callable[[], object]) -> float:
    """The median wall time of ``work`` in seconds."""
    return median(timed(work)[0] for _ in range(repeats))


class Server:
    """The service as its users meet it: over HTTP on this machine, with its database in a temporary folder."""

    def __init__(self, client: httpx.Client, pid: int) -> None:
        self._client = client
        self._pid = pid
        self._graph = UUID(int=7)

    def use_new_graph(self) -> None:
        """Make an empty graph, which all calls that follow are about."""
        self._graph = UUID(int=self._graph.int + 1)
        self.create_graph()

    def create_graph(self) -> None:
        body = {"name": "bench", "graphId": str(self._graph)}
        self._client.post("/memory-graphs", json=body).raise_for_status()

    def import_file(self, file: Path) -> dict[str, Any]:
        """Send a file of lines as it is; the report."""
        with file.open("rb") as lines:
            headers = {"Content-Type": "application/gzip" if file.suffix == ".gz" else "application/x-ndjson"}
            answer = self._client.post(f"/memory-graphs/{self._graph}/import", content=lines, headers=headers)
        return _checked(answer)

    def invalidate(self, root: str) -> dict[str, Any]:
        """Invalidate one root, with every option at its default; the report, committed."""
        body = {"graphId": str(self._graph), "rootKeys": [root], "reason": "benchmark"}
        return _checked(self._client.post("/invalidations", json=body))

    def correct(self, root: str) -> dict[str, Any]:
        """Say that a root is right again: everything that rests on it is looked at; the report, committed."""
        body = {"graphId": str(self._graph), "rootKeys": [root]}
        return _checked(self._client.post("/revalidations", json=body))

    def wait_until_drained(self) -> None:
        """Until the embedded worker has handled every event."""
        while _checked(self._client.get("/outbox", params={"state": "Pending", "limit": 1}))["items"]:
            time.sleep(0.01)

    def statuses(self, status: str) -> int:
        """How many nodes have a status, a thousand at most."""
        params = {"graphId": str(self._graph), "status": status, "limit": 1000}
        return len(_checked(self._client.get("/memory-nodes", params=params))["items"])

    def snapshot(self) -> int:
        """Read the graph as it is now, as NDJSON; how many bytes that is."""
        headers = {"Accept": "application/x-ndjson"}
        with self._client.stream("GET", f"/memory-graphs/{self._graph}/snapshot", headers=headers) as answer:
            answer.raise_for_status()
            return sum(map(len, answer.iter_raw()))

    def peak_memory(self) -> float | None:
        """The most memory the process ever held (``VmHWM``), in MiB; None where the system does not tell."""
        status = Path(f"/proc/{self._pid}/status")
        if not status.exists():
            return None
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024


@contextmanager
def server(database: Path | None = None, keep: Path | None = None, *, worker: bool = False) -> Iterator[Server]:
    """A fresh server process: on a copy of ``database``, or on a new one with an empty graph.

    Without ``worker`` nothing but the requests is going on.
    Once it has stopped, its database is left in ``keep``.
    """
    with tempfile.TemporaryDirectory(prefix="memory-graph-bench-") as folder:
        file = Path(folder) / "memory-graph.db"
        if database:
            shutil.copyfile(database, file)
        port = _free_port()
        process = _start(file, port, worker=worker)
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=None) as client:
                _wait(client, process)
                running = Server(client, process.pid)
                if not database:
                    running.create_graph()
                yield running
        finally:
            _stop(process)
        if keep:
            shutil.move(file, keep)


def _start(database: Path, port: int, *, worker: bool) -> "subprocess.Popen[bytes]":
    settings = {
        "MEMORY_GRAPH_DATABASE_URL": f"sqlite:///{database}",
        "MEMORY_GRAPH_LOG_LEVEL": "ERROR",
        "MEMORY_GRAPH_WORKER": "embedded" if worker else "none",
    }
    command = [sys.executable, "-m", "uvicorn", "--factory", "app.main:create_app", "--port", str(port)]
    quiet = ["--log-level", "error", "--no-access-log"]
    return subprocess.Popen(
        [*command, *quiet], env=os.environ | settings, cwd=Path(__file__).parent.parent, stdout=subprocess.DEVNULL
    )


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_START_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _wait(client: httpx.Client, process: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            if client.get("/health/ready").is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.05)
    raise RuntimeError("the server to measure did not start; try: python -m uvicorn --factory app.main:create_app")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _checked(answer: httpx.Response) -> dict[str, Any]:
    if answer.is_error:
        raise RuntimeError(f"{answer.request.method} {answer.request.url.path}: {answer.status_code} {answer.text}")
    return cast("dict[str, Any]", answer.json())
