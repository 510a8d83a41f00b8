"""Subscriptions to a fleet's events."""

import secrets
from uuid import UUID, uuid4

from app.domain.errors import NotFound
from app.domain.models import Page, Webhook
from app.schemas.revalidation import NewWebhook
from app.services import cursors
from app.store.unit import UnitOfWork, View

_SECRET_BYTES = 32


def create(uow: UnitOfWork, body: NewWebhook) -> Webhook:
    """Events from here on are sent there."""
    webhook = Webhook(
        uuid4(),
        body.url,
        body.secret or f"whsec-{secrets.token_urlsafe(_SECRET_BYTES)}",
        ",".join(sorted(set(body.event_types))) if body.event_types else None,
        uow.stamp,
    )
    uow.outbox.add_webhook(webhook)
    return webhook


def page(view: View, *, limit: int, cursor: str | None) -> Page[Webhook]:
    return cursors.page_by_id(view.outbox.webhooks, limit, cursor)


def delete(uow: UnitOfWork, webhook_id: UUID) -> None:
    """Nothing more is sent there."""
    if not uow.outbox.delete_webhook(webhook_id):
        raise NotFound("Webhook", [webhook_id])
