"""Turns checked import lines into rows of the work tables, with the ids that follow from names."""

from collections.abc import Iterator
from uuid import UUID

from app.domain import identity
from app.domain.models import Principal
from app.schemas import AssertionLine, EdgeLine, EvidenceLine, Line, NodeLine
from app.schemas.lines import RuleLine
from app.store.repositories.staging import Staging
from app.store.session import LEVELS

Row = dict[str, object]


def rows_of(number: int, line: Line, who: Principal, graph_id: UUID) -> Iterator[tuple[str, Row]]:
    """The kind and row, or rows, of one line. A field that the line leaves out is None: what is stored stays."""
    match line:
        case EdgeLine():
            yield "edges", _edge(number, line, graph_id)
        case NodeLine():
            row = _node(number, line, graph_id)
            yield "nodes", row
            if line.content is not None:
                yield "assertions", _content(number, line, graph_id)
        case AssertionLine():
            yield "assertions", _assertion(number, line, graph_id)
        case EvidenceLine():
            yield "evidence", _evidence(number, line, graph_id)
        case RuleLine():
            yield "rules", _rule(number, line, who)


def take_missing_ids(staging: Staging, kind: str, graph_id: UUID) -> None:
    """Give ids to the rows whose names had to be looked up first."""
    if kind == "edges":
        staging.name_edges(
            {
                edge.line: identity.edge_id(
                    graph_id,
                    edge.edge_type,
                    edge.source_key or str(edge.source_node_id),
                    edge.target_key or str(edge.target_node_id),
                    edge.support_group,
                )
                for edge in staging.nameless_edges(graph_id)
            }
        )
    if kind == "assertions":
        staging.name_assertions(
            {
                row.line: identity.assertion_id(
                    graph_id, row.node_key or str(row.memory_node_id), row.effective_from, row.content
                )
                for row in staging.nameless_assertions()
            }
        )


def _node(number: int, line: NodeLine, graph_id: UUID) -> Row:
    id_ = line.memory_node_id
    if id_ is None and line.key is not None:
        id_ = identity.node_id(graph_id, line.key)
    return {
        "line": number,
        "memory_node_id": id_,
        "is_id_given": line.memory_node_id is not None,
        "key": line.key,
        "name": line.name,
        "node_type": line.node_type,
        "category": line.category,
        "status": None if line.status is None else LEVELS[line.status],
        "invalid_since": line.invalid_since,
        "invalidation": line.invalidation,
        "confidence": line.confidence,
        "base_confidence": line.base_confidence,
        "is_pinned": line.is_pinned,
        "pinned_by": line.pinned_by,
        "pin_reason": line.pin_reason,
        "created_at": line.created_at,
    }


def _content(number: int, line: NodeLine, graph_id: UUID) -> Row:
    name = line.key if line.key is not None else str(line.memory_node_id)
    return {
        "line": number,
        "memory_assertion_id": identity.first_assertion_id(graph_id, name),
        "node_key": line.key,
        "memory_node_id": line.memory_node_id,
        "content": line.content,
        "category": line.category,
        "importance": None,
        "confidence": None,
        "observed_at": line.created_at,
        "effective_from": None,
        "effective_to": None,
        "last_verified_at": None,
        "superseded_by": None,
        "retracted_at": None,
        "rule_name": None,
        "rule_version": None,
        "source_rule_id": None,
    }


def _edge(number: int, line: EdgeLine, graph_id: UUID) -> Row:
    id_ = line.memory_edge_id
    if id_ is None and line.source is not None and line.target is not None:
        id_ = identity.edge_id(graph_id, line.edge_type, line.source, line.target, line.support_group)
    return {
        "line": number,
        "memory_edge_id": id_,
        "source_key": line.source,
        "source_node_id": line.source_node_id,
        "target_key": line.target,
        "target_node_id": line.target_node_id,
        "edge_type": line.edge_type,
        "support_group": line.support_group,
        "min_support": line.min_support,
        "weight": line.weight,
        "effective_from": line.effective_from,
        "effective_to": line.effective_to,
        "rule_name": line.rule_name,
        "rule_version": line.rule_version,
        "source_rule_id": line.source_rule_id,
        "created_at": line.created_at,
    }


def _assertion(number: int, line: AssertionLine, graph_id: UUID) -> Row:
    id_ = line.memory_assertion_id
    if line.first and line.node is not None:
        id_ = identity.first_assertion_id(graph_id, line.node)
    elif id_ is None and line.node is not None:
        id_ = identity.assertion_id(graph_id, line.node, line.effective_from, line.content)
    return {
        "line": number,
        "memory_assertion_id": id_,
        "node_key": line.node,
        "memory_node_id": line.memory_node_id,
        "content": line.content,
        "category": line.category,
        "importance": line.importance,
        "confidence": line.confidence,
        "observed_at": line.observed_at,
        "effective_from": line.effective_from,
        "effective_to": line.effective_to,
        "last_verified_at": line.last_verified_at,
        "superseded_by": line.superseded_by,
        "retracted_at": line.retracted_at,
        "rule_name": line.rule_name,
        "rule_version": line.rule_version,
        "source_rule_id": line.source_rule_id,
    }


def _evidence(number: int, line: EvidenceLine, graph_id: UUID) -> Row:
    assertion = line.memory_assertion_id
    if assertion is None:
        assertion = identity.first_assertion_id(graph_id, line.node or "")
    default = identity.evidence_id(graph_id, assertion, line.evidence_type, line.reference)
    return {
        "line": number,
        "evidence_reference_id": line.evidence_reference_id or default,
        "memory_assertion_id": assertion,
        "evidence_type": line.evidence_type,
        "reference": line.reference,
        "details": line.details,
        "recorded_at": line.recorded_at,
    }


def _rule(number: int, line: RuleLine, who: Principal) -> Row:
    return {
        "line": number,
        "source_rule_id": line.source_rule_id or identity.rule_id(who.fleet_id, line.name, line.version),
        "name": line.name,
        "version": line.version,
        "description": line.description,
        "effective_at": line.effective_at,
        "expires_at": line.expires_at,
    }
