"""Graphs out as NDJSON, in the form that an import takes: what a line leaves out, the import fills in alike."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from uuid import UUID

import orjson

from app.domain import identity
from app.domain.models import MemoryAssertion, MemoryNode, Principal, SourceRule
from app.services import graphs
from app.services.nodes import name_of
from app.store.ports import Store
from app.store.repositories.export import ExportedEdge, ExportedEvidence
from app.store.unit import View

Line = dict[str, object]


@contextmanager
def export_lines(store: Store, who: Principal, graph_id: UUID, as_of: datetime | None) -> Iterator[Iterator[bytes]]:
    """The graph as known at ``as_of``, or at the last commit, a line at a time.

    Ids that follow from names are left out, so the lines can be imported into another graph. Evidence and rules are not
    system-versioned: those recorded by then are given as they are now.
    """
    settled = store.settle(who, as_of)
    with store.read(who) as view:
        graphs.get(view, graph_id)
        yield (
            orjson.dumps(
                {name: value for name, value in line.items() if value is not None},
                option=orjson.OPT_UTC_Z | orjson.OPT_APPEND_NEWLINE,
            )
            for line in _lines(view, who, graph_id, settled)
        )


def _lines(view: View, who: Principal, graph_id: UUID, as_of: datetime) -> Iterator[Line]:
    for rule in view.rules.of_graph(graph_id, as_of):
        yield _rule(who, rule)
    assertions = view.export.assertions(graph_id, as_of)
    waiting = next(assertions, None)
    for node in view.export.nodes(graph_id, as_of):
        line, others = _node(node), []
        while waiting and waiting.memory_node_id == node.memory_node_id:
            if _is_content_of(waiting, node):
                line["content"] = waiting.content
            else:
                others.append(_assertion(waiting, node))
            waiting = next(assertions, None)
        yield line
        yield from others
    for edge in view.export.edges(graph_id, as_of):
        yield _edge(graph_id, edge)
    for evidence in view.export.evidence(graph_id, as_of):
        yield _evidence(graph_id, evidence)


def _unless(value: object, default: object) -> object:
    return None if value == default else value


def _rule(who: Principal, rule: SourceRule) -> Line:
    return {
        "kind": "rule",
        "sourceRuleId": _unless(rule.source_rule_id, identity.rule_id(who.fleet_id, rule.name, rule.version)),
        "name": rule.name,
        "version": rule.version,
        "description": rule.description,
        "effectiveAt": rule.effective_at,
        "expiresAt": rule.expires_at,
    }


def _node(node: MemoryNode) -> Line:
    default = identity.node_id(node.graph_id, node.key) if node.key is not None else None
    return {
        "kind": "node",
        "key": node.key,
        "memoryNodeId": _unless(node.memory_node_id, default),
        "name": node.name,
        "nodeType": node.node_type,
        "category": node.category,
        "status": node.status,
        "invalidSince": node.invalid_since,
        "invalidation": node.invalidation,
        "confidence": node.confidence,
        "baseConfidence": node.base_confidence,
        "isPinned": node.is_pinned,
        "pinnedBy": node.pinned_by,
        "pinReason": node.pin_reason,
        "createdAt": node.created_at,
    }


def _is_content_of(assertion: MemoryAssertion, node: MemoryNode) -> bool:
    """Whether the node line's ``content`` says all there is to say of the assertion."""
    return (
        assertion.memory_assertion_id == identity.first_assertion_id(node.graph_id, name_of(node))
        and assertion.category == node.category
        and (assertion.importance, assertion.confidence) == (0.5, 1.0)
        and assertion.observed_at == node.created_at
        and {
            assertion.effective_from,
            assertion.effective_to,
            assertion.last_verified_at,
            assertion.superseded_by,
            assertion.retracted_at,
            assertion.source_rule_id,
        }
        == {None}
    )


def _assertion(assertion: MemoryAssertion, node: MemoryNode) -> Line:
    id_ = assertion.memory_assertion_id
    default = identity.assertion_id(node.graph_id, name_of(node), assertion.effective_from, assertion.content)
    first = node.key is not None and id_ == identity.first_assertion_id(node.graph_id, node.key)
    return {
        "kind": "assertion",
        "first": True if first else None,
        "memoryAssertionId": None if first else _unless(id_, default),
        "node": node.key,
        "memoryNodeId": node.memory_node_id if node.key is None else None,
        "content": assertion.content,
        "category": assertion.category,
        "importance": assertion.importance,
        "confidence": assertion.confidence,
        "observedAt": assertion.observed_at,
        "effectiveFrom": assertion.effective_from,
        "effectiveTo": assertion.effective_to,
        "lastVerifiedAt": assertion.last_verified_at,
        "supersededBy": assertion.superseded_by,
        "retractedAt": assertion.retracted_at,
        "sourceRuleId": assertion.source_rule_id,
    }


def _edge(graph_id: UUID, edge: ExportedEdge) -> Line:
    source = edge.source_key if edge.source_key is not None else str(edge.source_node_id)
    target = edge.target_key if edge.target_key is not None else str(edge.target_node_id)
    default = identity.edge_id(graph_id, edge.edge_type, source, target, edge.support_group)
    return {
        "kind": "edge",
        "memoryEdgeId": _unless(edge.memory_edge_id, default),
        "source": edge.source_key,
        "sourceNodeId": edge.source_node_id if edge.source_key is None else None,
        "target": edge.target_key,
        "targetNodeId": edge.target_node_id if edge.target_key is None else None,
        "edgeType": edge.edge_type,
        "supportGroup": edge.support_group,
        "minSupport": edge.min_support if edge.support_group is not None else None,
        "weight": edge.weight,
        "effectiveFrom": edge.effective_from,
        "effectiveTo": edge.effective_to,
        "sourceRuleId": edge.source_rule_id,
        "createdAt": edge.created_at,
    }


def _evidence(graph_id: UUID, evidence: ExportedEvidence) -> Line:
    default = identity.evidence_id(graph_id, evidence.memory_assertion_id, evidence.evidence_type, evidence.reference)
    first = evidence.node_key is not None and evidence.memory_assertion_id == identity.first_assertion_id(
        graph_id, evidence.node_key
    )
    return {
        "kind": "evidence",
        "evidenceReferenceId": _unless(evidence.evidence_reference_id, default),
        "node": evidence.node_key if first else None,
        "memoryAssertionId": None if first else evidence.memory_assertion_id,
        "evidenceType": evidence.evidence_type,
        "reference": evidence.reference,
        "details": evidence.details,
        "recordedAt": evidence.recorded_at,
    }
