"""A world of the reference model of SEMANTICS 6, and the same one in a store."""

from __future__ import annotations

from uuid import UUID

from app.domain.models import MemoryNode, Review
from app.schemas.revalidation import NewDecision, NewRevalidation, TaskClaim, TaskDecision
from app.services import revalidate, reviews
from app.services.reports import OpenReview, RevalidationReport
from app.store.ports import Store
from tests.contract.builder import GraphBuilder
from tests.contract.cases import STATUSES, edge_lines, node_line, state_of
from tests.contract.draining import drain
from tests.reference.cascade import Node
from tests.reference.revalidation import Finding, World
from tests.reference.strategies import NOW


class Twin:
    """Does the same to the model and to the store."""

    def __init__(self, store: Store, world: World) -> None:
        self.world = world
        self.graph = GraphBuilder(
            store, policy=world.policy, propagation=world.propagation, revalidation_mode=world.mode
        )
        self.graph.load(
            *map(node_line, world.nodes.values()), *(line for edge in world.edges for line in edge_lines(edge))
        )

    def invalidate(self, roots: list[str], status: int) -> None:
        self.world.invalidate(roots, NOW, status=status)
        self.graph.invalidate(root_node_ids=[UUID(root) for root in roots], status=STATUSES[status])

    def correct(self, roots: list[str]) -> None:
        wanted = self.world.correct(roots, NOW)
        body = NewRevalidation(root_node_ids=[UUID(root) for root in roots])
        assert self.findings(self.graph.write(lambda uow: revalidate.revalidate(uow, body))) == wanted

    def look_at_everything(self) -> None:
        wanted = self.world.look_at_everything(NOW)
        body = NewRevalidation(graph_id=self.graph.graph_id, whole_graph=True)
        assert self.findings(self.graph.write(lambda uow: revalidate.revalidate(uow, body))) == wanted

    def accept(self, node_id: str) -> None:
        """By its review, or by an agent's task."""
        wanted = self.world.accept(node_id, NOW)
        found = next(item for item in self.open() if str(item.memory_node_id) == node_id)
        if found.review_kind == "Task":
            claim_all(self.graph)
            task = TaskDecision(owner="agent", decision="Accept", decided_by="agent")
            report = self.graph.write(lambda uow: reviews.decide_task(uow, found.review_id, task))
        else:
            body = NewDecision(decision="Accept", decided_by="ana")
            report = self.graph.write(lambda uow: reviews.decide(uow, found.review_id, body))
        assert self.findings(report.revalidation_run) == wanted

    def drain(self) -> None:
        wanted = self.world.drain(NOW)
        reports = drain(self.graph)
        if all(report.run.run_status == "Completed" for report in reports):  # the model knows no overtaking
            assert [self.findings(report) for report in reports] == wanted

    def open(self) -> list[Review]:
        """What waits for a person or an agent."""
        return [item.review for kind in ("Review", "Task") for item in open_items(self.graph, kind)]

    def findings(self, report: RevalidationReport) -> dict[str, Finding]:
        rows = self.graph.read(lambda view: list(revalidate.all_decisions(view, report.run.run_id)))
        return {str(row.memory_node_id): (row.outcome, row.review_reason) for row in rows}

    def compare(self) -> None:
        """Every status, kind of invalidity and confidence is the model's; and what is open is what is in doubt."""
        rows = state_of(self.graph)
        assert {id_: _shown(row) for id_, row in rows.items()} == {
            id_: _wanted(node) for id_, node in self.world.nodes.items()
        }
        for id_, row in rows.items():
            assert abs(row.confidence - self.world.nodes[id_].confidence) < 1e-9


def open_items(graph: GraphBuilder, kind: str) -> list[OpenReview]:
    page = graph.read(lambda view: reviews.page(view, kind=kind, graph_id=graph.graph_id, limit=1000, cursor=None))
    assert page.next_cursor is None
    return page.items


def claim_all(graph: GraphBuilder, owner: str = "agent") -> list[OpenReview]:
    return graph.write(lambda uow: reviews.claim(uow, TaskClaim(owner=owner, limit=100)))


def _shown(row: MemoryNode) -> tuple[str, str | None]:
    return row.status, row.invalidation


def _wanted(node: Node) -> tuple[str, str | None]:
    return STATUSES[node.status], node.invalidation
