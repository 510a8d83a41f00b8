"""Source rules. A new version of a rule takes the ground from what rested on the one before."""

from uuid import UUID

from app.domain import identity
from app.domain.errors import Conflict, Invalid, NotFound
from app.domain.models import Page, SourceRule
from app.schemas import NewRule
from app.services import cursors, invalidate
from app.services.reports import Report
from app.store.unit import UnitOfWork, View


def create(uow: UnitOfWork, body: NewRule) -> tuple[SourceRule, list[Report]]:
    """A rule, or a new version of one: the version before expires when it takes effect, and it expires, unless the
    caller says when, as the version after it does.

    Nodes that state something under the version before become Invalid by a run; nodes with a support under it, which
    now no longer counts, become PotentiallyStale by another.
    """
    effective_at = body.effective_at or uow.stamp
    if body.expires_at is not None and body.expires_at <= effective_at:
        raise Invalid("expiresAt must be later than effectiveAt.", "/expiresAt")
    following = uow.rules.next_after(body.name, effective_at)
    rule = SourceRule(
        body.source_rule_id or identity.rule_id(uow.who.fleet_id, body.name, body.version),
        body.name,
        body.version,
        body.description,
        effective_at,
        body.expires_at or (following.effective_at if following else None),
    )
    if uow.rules.find_version(rule.name, rule.version):
        raise Conflict(f"Rule {rule.name} {rule.version} exists already.")
    if uow.rules.find(rule.source_rule_id):
        raise Conflict(f"A source rule {rule.source_rule_id} exists already.")
    replaced = uow.rules.in_force_before(rule.name, effective_at)
    if replaced and effective_at > uow.stamp:
        raise Invalid("A new version of a rule takes effect at once or earlier, not in the future.", "/effectiveAt")
    uow.rules.add(rule)
    if not replaced:
        return rule, []
    return rule, _replace(uow, rule, replaced)


def get(view: View, rule_id: UUID) -> SourceRule:
    rule = view.rules.find(rule_id)
    if rule is None:
        raise NotFound("Source rule", [rule_id])
    return rule


def page(view: View, *, name: str | None = None, limit: int, cursor: str | None) -> Page[SourceRule]:
    return cursors.page_by_id(lambda after, count: view.rules.page(name, after, count), limit, cursor)


def referred(view: View, rule_id: UUID | None, name: str | None, version: str | None) -> UUID | None:
    """The id of a rule that a row refers to, by id or by name and version; None where it refers to none."""
    if name is not None and version is not None:
        rule = view.rules.find_version(name, version)
        if rule is None:
            raise NotFound("Source rule", [f"{name} {version}"])
        return rule.source_rule_id
    return None if rule_id is None else get(view, rule_id).source_rule_id


def _replace(uow: UnitOfWork, rule: SourceRule, replaced: list[SourceRule]) -> list[Report]:
    at = rule.effective_at
    stating: set[UUID] = set()
    supported: set[UUID] = set()
    for old in replaced:
        stating.update(uow.rules.nodes_resting_on(old.source_rule_id, at))
        supported.update(uow.rules.targets_resting_on(old.source_rule_id, at))
        uow.rules.expire(old.source_rule_id, at)
    uow.outbox.add("RuleVersionAdded", rule.source_rule_id, uow.stamp)
    reason = f"Rule {rule.name} is now at version {rule.version}."
    reports = []
    if stating:
        reports.append(invalidate.invalidate_nodes(uow, sorted(stating), reason, effective_time=at))
    if supported - stating:
        reports.append(
            invalidate.invalidate_derived(
                uow, sorted(supported - stating), reason, status="PotentiallyStale", effective_time=at
            )
        )
    return reports
