"""Versioned business rules that assertions and edges can rest on."""

from typing import Annotated, Any

from fastapi import Path, Query, Response

from app.api.deps import Cursor, Limit, Reader, Writer, answer, shown
from app.api.reports import show_report, show_revalidation
from app.api.routes import READ, READ_ONE, may_fail, router
from app.api.wire import wire
from app.domain import models
from app.schemas import NewRule
from app.schemas.fields import Id, Name
from app.schemas.looks import RevalidationReport
from app.schemas.outputs import Page, SourceRule, written
from app.schemas.revalidation import NewRevalidation
from app.schemas.runs import Report
from app.services import revalidate, rules
from app.services.reports import Report as RunReport
from app.services.reports import RevalidationReport as RevalidationRunReport
from app.store.unit import UnitOfWork

routes = router("source rules")

_PATH = "/source-rules"

RuleId = Annotated[Id, Path(alias="sourceRuleId", title="Source Rule")]


def _show_created(
    result: tuple[models.SourceRule, list[RunReport], RevalidationRunReport | None],
) -> dict[str, Any]:
    rule, reports, revalidation = result
    return wire(rule) | {
        "invalidationRuns": [show_report(report) for report in reports],
        "revalidationRun": show_revalidation(revalidation) if revalidation else None,
    }


@routes.post(
    _PATH,
    status_code=201,
    response_model=written(SourceRule, invalidation_runs=list[Report], revalidation_run=RevalidationReport | None),
    responses=may_fail(400, 409, 413, 415),
)
def create_rule(body: NewRule, writing: Writer) -> Response:
    """Record a version of a rule. What rested on an older one is invalidated: the runs are in the answer.

    With `revalidate` the new version is a fix: what rested on older ones rests on it from now on, and is looked at
    again as corrected, in the same call.
    """

    def create(uow: UnitOfWork) -> tuple[models.SourceRule, list[RunReport], RevalidationRunReport | None]:
        rule, reports = rules.create(uow, body)
        fixed = NewRevalidation(source_rule_id=rule.source_rule_id, reason=f"Rule {rule.name} was fixed.")
        return rule, reports, revalidate.revalidate(uow, fixed) if body.revalidate else None

    stored = writing.once(create, _show_created, body=body)
    return answer(stored, _PATH, "sourceRuleId")


@routes.get(_PATH, response_model=Page[SourceRule], responses=READ)
def list_rules(
    reading: Reader,
    name: Annotated[Name | None, Query(title="Name", description="Only versions of this rule.")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """Rules and their versions."""
    with reading.view() as view:
        return shown(rules.page(view, name=name, limit=limit, cursor=cursor))


@routes.get(_PATH + "/{sourceRuleId}", response_model=SourceRule, responses=READ_ONE)
def get_rule(rule_id: RuleId, reading: Reader) -> Response:
    """One version of a rule."""
    with reading.view() as view:
        return shown(rules.get(view, rule_id))
