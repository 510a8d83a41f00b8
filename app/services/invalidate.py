"""Cascading invalidation (SEMANTICS 4): requests in, runs and their impacts out."""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import orjson

from app.domain.errors import Invalid, NotFound, PlanChanged
from app.domain.instants import in_words
from app.domain.models import InvalidationRun, MemoryNode, Principal
from app.schemas import NewInvalidation
from app.services import graphs, runs
from app.services.nodes import get as get_node
from app.services.reports import Report
from app.services.retrying import retrying
from app.store.ports import Store
from app.store.repositories.invalidations import Request
from app.store.unit import UnitOfWork, View

_FIRST_TIME = datetime.min.replace(tzinfo=UTC)


def invalidate(uow: UnitOfWork, body: NewInvalidation) -> Report:
    """Carry the request out, or answer with the run that already did (SEMANTICS 4, Idempotency).

    Raises ``NotFound`` for an unknown root, ``Invalid`` for a time in the future, and ``PlanChanged`` where a plan
    token is sent and the run would do something else.
    """
    request, roots = _read(uow, body)
    first = _first_run_of(uow, request)
    if first:
        return runs.get(uow, first.run_id)
    run_id = _carry_out(uow, request, roots)
    if body.plan_token is not None and body.plan_token != _plan_token(uow, request, run_id):
        raise PlanChanged("What the invalidation would do has changed since it was planned; plan it again.")
    return runs.get(uow, run_id)


def plan(store: Store, who: Principal, body: NewInvalidation) -> Report:
    """What ``invalidate`` would do now, with a token for it. It is done in a transaction that is rolled back."""

    def transaction() -> Report:
        with store.write(who) as uow:
            request, roots = _read(uow, body)
            run_id = _carry_out(uow, request, roots)
            report = runs.get(uow, run_id)
            return report._replace(plan_token=_plan_token(uow, request, run_id), dry_run=True)

    return retrying(transaction)


def accept(uow: UnitOfWork, body: NewInvalidation) -> Report:
    """Record the request and a pending run for ``resume``; pending runs that it covers are superseded."""
    request, roots = _read(uow, body)
    first = _first_run_of(uow, request)
    if first:
        return runs.get(uow, first.run_id)
    return runs.get(uow, _record(uow, request, roots, None, pending=True))


def resume(store: Store, who: Principal, run_id: UUID) -> None:
    """Carry out a pending run; one that was done or superseded meanwhile is left alone."""

    def transaction() -> None:
        with store.write(who) as uow:
            run = uow.invalidations.find(run_id)
            if run is None or run.run_status != "Pending":
                return
            uow.invalidations.complete(run_id, uow.stamp)
            _cascade(uow, run_id)
            uow.commit()

    retrying(transaction, is_idempotent=True)


def resume_pending(store: Store) -> None:
    """Carry out every run that was accepted and not begun when the service stopped, oldest first."""
    with store.read(None) as view:
        pending = view.invalidations.pending_everywhere()
    for tenant_id, fleet_id, run_id in pending:
        resume(store, Principal(tenant_id, fleet_id), run_id)


def invalidate_nodes(uow: UnitOfWork, roots: Sequence[UUID], reason: str, *, effective_time: datetime) -> Report:
    """A run that the service itself asks for, with the defaults of the first root's graph."""
    return _invalidate_for_service(uow, roots, reason, "Invalid", effective_time, is_derived=False)


def invalidate_derived(
    uow: UnitOfWork, roots: Sequence[UUID], reason: str, *, status: str = "Invalid", effective_time: datetime
) -> Report:
    """The same for roots whose ground is gone: they become derived-Invalid, not directly so, or are to be looked at."""
    return _invalidate_for_service(uow, roots, reason, status, effective_time, is_derived=True)


def go_on(
    uow: UnitOfWork,
    roots: Sequence[UUID],
    *,
    policy: str,
    propagation: str,
    effective_time: datetime,
    invalid_since: datetime,
    parent_run_id: UUID | None,
) -> UUID:
    """The cascade from nodes that a second look found without ground: a child run with them as derived roots."""
    request = Request(
        request_id=uuid4(),
        reason="Found without ground when it was looked at again.",
        status="Invalid",
        effective_time=effective_time,
        invalid_since=invalid_since,
        policy=policy,
        propagation=propagation,
        override_pinned=False,
        is_derived=True,
        fingerprint=None,
        requested_at=uow.stamp,
    )
    return _carry_out(uow, request, roots, parent_run_id)


def _read(uow: UnitOfWork, body: NewInvalidation) -> tuple[Request, list[UUID]]:
    """The request as it will be recorded, and its roots by id."""
    if body.effective_time is not None and body.effective_time > uow.stamp:
        raise Invalid(f"effectiveTime lies in the future; it is {in_words(uow.stamp)}.", "/effectiveTime")
    roots = _roots(uow, body)
    policy, propagation = _defaults(uow, body, roots)
    ids = sorted({root.memory_node_id for root in roots})
    request = Request(
        request_id=uuid4(),
        reason=body.reason,
        status=body.status,
        effective_time=body.effective_time or uow.stamp,
        invalid_since=body.effective_time or uow.stamp,
        policy=policy,
        propagation=propagation,
        override_pinned=body.override_pinned,
        is_derived=False,
        fingerprint=None,
        requested_at=uow.stamp,
    )
    if body.effective_time is not None:
        request = request._replace(fingerprint=_fingerprint(request, ids))
    return request, ids


def _roots(view: View, body: NewInvalidation) -> list[MemoryNode]:
    if body.graph_id is not None:
        graphs.get(view, body.graph_id)
    by_id = {id_: view.nodes.find(id_) for id_ in body.root_node_ids}
    by_key = {key: view.nodes.find_by_key(body.graph_id, key) if body.graph_id else None for key in body.root_keys}
    unknown = [named for named, node in [*by_id.items(), *by_key.items()] if node is None]
    if unknown:
        raise NotFound("Root node", unknown)
    return [node for node in [*by_id.values(), *by_key.values()] if node is not None]


def _defaults(view: View, body: NewInvalidation, roots: list[MemoryNode]) -> tuple[str, str]:
    """Policy and propagation: the request's, else those of the graph it names if a root is of it, else those that the
    graphs of its roots agree on."""
    if body.policy is not None and body.propagation is not None:
        return body.policy, body.propagation
    ids = {root.graph_id for root in roots}
    found = [graphs.get(view, graph_id) for graph_id in (ids & {body.graph_id} or ids)]
    policies = {body.policy} if body.policy else {graph.policy for graph in found}
    propagations = {body.propagation} if body.propagation else {graph.propagation for graph in found}
    if len(policies) > 1:
        raise Invalid("The graphs of the roots differ in their policy; choose one.", "/policy")
    if len(propagations) > 1:
        raise Invalid("The graphs of the roots differ in their propagation; choose one.", "/propagation")
    return policies.pop(), propagations.pop()


def _fingerprint(request: Request, roots: list[UUID]) -> str:
    """Tells requests apart by what they ask. ``dbo.InvalidateMemoryGraph`` makes the same one."""
    micros = (request.effective_time - _FIRST_TIME) // timedelta(microseconds=1)
    options = (request.status, micros, request.policy, request.propagation, int(request.override_pinned))
    return hashlib.sha256("|".join([*map(str, options), ",".join(map(str, roots))]).encode()).hexdigest()


def _first_run_of(view: View, request: Request) -> InvalidationRun | None:
    """The run of the same request, unless one of its roots was restored since."""
    if request.fingerprint is None:
        return None
    run = view.invalidations.find_by_fingerprint(request.fingerprint)
    return run if run and not view.invalidations.a_root_was_restored(run) else None


def _invalidate_for_service(
    uow: UnitOfWork,
    roots: Sequence[UUID],
    reason: str,
    status: str,
    effective_time: datetime,
    *,
    is_derived: bool,
) -> Report:
    graph = graphs.get(uow, get_node(uow, roots[0]).graph_id)
    request = Request(
        request_id=uuid4(),
        reason=reason,
        status=status,
        effective_time=effective_time,
        invalid_since=effective_time,
        policy=graph.policy,
        propagation=graph.propagation,
        override_pinned=False,
        is_derived=is_derived,
        fingerprint=None,
        requested_at=uow.stamp,
    )
    return runs.get(uow, _carry_out(uow, request, roots))


def _carry_out(uow: UnitOfWork, request: Request, roots: Sequence[UUID], parent_run_id: UUID | None = None) -> UUID:
    run_id = _record(uow, request, roots, parent_run_id, pending=False)
    _cascade(uow, run_id)
    return run_id


def _cascade(uow: UnitOfWork, run_id: UUID) -> None:
    uow.cascade.run(run_id)
    uow.reviews.close_overruled(run_id, uow.stamp)
    uow.reviews.open_requested(run_id, uow.stamp)


def _record(
    uow: UnitOfWork, request: Request, roots: Sequence[UUID], parent_run_id: UUID | None, *, pending: bool
) -> UUID:
    """Record request and run. Pending runs that it covers are superseded, and hand on their earlier time."""
    run_id = uuid4()
    uow.invalidations.add_request(request, roots)
    covered = uow.invalidations.pending_covered_by(request.request_id)
    if covered:
        earliest = min(request.invalid_since, *(run.invalid_since for run in covered))
        uow.invalidations.backdate(request.request_id, earliest)
    uow.invalidations.add_run(run_id, request.request_id, parent_run_id, None if pending else uow.stamp)
    for run in covered:
        uow.invalidations.supersede(run.run_id, run_id, uow.stamp)
    return run_id


def _plan_token(view: View, request: Request, run_id: UUID) -> str:
    """A digest of what the run does to every node it reaches."""
    digest = hashlib.sha256()
    digest.update(orjson.dumps((request.status, request.policy, request.propagation, request.override_pinned)))
    for impact in view.invalidations.all_impacts(run_id):
        digest.update(orjson.dumps(tuple(impact)))
    return digest.hexdigest()
