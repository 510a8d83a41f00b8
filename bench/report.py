"""The table of results, as Markdown, JSON and a small chart."""

import datetime
import json
import os
import platform
import sqlite3
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import networkx as nx  # type: ignore[import-untyped, unused-ignore]

from bench.graphs import SHAPES
from bench.scenarios import Row

LIMIT_MIB = 1024
"""What the server may hold at most, whatever it is asked."""

_HEAD = (
    "scenario", "case", "nodes", "edges", "Memory Graph", "µs per edge", "networkx", "ratio", "SQLite", "ratio",
    "huey", "ratio", "peak memory", "remark",
)  # fmt: skip

_NOTES = """\
**Memory Graph** is wall time over HTTP, from sending the request until the answer is read, everything it wrote being
committed and synced. Each line is a server process of its own (with `--quick` each shape); a cascade of less than a
second is repeated there on new copies of its graph, and the median counts. **Peak memory** is the most that process
ever held. **Edges** of a cascade are those that leave the root and what lies downstream of it.

**networkx** builds its graph from pairs in memory (import), or finds the descendants of the root over propagating
edges (cascades). **SQLite** inserts the same rows into tables without any index but the primary key, in WAL with
`synchronous=FULL` (import), selects them (snapshot), or finds the descendants with a recursive query over an indexed
table in memory (cascades). Both do less: no support groups, no history, no impacts, nothing written by a cascade. The
ratios say what those promises cost.

**restore** is the request that says that a root is right again, after it fell and the worker had looked at what was in
doubt: every node that rested on it is looked at, in order, and every status must be Valid again.

**outbox**: events of one fleet in one process, each of them a second look at a node whose base confidence changed and
at its dependent, with a run and two decisions recorded. **huey** drains as many tasks that do nothing from its SQLite
storage (`fsync=True`), one worker; latency is from the end of the write to the moment at which the work is done.
"""


def machine() -> dict[str, Any]:
    """What the numbers depend on."""
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "networkx": nx.__version__,
    }


def load() -> float | None:
    """Processes that wanted a core in the last minute, the benchmark's own among them."""
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None


def markdown(rows: Sequence[Row], facts: dict[str, Any]) -> str:
    """The results for people."""
    lines = ["# Benchmark results", ""]
    lines += ["Written by `python -m bench`. Times of another machine differ; ratios less so.", ""]
    lines += [", ".join(f"{name}: {value}" for name, value in facts.items()), ""]
    lines += _busy(facts)
    lines += [_line(_HEAD), _line(["---"] * 2 + ["---:"] * 11 + ["---"])]
    lines += [_line(_cells(row)) for row in rows]
    lines += ["", *_linearity(rows), *_memory(rows), "", _NOTES]
    return "\n".join(lines)


def save(rows: Sequence[Row], facts: dict[str, Any], folder: Path) -> None:
    """Write ``results.md`` and ``results.json``, and ``results.svg`` where there is something to draw."""
    (folder / "results.md").write_text(markdown(rows, facts), encoding="utf-8")
    listed = [{**row._asdict(), "microseconds_per_edge": row.per_edge} for row in rows]
    document = json.dumps({"machine": facts, "rows": listed}, indent=2)
    (folder / "results.json").write_text(document + "\n", encoding="utf-8")


def within_limit(rows: Sequence[Row]) -> bool:
    """Whether the server stayed below the limit in every scenario where it could be measured."""
    return all(row.memory is None or row.memory < LIMIT_MIB for row in rows)


def shapes_of(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows of each shape, smallest first."""
    names = {shape.name + suffix for shape in SHAPES for suffix in ("", " restored")}
    by_name = sorted(rows, key=lambda row: row.scenario)
    return {name: list(group) for name, group in groupby(by_name, lambda row: row.scenario) if name in names}


def _busy(facts: dict[str, Any]) -> list[str]:
    if (facts.get("load before") or 0) < facts["cores"] / 2:
        return []
    return ["**Other work kept the machine busy during this run**: times are too long and vary, ratios less so.", ""]


def _linearity(rows: Sequence[Row]) -> list[str]:
    tells = {shape.name: shape.tells for shape in SHAPES}
    tells |= {f"{name} restored": "looks at more than what fell" for name in tells}
    return [
        f"- {name}: {group[-1].edges / group[0].edges:.1f} times the edges take "
        f"{group[-1].ours / group[0].ours:.1f} times as long (would show {tells[name]})."
        for name, group in shapes_of(rows).items()
    ]


def _memory(rows: Sequence[Row]) -> list[str]:
    known = [row.memory for row in rows if row.memory is not None]
    if not known:
        return ["- Peak memory is not known on this system."]
    said = "below" if within_limit(rows) else "NOT below"
    return [f"- Peak memory of the server over all scenarios: {max(known):,.0f} MiB, {said} {LIMIT_MIB:,} MiB."]


def _cells(row: Row) -> list[str]:
    return [
        row.scenario,
        row.case,
        f"{row.nodes:,}",
        f"{row.edges:,}",
        seconds(row.ours),
        f"{row.per_edge:,.1f}",
        seconds(row.networkx),
        _ratio(row.ours, row.networkx),
        seconds(row.sqlite),
        _ratio(row.ours, row.sqlite),
        seconds(row.huey),
        _ratio(row.ours, row.huey),
        "" if row.memory is None else f"{row.memory:,.0f} MiB",
        row.remark,
    ]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def seconds(value: float | None) -> str:
    """A duration with its unit, short enough for a table."""
    if value is None:
        return "–"
    for factor, unit in ((1, "s"), (1e3, "ms")):
        if value * factor >= 1:
            return f"{value * factor:,.{1 if value * factor >= 10 else 2}f} {unit}"
    return f"{value * 1e6:,.0f} µs"


def _ratio(ours: float, peer: float | None) -> str:
    return f"{ours / peer:,.1f}" if peer else "–"


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"
