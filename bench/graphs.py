"""Graphs to measure on, as the NDJSON lines an import takes. The same arguments always give the same lines."""

import gzip
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import orjson

PROPAGATING = frozenset({"Requires", "ValidOnlyWhen", "DerivedFrom", "SupportedBy", "ObservedFrom"})
"""The types of edge along which ground can be lost: what plain reachability follows."""

PACKAGES = 63_436
"""Nodes of the synthetic package graph, as many as Debian bookworm has packages."""

Edge = tuple[str, str, str]


class Shape(NamedTuple):
    """A family of synthetic graphs in which the root ``n0`` brings down every node."""

    name: str
    lines: Callable[[int], Iterator[bytes]]
    size: int
    quick_size: int
    nodes: Callable[[int], int]
    """How many nodes the graph of a size has, all of them Invalid after the cascade."""
    tells: str
    """What a cost that is not linear would show here."""


def chain(n: int) -> Iterator[bytes]:
    """``n`` nodes in a row: as many rounds as nodes, one edge each."""
    yield from (node(f"n{i}") for i in range(n))
    yield from (edge(f"n{i}", f"n{i + 1}") for i in range(n - 1))


def star(n: int) -> Iterator[bytes]:
    """One node and ``n`` dependents: one round that touches all of them."""
    yield from (node(f"n{i}") for i in range(n + 1))
    yield from (edge("n0", f"n{i + 1}") for i in range(n))


def comb(n: int) -> Iterator[bytes]:
    """A chain of ``n`` nodes that all support one hub: the hub's group loses one member in every round."""
    yield from chain(n)
    yield node("hub")
    yield from (edge(f"n{i}", "hub", "SupportedBy") for i in range(n))


def ladder(n: int) -> Iterator[bytes]:
    """``n`` diamonds on top of each other: 2^n paths from the first node to the last."""
    yield from (node(f"n{i}") for i in range(n + 1))
    for i in range(n):
        for side in ("left", "right"):
            yield node(f"{side}{i}")
            yield edge(f"n{i}", f"{side}{i}")
            yield edge(f"{side}{i}", f"n{i + 1}", "SupportedBy")


SHAPES = (
    Shape("ladder", ladder, 1_000, 100, lambda n: 3 * n + 1, "paths that are enumerated"),
    Shape("chain", chain, 100_000, 2_000, lambda n: n, "rounds that look at more than what rose"),
    Shape("star", star, 200_000, 4_000, lambda n: n + 1, "work per pair of dependents"),
    Shape("comb", comb, 100_000, 2_000, lambda n: n + 1, "groups that are counted again every round"),
)


def packages(n: int) -> Iterator[bytes]:
    """A graph like that of a Linux distribution: few hubs with very many dependents, some small cycles.

    About 5.2 edges a node: mostly ``Requires``, some support groups of two or three alternatives, and a few of
    ``ObservedFrom``, ``Contradicts`` and ``Supersedes``.
    """
    chance = random.Random(20231007)
    for i in range(n):
        yield orjson.dumps(
            {
                "kind": "node",
                "key": f"p{i}",
                "name": f"package-{i}",
                "nodeType": "Fact",
                "content": f"Package {i}, which does the work of {i % 97} others (version {i % 7}.{i % 11}-1)",
                "category": f"section-{i % 40}",
            },
            option=orjson.OPT_APPEND_NEWLINE,
        )
    for target in range(1, n):
        yield from _dependencies(chance, target, n)


def _dependencies(chance: random.Random, target: int, n: int) -> Iterator[bytes]:
    """What one package depends on: earlier ones, the earliest by far the most often."""
    wanted = min(target, 1 + int(chance.expovariate(1 / 4.4)))
    sources = {int(target * chance.random() ** 3) for _ in range(wanted)}
    grouped = 0
    for source in sorted(sources):
        kind = chance.random()
        if kind < 0.11:
            group = f"depends-{grouped // 2}"
            grouped += 1
            yield edge(f"p{source}", f"p{target}", "SupportedBy" if kind < 0.08 else "DerivedFrom", group)
        else:
            yield edge(f"p{source}", f"p{target}", _type_for(kind))
    if chance.random() < 0.02 and target + 1 < n:
        yield edge(f"p{target + 1}", f"p{target}")


def _type_for(kind: float) -> str:
    for limit, name in ((0.19, "ObservedFrom"), (0.212, "Contradicts"), (0.223, "Supersedes")):
        if kind < limit:
            return name
    return "Requires"


def node(key: str) -> bytes:
    return b'{"kind":"node","key":"%b"}\n' % key.encode()


def edge(source: str, target: str, edge_type: str = "Requires", group: str | None = None) -> bytes:
    in_group = f',"supportGroup":"{group}"' if group else ""
    line = f'{{"kind":"edge","source":"{source}","target":"{target}","edgeType":"{edge_type}"{in_group}}}\n'
    return line.encode()


def supports_of(file: Path) -> Iterator[bytes]:
    """The lines of a file without contradictions and replacements."""
    with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as lines:
        yield from (line for line in lines if b'"Contradicts"' not in line and b'"Supersedes"' not in line)


def write(lines: Iterator[bytes], file: Path) -> Path:
    """Keep the lines in ``file``, and answer with it."""
    with file.open("wb") as out:
        out.writelines(lines)
    return file


def edges_of(file: Path) -> list[Edge]:
    """Source, target and type of every edge line of an NDJSON file, raw or gzip."""
    with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as lines:
        parsed = (orjson.loads(line) for line in lines)
        return [(line["source"], line["target"], line["edgeType"]) for line in parsed if line["kind"] == "edge"]
