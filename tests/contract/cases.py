"""Random cases of the reference model, as lines of an import."""

import os
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from hypothesis import settings

from app.domain.models import MemoryNode
from app.services import nodes
from tests.contract.builder import DAY, GraphBuilder, Line, line, rule
from tests.reference.cascade import EVIDENTIAL, Edge, Node
from tests.reference.strategies import Case, Request

STATUSES = ("Valid", "PotentiallyStale", "Invalid")
_ON_A_SERVER = 10
"""How many times fewer where ``TEST_SQLSERVER_URL`` names a server: an example is some fifty statements."""


def examples(count: int) -> settings:
    """How many random cases a test tries."""
    return settings(max_examples=count // _ON_A_SERVER if os.environ.get("TEST_SQLSERVER_URL") else count)


def at(time: int | None) -> datetime | None:
    """The cases' small times, a microsecond apart: bounds are exact to the last digit."""
    return None if time is None else DAY + timedelta(microseconds=time)


def lines_of(case: Case) -> list[Line]:
    return [*map(node_line, case.nodes), *(each for edge in case.edges for each in edge_lines(edge))]


def node_line(node: Node) -> Line:
    return line(
        "node",
        key=key_of(node.id),
        memory_node_id=node.id,
        status=STATUSES[node.status],
        invalidation=node.invalidation,
        invalid_since=at(node.invalid_since),
        is_pinned=node.pinned,
        confidence=node.confidence,
        base_confidence=node.base_confidence,
    )


def edge_lines(edge: Edge) -> list[Line]:
    """The edge, and its rule if it has one."""
    ruled = edge.rule_from is not None
    row = line(
        "edge",
        memory_edge_id=edge.id,
        source_node_id=edge.source,
        target_node_id=edge.target,
        edge_type=edge.type,
        support_group=edge.group,
        min_support=None if edge.group is None else edge.k,
        weight=edge.weight,
        effective_from=at(edge.effective_from),
        effective_to=at(edge.effective_to),
        rule_name=f"rule of {edge.id}" if ruled else None,
        rule_version="1" if ruled else None,
    )
    if not ruled:
        return [row]
    return [rule(f"rule of {edge.id}", "1", effective_at=at(edge.rule_from), expires_at=at(edge.rule_to)), row]


def key_of(node_id: str) -> str:
    return f"key of {node_id}"


def options_of(request: Request) -> dict[str, Any]:
    return {
        "root_node_ids": [UUID(root) for root in request.roots],
        "status": STATUSES[request.status],
        "effective_time": at(request.effective_time),
        "policy": request.policy,
        "propagation": request.propagation,
        "override_pinned": request.override_pinned,
    }


def state_of(graph: GraphBuilder) -> dict[str, MemoryNode]:
    """The nodes by id."""
    page = graph.read(lambda view: nodes.page(view, graph_id=graph.graph_id, limit=1000, cursor=None))
    return {str(row.memory_node_id): row for row in page.items}


def counterpart(case: Case) -> list[Line]:
    """The same ids, keys and rules in a state that would change every answer: all Valid and unpinned, every edge in
    force for ever, turned round and of another type."""
    return lines_of(
        Case(
            tuple(Node(node.id) for node in case.nodes),
            tuple(
                Edge(
                    edge.id,
                    edge.target,
                    edge.source,
                    "DerivedFrom" if edge.type not in EVIDENTIAL else "Requires",
                    rule_from=None if edge.rule_from is None else 0,
                )
                for edge in case.edges
            ),
            case.request,
        )
    )
