"""How a run is shown."""

from typing import Any

from app.api.wire import wire
from app.services.reports import Report


def show_report(report: Report) -> dict[str, Any]:
    """A run with its counts and first impacts; of a dry run ``runId`` and ``committedAt`` are null."""
    shown = wire(report.run)
    if report.dry_run:
        shown |= {"runId": None, "committedAt": None}
    return shown | {
        "dryRun": report.dry_run,
        "planToken": report.plan_token,
        "rootNodeIds": report.root_node_ids,
        "counts": {
            "byOutcome": report.by_outcome,
            "byStatus": {"Invalid": 0, "PotentiallyStale": 0} | report.by_status,
            "byDepth": report.by_depth,
        },
        "cycles": report.cycles,
        "impacts": report.impacts,
    }
