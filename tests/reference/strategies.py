"""Hypothesis strategies: small random graphs with a history, and a request to invalidate some nodes.

Small on purpose: a few nodes under many edges meet cycles, broken groups, pins and second reaches far more
often than a large graph does.
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
from tests.reference.revalidation import World

EDGE_TYPES = (*sorted(EVIDENTIAL), *sorted(NECESSARY), CONTRADICTS, SUPERSEDES)
_WEIGHTS = dict.fromkeys(EVIDENTIAL, 5) | dict.fromkeys(NECESSARY, 3) | {CONTRADICTS: 2, SUPERSEDES: 4}
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


def cases() -> st.SearchStrategy[Case]:
    """Cases from seeds. Drawn piece by piece, they come out too alike and too thin for much to happen in them."""
    return st.integers(0, 2**32 - 1).map(random_case)


def random_case(seed: int) -> Case:
    """The smaller the seed, the smaller the case: a seed that shrinks leaves less to work out by hand."""
    random = Random(seed)
    size, edge_count = 2 + seed % 11, 8 + seed // 11 % 32
    # Ids in lower case, of any bits: an order that is not that of the text must show.
    node_ids = [str(UUID(int=random.getrandbits(128))) for _ in range(size)]
    targets = random.choices(node_ids, k=edge_count)  # so that some have several supports, and some none
    return Case(
        tuple(_node(random, node_id) for node_id in node_ids),
        tuple(_edge(random, node_ids, target) for target in targets),
        Request(
            tuple(random.sample(node_ids, min(size, random.choice([1, 1, 1, 1, 2, 2, 3])))),
            random.choice([INVALID, INVALID, INVALID, INVALID, POTENTIALLY_STALE]),
            _time(random),
            random.choice(["evidential", "strict"]),
            random.choice(["frontier", "transitive"]),
            random.random() < 0.2,
        ),
    )


def _node(random: Random, node_id: str) -> Node:
    status = random.choices([VALID, POTENTIALLY_STALE, INVALID], [7, 1, 3])[0]
    pinned = random.random() < 0.08
    if status != INVALID:
        return Node(node_id, status, pinned=pinned)
    return Node(node_id, status, random.choice(["Derived", "Direct"]), _time(random), pinned)


def _edge(random: Random, node_ids: list[str], target: str) -> Edge:
    source = random.choice([node_id for node_id in node_ids if node_id != target])
    edge_type = random.choices(EDGE_TYPES, [_WEIGHTS[each] for each in EDGE_TYPES])[0]
    group = random.choice([None, None, None, "g", "h"]) if edge_type in EVIDENTIAL else None
    k = 1 if group is None else random.randint(1, 3)
    rule_from, rule_to = None, None
    if random.random() < 0.12:  # a rule always begins, and may not end
        rule_from = _time(random)
        rule_to = random.choice([None, random.randint(rule_from + 1, LAST_TIME + 1)])
    start, end = _interval(random)
    id_ = str(UUID(int=random.getrandbits(128)))
    return Edge(id_, source, target, edge_type, group, k, start, end, rule_from, rule_to)


def _interval(random: Random) -> tuple[int | None, int | None]:
    """Half-open and not empty; most are unbounded."""
    start = _time(random) if random.random() < 0.12 else None
    if random.random() < 0.88:
        return start, None
    return start, random.randint(0 if start is None else start + 1, LAST_TIME + 1)


def _time(random: Random) -> int:
    return random.randint(0, LAST_TIME)


NOW = 1_000
"""Later than every time of a case: what is looked at again is looked at as of now."""


def random_world(seed: int) -> World:
    """A small graph with weights, base confidences and pins, in a coherent state: every status and confidence is what
    the rules give. Some nodes of it are directly Invalid."""
    random = Random(seed)
    size, edge_count = 2 + seed % 9, 2 + seed // 9 % 20
    node_ids = [str(UUID(int=random.getrandbits(128))) for _ in range(size)]
    nodes = {}
    for node_id in node_ids:
        base = random.choice([1.0, 1.0, 0.9, 0.5, 0.0])
        pinned = random.random() < 0.08
        status = random.choices([VALID, INVALID], [9, 1])[0]
        invalidation, since = ("Direct", 0) if status == INVALID else (None, None)
        nodes[node_id] = Node(node_id, status, invalidation, since, pinned, base, base)
    edges = []
    for target in random.choices(node_ids, k=edge_count):
        edge = _edge(random, node_ids, target)
        edges.append(replace(edge, weight=random.choice([1.0, 1.0, 1.0, 0.7, 0.3]), rule_from=None, rule_to=None))
    world = World(
        nodes,
        edges,
        policy=random.choice(["evidential", "strict"]),
        propagation=random.choice(["frontier", "transitive"]),
    )
    for _ in range(20):
        world.look_at_everything(NOW)
        world.drain(NOW)
        if not world.incoherent(NOW):
            break
    return world
