"""Hypothesis strategies: small random graphs with a history, and a request to invalidate some nodes.

Small on purpose: a few nodes under many edges meet cycles, broken groups, pins and second reaches far more
often than a large graph does, and shrink to something a person can work out by hand.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from uuid import UUID

from hypothesis import strategies as st

from tests.reference.cascade import (
    CONTRADICTS,
    EVIDENTIAL,
    INVALID,
    NECESSARY,
    POTENTIALLY_STALE,
    SUPERSEDES,
    VALID,
    Edge,
    Node,
    Policy,
    Propagation,
    Report,
    cascade,
)

EDGE_TYPES = (*sorted(EVIDENTIAL), *sorted(NECESSARY), CONTRADICTS, SUPERSEDES)
LAST_TIME = 9  # times are 0 … 9, so that bounds often fall on the effective time itself


@dataclass(frozen=True)
class Request:
    roots: tuple[str, ...]
    status: int
    effective_time: int
    policy: Policy
    propagation: Propagation
    override_pinned: bool


@dataclass(frozen=True)
class Case:
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    request: Request


def expected(case: Case) -> Report:
    request = case.request
    return cascade(
        case.nodes,
        case.edges,
        request.roots,
        status=request.status,
        effective_time=request.effective_time,
        policy=request.policy,
        propagation=request.propagation,
        override_pinned=request.override_pinned,
    )


@st.composite
def cases(draw: st.DrawFn, max_nodes: int = 9, max_edges: int = 20) -> Case:
    """A case from a seed, of which Hypothesis may leave edges out.

    Drawn piece by piece, cases mostly come out too alike and too thin for anything to happen at depth 2; from a seed
    they are as varied as the numbers below say, and what shrinks is the number of edges.
    """
    case = random_case(Random(draw(st.integers(0, 2**64 - 1))), max_nodes, max_edges)
    return replace(case, edges=tuple(edge for edge in case.edges if draw(st.integers(0, 19))))


def random_case(random: Random, max_nodes: int = 9, max_edges: int = 20) -> Case:
    # Ids in lower case, of any bits: an order that is not that of the text must show.
    node_ids = [str(UUID(int=random.getrandbits(128))) for _ in range(random.randint(2, max_nodes))]
    edge_count = random.randint(len(node_ids) - 1, max_edges)
    return Case(
        tuple(_node(random, node_id) for node_id in node_ids),
        tuple(_edge(random, node_ids) for _ in range(edge_count)),
        Request(
            tuple(random.sample(node_ids, random.randint(1, min(3, len(node_ids))))),
            random.choice([INVALID, INVALID, INVALID, POTENTIALLY_STALE]),
            _time(random),
            random.choice(["evidential", "strict"]),
            random.choice(["frontier", "transitive"]),
            random.random() < 0.2,
        ),
    )


def _node(random: Random, node_id: str) -> Node:
    status = random.choice([VALID, VALID, VALID, VALID, POTENTIALLY_STALE, INVALID, INVALID])
    pinned = random.random() < 0.1
    if status != INVALID:
        return Node(node_id, status, pinned=pinned)
    return Node(node_id, status, random.choice(["Derived", "Derived", "Direct"]), _time(random), pinned)


def _edge(random: Random, node_ids: list[str]) -> Edge:
    source, target = random.sample(node_ids, 2)
    edge_type = random.choices(EDGE_TYPES, [3 if each in EVIDENTIAL else 2 for each in EDGE_TYPES])[0]
    group = random.choice([None, None, "g", "h"]) if edge_type in EVIDENTIAL else None
    k = 1 if group is None else random.randint(1, 3)
    # A rule always begins, and may not end.
    rule = (None, None)
    if random.random() < 0.15:
        rule_start = _time(random)
        rule = (rule_start, random.choice([None, random.randint(rule_start + 1, LAST_TIME + 1)]))
    id_ = str(UUID(int=random.getrandbits(128)))
    return Edge(id_, source, target, edge_type, group, k, *_interval(random), *rule)


def _interval(random: Random) -> tuple[int | None, int | None]:
    """Half-open and not empty; most are unbounded."""
    start = _time(random) if random.random() < 0.15 else None
    if random.random() < 0.85:
        return start, None
    return start, random.randint(0 if start is None else start + 1, LAST_TIME + 1)


def _time(random: Random) -> int:
    return random.randint(0, LAST_TIME)
