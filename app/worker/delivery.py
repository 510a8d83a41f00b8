"""Sends events to subscribers, signed as Standard Webhooks describe it."""

import base64
import hashlib
import hmac
from time import time

import httpx
import orjson

from app.domain.models import Principal
from app.services import events
from app.store.ports import Store
from app.store.repositories.outbox import ClaimedEvent

_TIMEOUT_SECONDS = 10.0
_SHOWN_CHARACTERS = 300


class NotTaken(Exception):
    """The subscriber did not answer with a 2xx status."""


class Delivery:
    """A client for all deliveries of a process. Redirects are not followed: what is signed is meant for one place."""

    def __init__(self) -> None:
        self._client = httpx.Client(timeout=_TIMEOUT_SECONDS, follow_redirects=False)

    def send(self, store: Store, event: ClaimedEvent) -> None:
        """Send one event to one subscriber, at least once; raise ``NotTaken`` or an ``httpx`` error where it failed.

        ``webhook-id`` is the same for every attempt, so a subscriber can tell that it has had an event before.
        """
        with store.read(Principal(event.tenant_id, event.fleet_id)) as view:
            webhook = view.outbox.find_webhook(event.subject_id)
            told = events.find(view, event.cause_event) if event.cause_event else None
        if webhook is None or told is None:
            return  # the subscription has ended, or there is nothing left to tell
        body = orjson.dumps(told.body, option=orjson.OPT_UTC_Z)
        sent_at = str(int(time()))
        headers = {
            "content-type": "application/json",
            "user-agent": "memory-graph",
            "webhook-id": f"{webhook.webhook_id}.{told.event_id}",
            "webhook-timestamp": sent_at,
        }
        headers["webhook-signature"] = signature(webhook.secret, headers["webhook-id"], sent_at, body)
        answer = self._client.post(webhook.url, content=body, headers=headers)
        if not answer.is_success:
            raise NotTaken(f"{webhook.url} answered {answer.status_code}: {answer.text[:_SHOWN_CHARACTERS]}")

    def close(self) -> None:
        self._client.close()


def signature(secret: str, id_: str, sent_at: str, body: bytes) -> str:
    """``v1,`` and the Base64 of the HMAC-SHA256 over id, timestamp and body, joined by dots."""
    signed = b".".join((id_.encode(), sent_at.encode(), body))
    return "v1," + base64.b64encode(hmac.new(secret.encode(), signed, hashlib.sha256).digest()).decode()
