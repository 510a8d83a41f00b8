"""``python -m bench``: measure, print the table, and write it to ``bench/results.md`` and ``.json``."""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from bench import chart, graphs, report
from bench.scenarios import Bench, Row

_GRAPH = "MEMORY_GRAPH_BENCH_GRAPH"
_QUICK_PACKAGES = 3_000


def main() -> int:
    """Run the scenarios that are asked for; 1 where the server took more memory than it may."""
    asked = _arguments()
    console = Console(stderr=True)
    facts = report.machine() | {"load before": report.load()}
    with tempfile.TemporaryDirectory(prefix="memory-graph-bench-") as folder:
        file = asked.graph or _synthetic(Path(folder), asked.quick)
        rows = _measure(Bench(file, Path(folder), asked.quick), asked.only, console)
    facts |= {"load after": report.load(), "sizes": "quick" if asked.quick else "full"}
    report.save(rows, facts, asked.output)
    drawing = chart.svg(rows)
    if drawing:
        (asked.output / "results.svg").write_text(drawing, encoding="utf-8")
    print(report.markdown(rows, facts))
    return 0 if report.within_limit(rows) else 1


def _measure(bench: Bench, only: list[str] | None, console: Console) -> list[Row]:
    scenarios = bench.scenarios()
    unknown = set(only or ()) - set(scenarios)
    if unknown:
        raise SystemExit(f"There is no scenario {', '.join(sorted(unknown))}; choose from {', '.join(scenarios)}.")
    rows: list[Row] = []
    chosen = [name for name in scenarios if not only or name in only]
    for number, name in enumerate(chosen, 1):
        label = f"[{number}/{len(chosen)}] {name}"
        with console.status(label):
            for row in scenarios[name]():
                rows.append(row)
                console.print(f"{label} {row.case}: {report.seconds(row.ours)}", highlight=False, markup=False)
    return rows


def _synthetic(folder: Path, quick: bool) -> Path:
    nodes = _QUICK_PACKAGES if quick else graphs.PACKAGES
    return graphs.write(graphs.packages(nodes), folder / "synthetic-packages.ndjson")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, done in under a minute")
    parser.add_argument("--only", action="append", metavar="NAME", help="one scenario; may be given again")
    parser.add_argument(
        "--graph",
        type=Path,
        default=os.environ.get(_GRAPH),
        help=f"package graph as NDJSON, raw or gzip (or {_GRAPH}); without it one like it is generated",
    )
    parser.add_argument("--output", type=Path, default=Path(__file__).parent, help="folder for the results")
    asked = parser.parse_args()
    if asked.graph and not asked.graph.is_file():
        parser.error(f"there is no file {asked.graph}")
    return asked


if __name__ == "__main__":
    sys.exit(main())
