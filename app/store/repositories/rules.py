"""Source rules and what rests on them."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from app.domain.models import SourceRule
from app.store.session import Session


class _NodeId(NamedTuple):
    memory_node_id: UUID


class Rules:
    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, rule: SourceRule) -> None:
        self._session.execute("rule_insert", **rule._asdict())

    def find(self, rule_id: UUID) -> SourceRule | None:
        return self._session.one(SourceRule, "rule_find", source_rule_id=rule_id)

    def find_version(self, name: str, version: str) -> SourceRule | None:
        return self._session.one(SourceRule, "rule_find_version", name=name, version=version)

    def page(self, name: str | None, after_id: UUID | None, limit: int) -> list[SourceRule]:
        """By id, at most ``limit``, those after ``after_id``."""
        return self._session.rows(SourceRule, "rule_page", name=name, after_id=after_id, limit=limit)

    def in_force_before(self, name: str, effective_time: datetime) -> list[SourceRule]:
        """The versions that a new one, taking effect at that time, replaces; by id."""
        return self._session.rows(SourceRule, "rules_in_force", name=name, effective_time=effective_time)

    def next_after(self, name: str, effective_time: datetime) -> SourceRule | None:
        """The version that begins next after that time."""
        return self._session.one(SourceRule, "rule_next", name=name, effective_time=effective_time)

    def take_over(self, rule_id: UUID) -> None:
        """Whatever holds now and rests on another version of the rule rests on this one."""
        self._session.execute("edges_take_rule", source_rule_id=rule_id)
        self._session.execute("assertions_take_rule", source_rule_id=rule_id)

    def expire(self, rule_id: UUID, expires_at: datetime) -> None:
        self._session.execute("rule_expire", source_rule_id=rule_id, expires_at=expires_at)

    def nodes_resting_on(self, rule_id: UUID, effective_time: datetime) -> list[UUID]:
        """Nodes that state something under the rule, by id."""
        rows = self._session.rows(
            _NodeId, "nodes_resting_on_rule", source_rule_id=rule_id, effective_time=effective_time
        )
        return [row.memory_node_id for row in rows]

    def targets_resting_on(self, rule_id: UUID, effective_time: datetime) -> list[UUID]:
        """Nodes with a support that held under the rule, by id."""
        rows = self._session.rows(
            _NodeId, "targets_resting_on_rule", source_rule_id=rule_id, effective_time=effective_time
        )
        return [row.memory_node_id for row in rows]

    def of_graph(self, graph_id: UUID, as_of: datetime) -> list[SourceRule]:
        """The rules that a graph's edges and assertions rest on, by name and version."""
        return self._session.rows(SourceRule, "rules_of_graph", graph_id=graph_id, as_of=as_of)
