"""How a run is shown."""

from typing import Any

from app.api.wire import wire
from app.services.reports import DecisionReport, OpenReview, Report, RevalidationReport


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


def show_revalidation(report: RevalidationReport) -> dict[str, Any]:
    """A second look with its counts and first decisions."""
    return wire(report.run) | {
        "counts": {"byOutcome": report.by_outcome},
        "childRunIds": report.child_run_ids,
        "decisions": report.decisions,
    }


def show_review(open_review: OpenReview) -> dict[str, Any]:
    """What waits for a person."""
    shown = wire(open_review.review)
    for name in ("reviewKind", "leaseOwner", "leaseExpiresAt"):
        del shown[name]
    return shown | {"grounds": _grounds(open_review)}


def show_task(open_review: OpenReview) -> dict[str, Any]:
    """What waits for an agent."""
    shown = wire(open_review.review)
    for name in ("reviewKind", "reviewReason"):
        del shown[name]
    return {"taskId": shown.pop("reviewId")} | shown | {"grounds": _grounds(open_review)}


def show_decision(report: DecisionReport) -> dict[str, Any]:
    return {
        "reviewId": report.review_id,
        "memoryNodeId": report.memory_node_id,
        "decision": report.decision,
        "revalidationRun": show_revalidation(report.revalidation_run),
        "invalidationRun": show_report(report.invalidation_run) if report.invalidation_run else None,
    }


def _grounds(open_review: OpenReview) -> list[dict[str, Any]]:
    edges = [wire(edge) for edge in open_review.grounds]
    for edge in edges:
        del edge["targetNodeId"]
    return edges
