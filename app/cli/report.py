"""An invalidation's report as a table for people."""

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.cli.words import EDGE_WORDS, STATUS_STYLE, printable
from app.domain.models import Impact
from app.services import runs
from app.services.reports import Cycle, Report
from app.store.unit import View

_PAGE = 1000
_CYCLES = _MEMBERS = 10
_OUTCOMES = {
    "AlreadyAtStatus": "no change: was so already",
    "SkippedPinned": "no change: pinned",
    "Reexamine": "to be looked at again",
}


def print_report(view: View, report: Report, limit: int) -> None:
    """What was reached, at which depth and over what; at most ``limit`` nodes are listed."""
    console = Console(highlight=False, markup=False)
    for line in _summary(report):
        console.print(line, soft_wrap=True)
    shown = list(_impacts(view, report, limit))
    reached = sum(report.by_outcome.values())
    if shown:
        console.print(_table(view, shown))
    if reached > len(shown):
        more = "a dry run lists 100 at most" if report.dry_run else "--limit lists more"
        console.print(f"… and {reached - len(shown):,} more nodes ({more}).", style="dim")
    for cycle in report.cycles[:_CYCLES]:
        console.print(f"Cycle {cycle.component}, {cycle.size:,} nodes: {_members(view, cycle)}", soft_wrap=True)
    if len(report.cycles) > _CYCLES:
        console.print(f"… and {len(report.cycles) - _CYCLES:,} more cycles (--json has all).", style="dim")


def _summary(report: Report) -> Iterator[str]:
    run = report.run
    invalid, doubtful = (report.by_status.get(status, 0) for status in ("Invalid", "PotentiallyStale"))
    if report.dry_run:
        yield "Dry run: this is what would happen; nothing was changed."
    yield f"{invalid:,} Invalid and {doubtful:,} PotentiallyStale among the affected."
    yield "By outcome: " + ", ".join(f"{name} {count:,}" for name, count in sorted(report.by_outcome.items()))
    yield "By depth:   " + ", ".join(f"{depth}: {count:,}" for depth, count in enumerate(report.by_depth))
    options = f"{run.policy}, {run.propagation}" + (", pins overridden" if run.override_pinned else "")
    yield f"Effective from {_time(run.effective_time)} ({options})."
    if not report.dry_run:
        yield f"Run {run.run_id}, committed at {_time(run.committed_at)}."


def _impacts(view: View, report: Report, limit: int) -> Iterator[Impact]:
    if report.dry_run:
        yield from report.impacts.items[:limit]
        return
    cursor, left = None, limit
    while left > 0:
        page = runs.impacts(view, report.run.run_id, limit=min(left, _PAGE), cursor=cursor)
        yield from page.items
        cursor, left = page.next_cursor, left - len(page.items)
        if cursor is None:
            return


def _table(view: View, impacts: list[Impact]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("depth", justify="right")
    for name in ("node", "status", "first reached because it"):
        table.add_column(name, overflow="fold")
    for impact in impacts:
        status = Text(impact.new_status, STATUS_STYLE[impact.new_status])
        if impact.outcome in _OUTCOMES:
            status.append(f" ({_OUTCOMES[impact.outcome]})", "dim")
        table.add_row(str(impact.depth), Text(_name(view, impact)), status, Text(_why(view, impact)))
    return table


def _name(view: View, named: Any) -> str:
    """Of an impact or a node: its key, else its name, else its id."""
    if named.key is not None:
        return printable(named.key)
    node = view.nodes.find(named.memory_node_id)
    return printable(node.name) if node else str(named.memory_node_id)


def _why(view: View, impact: Impact) -> str:
    if impact.via_edge_id is None:
        return "was named by the request"
    edge = view.edges.find(impact.via_edge_id)
    if edge is None:
        return "had an edge that is gone"
    ends = {edge.source_node_id, edge.target_node_id} - {impact.memory_node_id}
    other = view.nodes.find(ends.pop())
    return f"{EDGE_WORDS[edge.edge_type]} {_name(view, other) if other else 'a node that is gone'}"


def _members(view: View, cycle: Cycle) -> str:
    nodes = [view.nodes.find(id_) for id_ in cycle.memory_node_ids[:_MEMBERS]]
    names = ", ".join(_name(view, node) for node in nodes if node)
    return names + (", …" if cycle.size > _MEMBERS else "")


def _time(value: Any) -> str:
    return value.isoformat().replace("+00:00", "Z") if value else "-"
