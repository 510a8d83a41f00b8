"""Hypothesis strategies: small random graphs with a history, and a request to invalidate some nodes.

Small on purpose: a few nodes under many edges meet cycles, broken groups, pins and second reaches far more
often than a large graph does, and shrink to something a person can work out by hand.
"""

from __future__ import annotations

from dataclasses import dataclass
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


def uuids(count: int) -> st.SearchStrategy[list[str]]:
    """In lower case, of any bits: an order that is not that of the text must show. One seed, for speed."""

    def listed(seed: int) -> list[str]:
        random = Random(seed)
        return [str(UUID(int=random.getrandbits(128))) for _ in range(count)]

    return st.integers(0, 2**32).map(listed)


def times() -> st.SearchStrategy[int]:
    return st.integers(0, LAST_TIME)


@st.composite
def intervals(draw: st.DrawFn) -> tuple[int | None, int | None]:
    """Half-open and not empty; most are unbounded."""
    bounds = draw(st.sampled_from(["", "", "", "", "from", "to", "both"]))
    start = draw(times()) if bounds in ("from", "both") else None
    if bounds not in ("to", "both"):
        return start, None
    return start, draw(st.integers(0 if start is None else start + 1, LAST_TIME + 1))


@st.composite
def rules(draw: st.DrawFn) -> tuple[int, int | None]:
    start = draw(times())
    return start, draw(st.sampled_from([None, *range(start + 1, LAST_TIME + 2)]))


@st.composite
def nodes(draw: st.DrawFn, node_id: str) -> Node:
    status = draw(st.sampled_from([VALID, VALID, VALID, POTENTIALLY_STALE, INVALID]))
    pinned = draw(st.sampled_from([False, False, False, True]))
    if status != INVALID:
        return Node(node_id, status, pinned=pinned)
    return Node(node_id, status, draw(st.sampled_from(["Derived", "Direct"])), draw(times()), pinned)


@st.composite
def edges(draw: st.DrawFn, edge_id: str, node_ids: list[str]) -> Edge:
    source = draw(st.sampled_from(node_ids))
    target = draw(st.sampled_from([node_id for node_id in node_ids if node_id != source]))
    edge_type = draw(st.sampled_from(EDGE_TYPES))
    group = draw(st.sampled_from([None, "g", "h"])) if edge_type in EVIDENTIAL else None
    k = 1 if group is None else draw(st.integers(1, 3))
    # Most edges have no rule; a rule always begins, and may not end.
    rule = draw(rules()) if draw(st.sampled_from([False, False, False, True])) else (None, None)
    return Edge(edge_id, source, target, edge_type, group, k, *draw(intervals()), *rule)


@st.composite
def requests(draw: st.DrawFn, node_ids: list[str]) -> Request:
    return Request(
        tuple(draw(st.lists(st.sampled_from(node_ids), min_size=1, max_size=3, unique=True))),
        draw(st.sampled_from([INVALID, INVALID, POTENTIALLY_STALE])),
        draw(times()),
        draw(st.sampled_from(["evidential", "strict"])),
        draw(st.sampled_from(["frontier", "transitive"])),
        draw(st.sampled_from([False, False, False, True])),
    )


@st.composite
def cases(draw: st.DrawFn, max_nodes: int = 9, max_edges: int = 20) -> Case:
    # Drawn sizes, since Hypothesis' lists of a free size mostly come out too short for anything to happen.
    size, edge_count = draw(st.integers(2, max_nodes)), draw(st.integers(0, max_edges))
    ids = draw(uuids(size + edge_count))
    node_ids, edge_ids = ids[:size], ids[size:]
    return Case(
        tuple(draw(nodes(node_id)) for node_id in node_ids),
        tuple(draw(edges(edge_id, node_ids)) for edge_id in edge_ids),
        draw(requests(node_ids)),
    )
