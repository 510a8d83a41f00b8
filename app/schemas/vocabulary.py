"""What each field means: its display name, an example and, where that is not obvious, an explanation.

One table for inputs and outputs, so that a word means the same wherever it is read.
"""

from typing import Any, NamedTuple

from pydantic.alias_generators import to_camel

_AT = "2026-03-01T09:30:00Z"
_NODE = "6f1f3c52-0b5e-5f0e-9d3c-2f6b8f0a4c11"
_OTHER = "0c6f2b1a-7d43-5a98-8e21-b0d94c7a5e33"
_EDGE = "b52d9c70-93ae-5c5b-8f5e-1f0f4a6f7d22"
_GRAPH = "3d0f6a2e-5c1b-4f7a-9a44-2b9c1e8d7f10"
_RUN = "9a7e4d10-2f3b-4c55-8b0a-6c1d2e3f4a5b"
_RULE = "41c8a6d2-7e0f-4b19-a3d5-5f6e7c8b9a01"
_ASSERTION = "e7b3c1d4-5a69-4f08-9c2b-8d7e6f5a4b3c"


class Term(NamedTuple):
    title: str
    example: Any = None
    """Null where that is the usual value; a field that holds models takes theirs instead."""
    description: str | None = None


_TERMS = {
    "first": Term("First Assertion", True, "The assertion is the one that a node line's `content` becomes."),
    "kind": Term("Kind", "node", "What the line holds."),
    # identity
    "graph_id": Term("Memory Graph", _GRAPH, "The graph, by id; chosen by the service where none is given."),
    "memory_node_id": Term(
        "Memory Node", _NODE, "The node, by id. Where none is given: UUIDv5(graphId, key), or a new id."
    ),
    "memory_edge_id": Term("Memory Edge", _EDGE, "The edge. Default: UUIDv5(graphId, 'type|source|target|group')."),
    "memory_assertion_id": Term("Memory Assertion", _ASSERTION, "The assertion, by id."),
    "evidence_reference_id": Term("Evidence Reference", "d1b0a7c6-3f52-4e8d-9b17-0a1c2d3e4f56"),
    "source_rule_id": Term("Source Rule", _RULE, "The rule version that this rests on, by id."),
    "snapshot_id": Term("Snapshot Descriptor", "7c2e9f40-1d8a-4b63-8e57-3a4b5c6d7e8f"),
    "run_id": Term("Invalidation Run", _RUN, "The run that did it; null for a dry run."),
    "parent_run_id": Term("Parent Run", None, "The run that this one goes on from, if any."),
    "superseded_by_run_id": Term("Superseded By Run", None, "The newer run that made this one pointless, if any."),
    "key": Term("Key", "libc6", "The caller's own name for the node: unique in its graph, compared byte for byte."),
    "node": Term("Memory Node Key", "libc6", "The node, by its key in the graph."),
    "source": Term("Source Node Key", "libc6", "The node that is depended on, by its key."),
    "target": Term("Target Node Key", "bash", "The node that depends on the source, by its key."),
    "source_node_id": Term("Source Node", _NODE, "The node that is depended on, by id."),
    "target_node_id": Term("Target Node", _OTHER, "The node that depends on the source, by id."),
    # nodes
    "name": Term("Name", "libc6", "For people. On an import line it defaults to the key."),
    "node_type": Term("Node Type", "Fact", "Such as Episode, Fact, Reflection, Rule or Concept."),
    "category": Term("Category", "libs", "The caller's own grouping."),
    "status": Term("Node Validity", "Valid", "Valid, PotentiallyStale (somebody must look) or Invalid."),
    "invalid_since": Term("Invalid Since", None, "Business time from which the node is known to be Invalid."),
    "invalidation": Term("Invalidation", None, "Direct: its own content is wrong. Derived: its ground is gone."),
    "confidence": Term("Confidence", 1.0, "Between 0 and 1; of a node, computed from its base and its supports."),
    "base_confidence": Term(
        "Base Confidence",
        1.0,
        "Between 0 and 1: how far the node is to be trusted with all its supports whole.",
    ),
    "is_pinned": Term("Is Pinned", False, "A pinned node keeps its status: no invalidation changes it."),
    "pinned_by": Term("Pinned By", "ana@example.org", "Who pinned the node, or who took the pin away."),
    "pin_reason": Term("Pin Reason", "Checked against the contract by hand"),
    "content": Term("Content", "The GNU C library is installed in version 2.36.", "What the node states."),
    "version": Term("Version", 3, "Grows by one with each change; the ETag of the row. Of a rule: its revision."),
    # edges
    "edge_type": Term(
        "Edge Type",
        "SupportedBy",
        "Necessary: Requires, ValidOnlyWhen. Evidential: DerivedFrom, SupportedBy, ObservedFrom. "
        "Others: Contradicts, Supersedes (the source replaces the target).",
    ),
    "support_group": Term(
        "Support Group", "sources", "Evidential edges into one target with one group name are alternatives."
    ),
    "min_support": Term("Minimum Support", 1, "How many distinct sources of the group have to hold. Default 1."),
    "weight": Term("Weight", 1.0, "Between 0 and 1: how much the source adds to the target's confidence. Default 1."),
    "rule_name": Term("Rule Name", "returns-policy", "Names a rule version together with ruleVersion."),
    "rule_version": Term("Rule Version", "2026.1"),
    # assertions, evidence, rules
    "importance": Term("Importance", 0.5, "Between 0 and 1, for ranking. Default 0.5."),
    "observed_at": Term("Observed At", _AT, "When it was observed or asserted (UTC). Default: now."),
    "last_verified_at": Term("Last Verified At", None, "When somebody last confirmed it (UTC)."),
    "superseded_by": Term("Superseded By", None, "The assertion that replaced this one when the world changed."),
    "retracted_at": Term("Retracted At", None, "When it became known that this never was so (UTC)."),
    "evidence_type": Term("Evidence Type", "Document", "Such as Document, Observation or ApiResponse."),
    "reference": Term("Reference", "https://example.org/contracts/17", "Where the evidence is to be found."),
    "details": Term("Details", "Section 4, second paragraph", "An excerpt or a remark."),
    "recorded_at": Term("Recorded At", _AT, "When the evidence was recorded (UTC). Default: now."),
    "description": Term("Description", "Goods may be returned within 30 days.", "What the rule says."),
    "effective_at": Term("Effective Date", _AT, "Business time from which the rule is in force. Default: now."),
    "expires_at": Term("Expires At", None, "Business time from which it no longer is; later than effectiveAt."),
    # time
    "effective_from": Term("Effective From", _AT, "Start of the business interval (UTC); absent: always."),
    "effective_to": Term("Effective To", None, "End of the business interval, not included (UTC); absent: open."),
    "effective_time": Term("Effective Time", _AT, "Business time from which it holds (UTC). Default: now."),
    "created_at": Term("Created At", _AT, "When the row was first made (UTC)."),
    "updated_at": Term("Updated At", _AT, "When the row last changed (UTC)."),
    "valid_from": Term("Valid From", _AT, "System time from which the database knew this row; usable as asOf."),
    "valid_to": Term("Valid To", None, "System time at which another row took its place; null: it is current."),
    "requested_at": Term("Requested At", _AT, "When it was asked for (UTC)."),
    "committed_at": Term(
        "Committed At",
        _AT,
        "System time of the change (UTC), usable as asOf; null where nothing was changed.",
    ),
    "as_of": Term("As Of", _AT, "A system time (UTC): what the database knew then."),
    "from": Term("From", "2026-03-01T00:00:00Z", "System time of the earlier state (UTC)."),
    "to": Term("To", _AT, "System time of the later state (UTC)."),
    # graphs
    "revalidation_mode": Term(
        "Revalidation Mode",
        "automatic",
        "automatic: the service decides by itself. agent: a task waits for an agent.",
    ),
    "policy": Term(
        "Policy",
        "evidential",
        "What the loss of one of several grounds means. Default: the graph's, else evidential.",
    ),
    "propagation": Term(
        "Propagation",
        "frontier",
        "frontier: doubt stays local. transitive: it travels. Default: the graph's.",
    ),
    # invalidation
    "root_node_ids": Term("Root Nodes", [_NODE], "The nodes to invalidate, by id; 1 to 1,000 with the keys."),
    "root_keys": Term("Root Node Keys", ["emacs-common"], "The nodes to invalidate, by their keys in graphId."),
    "reason": Term("Reason", "The upstream package was withdrawn."),
    "requested_status": Term("Requested Status", "Invalid", "The status that the roots were to get."),
    "override_pinned": Term("Override Pinned", False, "Whether pinned nodes are changed as well."),
    "dry_run": Term("Dry Run", False, "Compute the same report and change nothing at all."),
    "plan_token": Term(
        "Plan Token",
        None,
        "From a dry run: sent with the real call, that is refused (409) if it would differ.",
    ),
    "counts": Term("Counts"),
    "by_outcome": Term("By Outcome", {"Invalidated": 428, "MarkedPotentiallyStale": 14}, "Nodes by outcome."),
    "by_status": Term(
        "By Status",
        {"Invalid": 428, "PotentiallyStale": 14},
        "Affected nodes, roots included, by their status after the run.",
    ),
    "Invalid": Term("Invalid", 428),
    "PotentiallyStale": Term("Potentially Stale", 14),
    "by_depth": Term("By Depth", [1, 12, 429], "Nodes by depth; the first number counts the roots."),
    "cycles": Term("Cycles", None, "Groups of affected nodes that rest on one another, each once."),
    "impacts": Term("Impacts", None, "The first impacts, by depth, then id."),
    "component": Term("Cycle", 0, "Number of the cycle the node belongs to; null for none."),
    "size": Term("Size", 3, "How many nodes there are in it."),
    "memory_node_ids": Term("Memory Nodes", [_NODE, _OTHER]),
    "truncated": Term("Truncated", False, "Whether there are more than are listed."),
    "depth": Term("Depth", 1, "Round in which the node was first reached; roots have 0."),
    "old_status": Term("Old Status", "Valid"),
    "new_status": Term("New Status", "Invalid"),
    "outcome": Term("Outcome", "Invalidated", "What the run did to the node."),
    "via_edge_id": Term("Via Edge", _EDGE, "The edge over which the node was first reached; null for a root."),
    "invalidation_run": Term("Invalidation Run", None, "The run that a Supersedes edge caused, if it did."),
    "invalidation_runs": Term("Invalidation Runs", None, "The runs that a new version of the rule caused."),
    "causes": Term("Causes", None, "The root causes, nearest first."),
    "distance": Term("Distance", 2, "Number of edges between the cause and the node."),
    # revalidation
    "corrections": Term("Corrections", None, "Nodes that are right again, with what they state from now on."),
    "keys": Term("Memory Node Keys", ["bash"], "Nodes to look at as they are, by their keys in graphId."),
    "whole_graph": Term("Whole Graph", False, "Look at every node of graphId as it is."),
    "decided_by": Term("Decided By", "ana@example.org", "The person or agent that decided."),
    "cause": Term("Cause", "Invalidation", "Why the run looked: an event, a correction, a decision, or by hand."),
    "invalidation_run_id": Term("Invalidation Run", _RUN, "The cascade after which the run looked, if it was one."),
    "child_run_ids": Term("Child Runs", [], "The cascades that went on from the run."),
    "decisions": Term("Decisions", None, "What was found at each node, by node: the first of them."),
    "review_reason": Term(
        "Review Reason",
        "PartialSupport",
        "PartialSupport, Contradiction, CircularSupport, or Requested: a caller's own doubt.",
    ),
    "old_confidence": Term("Old Confidence", 0.5),
    "new_confidence": Term("New Confidence", 1.0),
    "decision": Term("Decision", "Accept", "Accept: it holds. Reject: it does not. Supersede: another replaces it."),
    "explanation": Term("Explanation", "Two of the three sources agree.", "The decider's reason."),
    "certainty": Term("Certainty", 0.9, "Between 0 and 1: how sure the decider is."),
    "decided_at": Term("Decided At", _AT, "When it was decided (UTC)."),
    "review_id": Term("Review", _RUN, "Stays the same for as long as the review is open."),
    "task_id": Term("Revalidation Task", _RUN),
    "ground": Term(
        "Ground",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "Tells the state of the node's sources from any other. A decision that sends an old one is refused (409).",
    ),
    "grounds": Term("Grounds", None, "What the node rests on, or what contradicts it, as it is now."),
    "opened_at": Term("Opened At", _AT, "When it was put up for decision (UTC)."),
    "closed_at": Term("Closed At", None, "When it was decided, or resolved itself (UTC)."),
    "resolution": Term("Resolution", None, "The decision that closed it; Resolved: it closed by itself."),
    "superseded_by_key": Term("Superseded By Key", None, "With Supersede: the node that replaces it, by its key."),
    "superseded_by_node_id": Term("Superseded By Node", None, "With Supersede: the node that replaces it, by id."),
    "owner": Term("Lease Owner", "agent-7", "The agent that holds the task."),
    "limit": Term("Limit", 10, "Most tasks to lease."),
    "lease_seconds": Term("Lease", 60, "Seconds for which nobody else gets the task."),
    "lease_owner": Term("Lease Owner", "agent-7", "Who holds it now."),
    "lease_expires_at": Term("Lease Expires At", _AT, "When others may take it (UTC)."),
    "revalidation_run": Term("Revalidation Run", None, "The run that carried the decision out."),
    "revalidate": Term(
        "Revalidate", False, "The new version is a fix: what rested on older ones rests on it, and is right again."
    ),
    # events
    "outbox_event_id": Term("Outbox Event", 42, "Grows with each event."),
    "event_type": Term("Event Type", "InvalidationCompleted"),
    "event_types": Term("Event Types", ["InvalidationCompleted"], "Only these; absent: all."),
    "event_state": Term("State", "Dead", "Pending, Done, or Dead: given up after too many attempts."),
    "subject_id": Term("Subject", _RUN, "The run, node, rule or subscription that the event is about."),
    "lane": Term("Lane", None, "The subscription whose deliveries it stands in line with; null: the fleet's events."),
    "cause_event": Term("Cause Event", None, "Of a delivery: the event that is delivered."),
    "attempts": Term("Attempts", 8, "How often it has failed."),
    "available_at": Term("Available At", None, "When it is tried again (UTC)."),
    "last_error": Term("Last Error", "ConnectError: connection refused", "Why the last attempt failed."),
    "handled_at": Term("Handled At", _AT, "When it was done, or given up (UTC)."),
    "webhook_id": Term("Webhook", "5b8d1c6e-2a94-4e0f-8c37-9d0e1f2a3b4c"),
    "url": Term("URL", "https://example.org/hooks/memory", "Where events are sent, by POST."),
    "secret": Term(
        "Secret",
        "whsec-9mWkz3hTq8uXv4Lr2PnB7cYd",
        "Signs each delivery (HMAC-SHA256); made by the service where none is given.",
    ),
    # answers
    "items": Term("Items"),
    "next_cursor": Term("Next Cursor", None, "Send as cursor for the next part; null on the last one."),
    "nodes": Term("Memory Nodes"),
    "edges": Term("Memory Edges"),
    "assertions": Term("Memory Assertions"),
    "external": Term("External", True, "A node of another graph that an edge of this one reaches."),
    "change": Term("Change", "changed", "added, removed or changed."),
    "before": Term("Before", None, "The row at the earlier time; null if there was none."),
    "after": Term("After", None, "The row at the later time; null if there is none."),
    "line": Term("Line", 17),
    "added": Term("Added", {"nodes": 63436, "edges": 327836}, "New rows by kind."),
    "changed": Term("Changed", {"nodes": 0, "edges": 0}, "Rows that were there and differ now, by kind."),
    # problems
    "type": Term("Type", "/problems/not-found", "What went wrong, in a form that does not change."),
    "title": Term("Title", "There is no such thing here.", "What went wrong, in words."),
    "detail": Term("Detail", "Memory node 6f1f3c52-… is not known here.", "What to do about this very case."),
    "errors": Term("Errors", None, "Each fault that was found."),
    "pointer": Term("Pointer", "/reason", "JSON pointer into the body, or / and the name of the parameter."),
}

VOCABULARY = {(to_camel(name) if name.islower() else name): term for name, term in _TERMS.items()}
