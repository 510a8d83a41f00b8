"""Answers kept under idempotency keys."""

from datetime import datetime
from typing import NamedTuple

from app.store.session import Session


class KeptAnswer(NamedTuple):
    """The first answer under an idempotency key."""

    fingerprint: str
    status_code: int
    body: bytes


class IdempotencyKeys:
    def __init__(self, session: Session) -> None:
        self._session = session

    def find(self, key: str) -> KeptAnswer | None:
        return self._session.one(KeptAnswer, "idempotency_find", key=key)

    def record(self, key: str, answer: KeptAnswer, created_at: datetime) -> None:
        self._session.execute("idempotency_record", key=key, created_at=created_at, **answer._asdict())
