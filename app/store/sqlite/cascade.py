"""The cascade of SEMANTICS 4, round by round over temporary tables."""

from collections.abc import Sequence
from typing import Any

import rustworkx

from app.store.ports import CascadeOrder
from app.store.session import LEVELS
from app.store.sqlite.session import SqliteSession

_WORK_TABLES = ("nodes", "risen", "looked", "groups")


class SqliteCascade:
    """See ``app.store.ports.Cascade``.

    A round looks at the out-edges of the nodes that rose in the round before, each edge at most twice in a run (a node
    can rise twice). Groups are counted once and then kept up, so a round costs what its edges cost. A long chain has as
    many rounds as nodes, so the statements go to the driver's own cursor.
    """

    def __init__(self, session: SqliteSession) -> None:
        self._session = session
        self._execute = session.driver_execute

    def run(self, order: CascadeOrder) -> None:
        binds: dict[str, Any] = {
            "run_id": order.run_id,
            "status": LEVELS[order.status],
            "effective_time": order.effective_time,
            "invalid_since": order.invalid_since,
            "strict": order.policy == "strict",
            "transitive": order.propagation == "transitive",
            "override_pinned": order.override_pinned,
            "is_derived": order.is_derived,
        }
        for table in _WORK_TABLES:
            self._execute(f"cascade_clear_{table}", binds)
        self._execute("cascade_start", binds)
        self._execute("cascade_start_risen", binds)
        self._rounds(binds)
        self._execute("cascade_reexamine", binds)
        self._execute("cascade_conclude", binds)
        self._find_components(binds)
        self._execute("cascade_record_impacts", binds)
        self._execute("cascade_update_nodes", binds)

    def _rounds(self, binds: dict[str, Any]) -> None:
        """Synchronous rounds, until one in which no edge is looked at or nothing rises."""
        execute = self._execute
        groups = depth = 0
        while execute("cascade_look", binds):
            depth += 1
            binds["depth"] = depth
            execute("cascade_reach", binds)
            if groups:
                execute("cascade_recount_groups", binds)
            groups += execute("cascade_count_groups", binds)
            execute("cascade_clear_risen", binds)
            if not execute("cascade_rise", binds):
                return
            execute("cascade_apply", binds)
            execute("cascade_clear_looked", binds)

    def _find_components(self, binds: dict[str, Any]) -> None:
        """Record the strongly connected components of more than one affected node, numbered by their smallest id."""
        members = _circles(self._session.driver_pairs("cascade_support_pairs", binds))
        if not members:
            return
        ids = dict(self._session.driver_pairs("cascade_node_ids", binds))
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
