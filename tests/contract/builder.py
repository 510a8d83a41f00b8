"""Makes graphs through the services, in few words."""

from collections.abc import Callable
from datetime import UTC, datetime
from io import BytesIO
from typing import Any, TypeVar
from uuid import UUID, uuid4, uuid5

import orjson
from pydantic.alias_generators import to_camel

from app.domain.models import MemoryNode, Principal
from app.schemas import NewGraph, NewInvalidation
from app.services import exchange, graphs, invalidate, nodes
from app.services.reports import Report
from app.store.ports import Store
from app.store.unit import UnitOfWork, View

Line = dict[str, Any]
Result = TypeVar("Result")

DAY = datetime(2024, 3, 1, tzinfo=UTC)
"""A business time in the past, for requests that give one."""


def fresh_principal() -> Principal:
    return Principal(uuid4(), uuid4())


def node(key: str | None, **fields: Any) -> Line:
    return line("node", key=key, **fields)


def edge(source: str, target: str, edge_type: str = "Requires", **fields: Any) -> Line:
    """Ends by key; ``source="", source_node_id=…`` names one by id."""
    return line("edge", source=source or None, target=target or None, edge_type=edge_type, **fields)


def assertion(of: str, content: str, **fields: Any) -> Line:
    return line("assertion", node=of, content=content, **fields)


def evidence(of: str, reference: str, **fields: Any) -> Line:
    return line("evidence", **{"node": of, "reference": reference, "evidence_type": "Document", **fields})


def rule(name: str, version: str, **fields: Any) -> Line:
    return line("rule", name=name, version=version, **fields)


def line(kind: str, **fields: Any) -> Line:
    return {"kind": kind} | {to_camel(name): value for name, value in fields.items() if value is not None}


def ndjson(*lines: Line | bytes) -> bytes:
    return b"".join(line if isinstance(line, bytes) else orjson.dumps(line) + b"\n" for line in lines)


class GraphBuilder:
    """One graph of one fleet. Every call is a transaction of its own and commits."""

    def __init__(
        self, store: Store, who: Principal | None = None, graph_id: UUID | None = None, **settings: Any
    ) -> None:
        self.store = store
        self.who = who or fresh_principal()
        self.graph_id = graph_id or uuid4()
        self.write(lambda uow: graphs.create(uow, NewGraph(name="graph", graph_id=self.graph_id, **settings)))

    def write(self, work: Callable[[UnitOfWork], Result]) -> Result:
        with self.store.write(self.who) as uow:
            result = work(uow)
            uow.commit()
        return result

    def stamp(self, work: Callable[[UnitOfWork], object]) -> datetime:
        """Do it, and tell when it was committed."""
        with self.store.write(self.who) as uow:
            work(uow)
            uow.commit()
        return uow.stamp

    def read(self, work: Callable[[View], Result]) -> Result:
        with self.store.read(self.who) as view:
            return work(view)

    def load(self, *lines: Line | bytes) -> datetime:
        """Import; the commit's stamp."""
        return datetime.fromisoformat(self.imported(*lines)["committedAt"])

    def imported(self, *lines: Line | bytes) -> dict[str, Any]:
        """Import; its answer."""
        stored = exchange.import_lines(self.store, self.who, self.graph_id, BytesIO(ndjson(*lines)))
        answer: dict[str, Any] = orjson.loads(stored.body)
        return answer

    def id(self, key: str) -> UUID:
        """API: without a given id, id = UUIDv5(graphId, key)."""
        return uuid5(self.graph_id, key)

    def edge_id(self, source: str, target: str, edge_type: str = "Requires", group: str = "") -> UUID:
        """API: an edge line's id defaults to UUIDv5(graphId, "type|source|target|group")."""
        return uuid5(self.graph_id, f"{edge_type}|{source}|{target}|{group}")

    def request(self, *keys: str, **options: Any) -> NewInvalidation:
        return NewInvalidation(
            **{"graph_id": self.graph_id, "root_keys": list(keys), "reason": "It was wrong.", **options}
        )

    def invalidate(self, *keys: str, **options: Any) -> Report:
        return self.write(lambda uow: invalidate.invalidate(uow, self.request(*keys, **options)))

    def plan(self, *keys: str, **options: Any) -> Report:
        return invalidate.plan(self.store, self.who, self.request(*keys, **options))

    def node(self, key: str) -> MemoryNode:
        return self.read(lambda view: nodes.get(view, self.id(key)))

    def nodes(self) -> dict[str, MemoryNode]:
        """By key."""
        page = self.read(lambda view: nodes.page(view, graph_id=self.graph_id, limit=1000, cursor=None))
        assert page.next_cursor is None
        return {row.key or str(row.memory_node_id): row for row in page.items}

    def statuses(self) -> dict[str, str]:
        """Of the nodes that are not Valid, by key."""
        return {key: row.status for key, row in self.nodes().items() if row.status != "Valid"}


def outcomes(report: Report) -> dict[str, str]:
    """By key."""
    assert report.impacts.next_cursor is None
    return {impact.key or str(impact.memory_node_id): impact.outcome for impact in report.impacts.items}


def depths(report: Report) -> dict[str, int]:
    """By key."""
    assert report.impacts.next_cursor is None
    return {impact.key or str(impact.memory_node_id): impact.depth for impact in report.impacts.items}
