"""The cascade of SEMANTICS 4, round by round over temporary tables."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import rustworkx

from app.store.session import LEVELS
from app.store.sqlite.session import SqliteSession

_WORK_TABLES = ("nodes", "risen", "looked", "groups", "replacements")


class _Order(NamedTuple):
    """What a recorded run is to do."""

    requested_status: str
    effective_time: datetime
    invalid_since: datetime
    policy: str
    propagation: str
    override_pinned: bool
    is_derived: bool


class SqliteCascade:
    """See ``app.store.ports.Cascade``.

    A round looks at the out-edges of the nodes that rose in the round before, each edge at most twice in a run (a node
    can rise twice). Groups are counted once and then kept up, so a round costs what its edges cost.
    """

    def __init__(self, session: SqliteSession) -> None:
        self._session = session

    def run(self, run_id: UUID) -> None:
        order = self._session.one(_Order, "cascade_order", run_id=run_id)
        assert order is not None  # noqa: S101 - the caller has recorded it
        binds: dict[str, Any] = {
            "run_id": run_id,
            "status": LEVELS[order.requested_status],
            "effective_time": order.effective_time,
            "invalid_since": order.invalid_since,
            "strict": order.policy == "strict",
            "transitive": order.propagation == "transitive",
            "override_pinned": order.override_pinned,
            "is_derived": order.is_derived,
        }
        execute = self._session.execute
        for table in _WORK_TABLES:
            execute(f"cascade_clear_{table}")
        execute("cascade_start", **binds)
        execute("cascade_start_risen", **binds)
        self._rounds(binds)
        self._look_at_replacements(binds)
        execute("cascade_conclude", **binds)
        self._find_components(binds)
        execute("cascade_record_impacts", **binds)
        execute("cascade_update_nodes", **binds)
        execute("cascade_tell", **binds)

    def _rounds(self, binds: dict[str, Any]) -> None:
        """Synchronous rounds, until one in which no edge is looked at or nothing rises."""
        execute, depth = self._session.execute, 0
        while execute("cascade_look", **binds):
            depth += 1
            execute("cascade_reach", depth=depth, **binds)
            if self._session.scalar("cascade_looks_at_groups"):
                execute("cascade_recount_groups")
                execute("cascade_count_groups", **binds)
            execute("cascade_clear_risen")
            if not execute("cascade_rise", depth=depth, **binds):
                return
            execute("cascade_apply", depth=depth)
            execute("cascade_clear_looked")

    def _look_at_replacements(self, binds: dict[str, Any]) -> None:
        """What a fallen node superseded is to be re-examined, unless the replacement lies inside a circle."""
        if not self._session.execute("cascade_find_replacements", **binds):
            return
        ordinals: dict[bytes, int] = {}

        def numbered(pairs: list[tuple[Any, Any]]) -> list[tuple[int, int]]:
            return [tuple(ordinals.setdefault(end, len(ordinals)) for end in pair) for pair in pairs]  # type: ignore[misc]

        circles = _circles(numbered(self._session.pairs("cascade_circle_pairs", **binds)))
        circle_of = {ordinal: number for number, circle in enumerate(circles) for ordinal in circle}
        for source, target in self._session.pairs("cascade_replacement_pairs"):
            circle = circle_of.get(ordinals.get(source, -1))
            if circle is not None and circle == circle_of.get(ordinals.get(target, -1)):
                self._session.execute("cascade_drop_replacement", source_node_id=source, target_node_id=target)
        self._session.execute("cascade_reach_replaced", **binds)
        self._session.execute("cascade_reexamine")

    def _find_components(self, binds: dict[str, Any]) -> None:
        """Record the strongly connected components of more than one affected node, numbered by their smallest id."""
        members = _circles(self._session.pairs("cascade_support_pairs", **binds))
        if not members:
            return
        ids = dict(self._session.pairs("cascade_node_ids"))
        ordered = sorted(members, key=lambda component: min(ids[ordinal] for ordinal in component))
        self._session.execute_many(
            "cascade_set_component",
            [
                {"ordinal": ordinal, "component": number}
                for number, component in enumerate(ordered)
                for ordinal in component
            ],
        )


def _circles(pairs: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Strongly connected components of more than one node of a graph given by its edges."""
    graph = rustworkx.PyDiGraph()
    graph.extend_from_edge_list(pairs)
    return [list(component) for component in rustworkx.strongly_connected_components(graph) if len(component) > 1]
