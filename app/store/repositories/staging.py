"""The work tables of an import, and the statements that bring them into the graph."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from app.store.session import Session

KINDS = ("rules", "nodes", "edges", "assertions", "evidence")
_STAGE = {
    "rules": "stage_rule",
    "nodes": "stage_node",
    "edges": "stage_edge",
    "assertions": "stage_assertion",
    "evidence": "stage_evidence",
}
_RESOLVE = {
    "rules": (),
    "nodes": ("staged_nodes_take_ids",),
    "edges": ("staged_edges_find_sources", "staged_edges_find_targets", "staged_edges_find_rules"),
    "assertions": ("staged_assertions_find_nodes", "staged_assertions_find_rules"),
    "evidence": (),
}
_FILLED = ("nodes", "edges", "assertions")
_HAVE_INTERVALS = ("edges", "assertions")


class Fault(NamedTuple):
    """The first line that cannot be applied, and why."""

    line: int
    fault: str


class Applied(NamedTuple):
    """How many rows of a kind an import added and changed, or why it could not."""

    added: int
    changed: int
    fault: Fault | None


class NamelessEdge(NamedTuple):
    line: int
    edge_type: str
    source_key: str | None
    source_node_id: UUID | None
    target_key: str | None
    target_node_id: UUID | None
    support_group: str | None


class NamelessAssertion(NamedTuple):
    line: int
    node_key: str | None
    memory_node_id: UUID | None
    effective_from: datetime | None
    content: str


class Staging:
    """One import at a time on a connection. Tables are filled without the write lock and applied under it."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def clear(self) -> None:
        for kind in KINDS:
            self._session.execute(f"staged_clear_{kind}")

    def add(self, kind: str, rows: Sequence[Mapping[str, object]]) -> None:
        self._session.execute_many(_STAGE[kind], rows)

    def resolve(self, kind: str, graph_id: UUID) -> None:
        """Find the ids that keys and rule names stand for."""
        for statement in _RESOLVE[kind]:
            self._session.execute(statement, graph_id=graph_id)

    def nameless_edges(self, graph_id: UUID) -> list[NamelessEdge]:
        """Edges with an end named by id, so that their own id could not be made when they were read."""
        return self._session.rows(NamelessEdge, "staged_edges_without_id", graph_id=graph_id)

    def nameless_assertions(self) -> list[NamelessAssertion]:
        return self._session.rows(NamelessAssertion, "staged_assertions_without_id")

    def name_edges(self, ids: Mapping[int, UUID]) -> None:
        self._session.execute_many(
            "staged_edge_take_id", [{"line": line, "memory_edge_id": id_} for line, id_ in ids.items()]
        )

    def name_assertions(self, ids: Mapping[int, UUID]) -> None:
        self._session.execute_many(
            "staged_assertion_take_id",
            [{"line": line, "memory_assertion_id": id_} for line, id_ in ids.items()],
        )

    def apply(self, kind: str, graph_id: UUID) -> Applied:
        """Bring the lines of one kind into the graph, or name the first line at fault."""
        fault = self._session.one(Fault, f"staged_{kind}_fault", graph_id=graph_id)
        if fault:
            return Applied(0, 0, fault)
        if kind in _FILLED:
            self._session.execute(f"staged_{kind}_fill")
        if kind in _HAVE_INTERVALS:
            fault = self._session.one(Fault, f"staged_{kind}_reversed")
            if fault:
                return Applied(0, 0, fault)
        added = self._session.execute(f"staged_{kind}_insert", graph_id=graph_id)
        changed = self._session.execute(f"staged_{kind}_update") if kind in _FILLED else 0
        return Applied(added, changed, None)
