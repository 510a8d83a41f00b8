"""Carries out one write, once for each idempotency key, and commits it."""

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple, TypeVar

from app.domain.errors import IdempotencyMismatch
from app.domain.models import Principal
from app.services.retrying import retrying
from app.store.ports import Store
from app.store.repositories.service import KeptAnswer
from app.store.repositories.staging import Staging
from app.store.unit import UnitOfWork

Result = TypeVar("Result")


class Stored(NamedTuple):
    """An answer as it was first given."""

    status: int
    body: bytes
    replayed: bool


def once(
    store: Store,
    who: Principal,
    work: Callable[[UnitOfWork], Result],
    *,
    key: str | None = None,
    fingerprint: str = "",
    encode: Callable[[Result, datetime], tuple[int, bytes]],
    prepare: Callable[[Staging], None] | None = None,
) -> Stored:
    """Work in one transaction, keep the answer under ``key`` in the same one, and commit.

    The same key with the same fingerprint answers what it answered first, and does nothing; with another fingerprint it
    raises ``IdempotencyMismatch`` (SEMANTICS 4). ``encode`` gets the result and ``committedAt``; ``prepare`` fills
    the work tables before the write lock is taken. Each may be called more than once.
    """

    def transaction() -> Stored:
        with store.write(who, prepare) as uow:
            kept = uow.idempotency.find(key) if key else None
            if kept:
                if kept.fingerprint != fingerprint:
                    raise IdempotencyMismatch(f"Idempotency-Key {key} was used for another request; choose a new one.")
                return Stored(kept.status_code, kept.body, replayed=True)
            status, body = encode(work(uow), uow.stamp)
            if key:
                uow.idempotency.record(key, KeptAnswer(fingerprint, status, body), uow.stamp)
            uow.commit()
        return Stored(status, body, replayed=False)

    return retrying(transaction, is_idempotent=key is not None)
