"""The outbox, and answers kept under idempotency keys."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from app.store.session import Session


class KeptAnswer(NamedTuple):
    """The first answer under an idempotency key."""

    fingerprint: str
    status_code: int
    body: bytes


class Outbox:
    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, event_type: str, subject_id: UUID, created_at: datetime) -> None:
        """An event in the caller's transaction: it is sent if and only if that commits."""
        self._session.execute("outbox_add", event_type=event_type, subject_id=subject_id, created_at=created_at)


class IdempotencyKeys:
    def __init__(self, session: Session) -> None:
        self._session = session

    def find(self, key: str) -> KeptAnswer | None:
        return self._session.one(KeptAnswer, "idempotency_find", key=key)

    def record(self, key: str, answer: KeptAnswer, created_at: datetime) -> None:
        self._session.execute("idempotency_record", key=key, created_at=created_at, **answer._asdict())
