"""What is measured. Each scenario runs a server process of its own and yields rows for the report."""

from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from bench import graphs
from bench.graphs import Shape
from bench.measure import Server, median_of, server, timed
from bench.peers import Reach, sqlite_floor
from bench.queues import drain_huey, drain_outbox, latency_huey, latency_outbox

_EXPECTED = {"emacs-common": (327_836, {"Invalid": 428, "PotentiallyStale": 14})}
"""Roots of the Debian graph whose outcome is known, with the number of edges the graph is known by."""

_RESTORED = ("tex-common", "emacs-common", "perl-base", "python3-minimal", "fonts-dejavu-core")
"""Further roots of the Debian graph that fall and are restored."""

_SHORT = 1.0
"""Seconds below which a cascade is measured five times, each on a new copy of its graph; the median counts."""


class Row(NamedTuple):
    """One measurement. Times are seconds of wall time, memory is MiB; None means not measured or not comparable."""

    scenario: str
    case: str
    nodes: int
    """Nodes imported, reached or shown."""
    edges: int
    """Edges imported or shown; for a cascade those that leave the root and what lies downstream of it."""
    ours: float
    """From sending the request until the whole answer is read; what it wrote is committed and synced by then."""
    networkx: float | None
    sqlite: float | None
    memory: float | None
    """Most memory the server process held, from its start to the end of the scenario."""
    remark: str = ""
    huey: float | None = None
    """The same number of tasks in a task queue on SQLite."""

    @property
    def per_edge(self) -> float:
        """Microseconds for each edge."""
        return self.ours / max(1, self.edges) * 1e6


class Measured(NamedTuple):
    """What was measured of the service itself; see ``Row``."""

    ours: float
    memory: float | None
    remark: str


class Bench:
    """The scenarios on one package graph and on the synthetic shapes; ``folder`` is for files between them."""

    def __init__(self, file: Path, folder: Path, quick: bool) -> None:
        self._file = file
        self._folder = folder
        self._quick = quick
        self._edges = graphs.edges_of(file)
        self._database = folder / "imported.db"
        self._import: Row | None = None
        self._reach: Reach | None = None

    def scenarios(self) -> dict[str, Callable[[], Iterator[Row]]]:
        """Scenarios by name, in the order of the report."""
        shapes = {shape.name: self._shape_scenario(shape) for shape in graphs.SHAPES}
        return {
            "import": self.import_graph,
            "cascade": self.cascade,
            "small": self.small_cascades,
            "snapshot": self.snapshot,
            "restore": self.restore,
            "outbox": lambda: outbox_rows(self._folder, self._quick),
        } | shapes

    def import_graph(self) -> Iterator[Row]:
        """The whole package graph in one request. Peers: networkx builds its graph; SQLite inserts the same rows."""
        yield self._imported()

    def cascade(self) -> Iterator[Row]:
        """One request that brings down what rests on the largest hub, and a known one of middling size."""
        self._imported()
        reach = self._reachable()
        for root in [reach.hub(), *(known for known in _EXPECTED if reach.networkx(known))]:
            with server(self._database) as running:
                seconds, report = timed(lambda s=running, r=root: s.invalidate(r))  # type: ignore[misc]
                memory = running.peak_memory()
            counts = report["counts"]["byStatus"]
            edges, expected = _EXPECTED.get(root, (0, None))
            if edges == len(self._edges) and counts != expected:
                raise AssertionError(f"{root}: {counts} instead of {expected}")
            yield _cascade_row("cascade", root, root, reach, Measured(seconds, memory, _said(counts)))

    def small_cascades(self) -> Iterator[Row]:
        """Requests with 5 to 50 nodes downstream, one after another in one process; the median."""
        self._imported()
        reach = self._reachable()
        roots = reach.small_roots(11 if self._quick else 25)
        with server(self._database) as running:
            running.invalidate(roots.pop())  # the first request of a process also fills its caches
            seconds = median(timed(lambda r=root: running.invalidate(r))[0] for root in roots)  # type: ignore[misc]
            memory = running.peak_memory()
        yield Row(
            "small",
            f"median of {len(roots)} roots",
            int(median(len(reach.networkx(root)) + 1 for root in roots)),
            int(median(reach.edges_from(root) for root in roots)),
            seconds,
            median(timed(lambda r=root: reach.networkx(r))[0] for root in roots),  # type: ignore[misc]
            median(timed(lambda r=root: reach.sqlite(r))[0] for root in roots),  # type: ignore[misc]
            memory,
        )

    def snapshot(self) -> Iterator[Row]:
        """The whole graph as NDJSON, the median of three. SQLite reads the same rows from bare tables."""
        whole = self._imported()
        with server(self._database) as running:
            size = running.snapshot()
            seconds = median_of(3, running.snapshot)
            memory = running.peak_memory()
        floor = sqlite_floor(self._database, self._folder)
        remark = f"{size / 2**20:,.0f} MiB"
        yield Row("snapshot", self._name, whole.nodes, whole.edges, seconds, None, floor.select, memory, remark)

    def restore(self) -> Iterator[Row]:
        """Hubs of the package graph that fall, and are right again: the look at everything that rested on them.

        Without contradictions and replacements, with which the graph is not coherent: then every status has to be Valid
        again at the end.
        """
        file = graphs.write(graphs.supports_of(self._file), self._folder / "supports.ndjson")
        coherent = self._folder / "coherent.db"
        with server(keep=coherent) as running:
            running.import_file(file)
        reach = self._reachable()
        for root in [reach.hub(), *(known for known in _RESTORED if reach.networkx(known))]:
            with server(coherent, worker=True) as running:
                fallen = running.invalidate(root)["counts"]["byStatus"]
                drained, _ = timed(running.wait_until_drained)
                seconds, report = timed(lambda s=running, r=root: s.correct(r))  # type: ignore[misc]
                running.wait_until_drained()
                left = running.statuses("Invalid") + running.statuses("PotentiallyStale")
                memory = running.peak_memory()
            if left:
                raise AssertionError(f"{root}: {left} nodes are not Valid again")
            outcomes = report["counts"]["byOutcome"]
            remark = f"{_said(fallen)}; drained in {drained:,.2f} s; {_said(outcomes)}"
            yield _cascade_row("restore", root, root, reach, Measured(seconds, memory, remark))

    @property
    def _name(self) -> str:
        return self._file.name.split(".")[0]

    def _shape_scenario(self, shape: Shape) -> Callable[[], Iterator[Row]]:
        def run() -> Iterator[Row]:
            full = shape.quick_size if self._quick else shape.size
            sizes = [full // 4, full // 2, full]
            # Starting a server takes longer than a quick size: there the sizes of a shape share one.
            for shared in [sizes] if self._quick else [[size] for size in sizes]:
                with server(worker=True) as running:
                    for size in shared:
                        yield from self._shape(shape, size, running)
                        running.use_new_graph()

        return run

    def _shape(self, shape: Shape, size: int, running: Server) -> Iterator[Row]:
        file = graphs.write(shape.lines(size), self._folder / f"{shape.name}.ndjson")
        reach = Reach(graphs.edges_of(file))
        loading, _ = timed(lambda: running.import_file(file))
        taken: list[float] = []
        while not taken or (taken[0] < _SHORT and len(taken) < 5):
            if taken:
                running.use_new_graph()
                running.import_file(file)
            seconds, report = timed(lambda: running.invalidate("n0"))
            taken.append(seconds)
            _check(f"{shape.name} of {size}", report, shape.nodes(size))
            running.wait_until_drained()
        restored, looked = timed(lambda: running.correct("n0"))
        if looked["counts"]["byOutcome"] != {"Restored": shape.nodes(size)}:
            raise AssertionError(f"{shape.name} of {size}: {looked['counts']} instead of all restored")
        memory = running.peak_memory()
        remark = f"import {loading:,.1f} s" + (f"; median of {len(taken)}" if len(taken) > 1 else "")
        yield _cascade_row(shape.name, f"{size:,}", "n0", reach, Measured(median(taken), memory, remark))
        yield _cascade_row(f"{shape.name} restored", f"{size:,}", "n0", reach, Measured(restored, memory, ""))
        reach.close()

    def _reachable(self) -> Reach:
        self._reach = self._reach or Reach(self._edges)
        return self._reach

    def _imported(self) -> Row:
        """Import once; the database is kept for the scenarios that follow."""
        if self._import is None:
            with server(keep=self._database) as running:
                seconds, report = timed(lambda: running.import_file(self._file))
                memory = running.peak_memory()
            added = report["added"]
            floor = sqlite_floor(self._database, self._folder)
            build = self._reachable().build_seconds
            remark = f"{floor.rows:,} rows"
            self._import = Row(
                "import", self._name, added["nodes"], added["edges"], seconds, build, floor.insert, memory, remark
            )
        return self._import


def outbox_rows(folder: Path, quick: bool) -> Iterator[Row]:
    """Events of one fleet, each a second look at a node and its dependent; huey's tasks do nothing."""
    for count in [100, 200, 400] if quick else [1_000, 2_000, 4_000]:
        ours = drain_outbox(folder / f"outbox-{count}.db", count)
        huey = drain_huey(folder / f"huey-{count}.db", count)
        said = f"{count / ours:,.0f} events a second, huey {count / huey:,.0f}"
        yield Row("outbox", f"{count:,} events", count, count, ours, None, None, None, said, huey)
    repeats = 20 if quick else 100
    ours = latency_outbox(folder / "latency.db", repeats)
    huey = latency_huey(folder / "latency-huey.db", repeats)
    said = f"commit to handled, median of {repeats}"
    yield Row("outbox", "latency", 2, 1, ours, None, None, None, said, huey)


def _cascade_row(scenario: str, case: str, root: str, reach: Reach, measured: Measured) -> Row:
    return Row(
        scenario,
        case,
        len(reach.networkx(root)) + 1,
        reach.edges_from(root),
        measured.ours,
        median_of(3, lambda: reach.networkx(root)),
        median_of(3, lambda: reach.sqlite(root)),
        measured.memory,
        measured.remark,
    )


def _check(case: str, report: dict[str, Any], invalid: int) -> None:
    counts = {status: count for status, count in report["counts"]["byStatus"].items() if count}
    if counts != {"Invalid": invalid}:
        raise AssertionError(f"{case}: {counts} instead of {invalid} Invalid")


def _said(counts: dict[str, int]) -> str:
    return ", ".join(f"{amount:,} {status}" for status, amount in sorted(counts.items()))
