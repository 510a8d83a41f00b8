"""What routes ask for: a way to read, a way to write, and the parameters of lists."""

import hashlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Annotated, Any, TypeVar, cast
from urllib.parse import quote

import orjson
from fastapi import Depends, Header, Path, Query, Request, Response
from pydantic import BaseModel

from app.api.conditional import JSON, etag
from app.api.security import Who
from app.api.wire import dumps, wire
from app.domain.models import Principal
from app.schemas.fields import Id
from app.services.once import Stored, once
from app.store.ports import Store
from app.store.unit import UnitOfWork, View

Result = TypeVar("Result")

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        title="Idempotency Key",
        min_length=1,
        max_length=255,
        description="The same key with the same request answers what the first one did, and does nothing.",
    ),
]
Limit = Annotated[int, Query(ge=1, le=1000, title="Limit", description="Most items to answer.")]
Cursor = Annotated[str | None, Query(max_length=2000, title="Cursor", description="`nextCursor` of the part before.")]
GraphId = Annotated[Id, Path(alias="graphId", title="Memory Graph")]


class Reading:
    """A caller's access to what is stored."""

    def __init__(self, request: Request, who: Principal) -> None:
        self.store = cast(Store, request.app.state.store)
        self.who = who

    def view(self) -> AbstractContextManager[View]:
        return self.store.read(self.who)


class Writing(Reading):
    """A caller's one write: carried out once for each idempotency key, and answered in one form."""

    def __init__(self, request: Request, who: Principal, key: str | None) -> None:
        super().__init__(request, who)
        self.key = key
        self._request = request

    def fingerprint(self, content: bytes) -> str:
        """What tells this request from others under the same key."""
        request = self._request
        parts = (request.method, request.url.path, request.url.query, request.headers.get("if-match", ""))
        return hashlib.sha256(b"\0".join([*(part.encode() for part in parts), content])).hexdigest()

    def once(
        self,
        work: Callable[[UnitOfWork], Result],
        show: Callable[[Result], Mapping[str, Any]] = wire,
        *,
        status: int | Callable[[Result], int] = 201,
        body: BaseModel | None = None,
    ) -> Stored:
        """Work, and keep the answer under the caller's key. ``show`` says what of the result is answered."""

        def encode(result: Result, stamp: datetime) -> tuple[int, bytes]:
            shown = dict(show(result))
            shown["committedAt"] = shown.get("committedAt") or stamp  # an earlier run says when that was
            return status(result) if callable(status) else status, dumps(shown)

        fingerprint = ""
        if self.key:
            sent = body.model_dump_json(by_alias=True, exclude_unset=True, warnings=False) if body else ""
            fingerprint = self.fingerprint(sent.encode())
        return once(self.store, self.who, work, key=self.key, fingerprint=fingerprint, encode=encode)


def answer(stored: Stored, location: str | None = None, id_field: str | None = None) -> Response:
    """The answer to a write, with ``Location`` and ``ETag`` from the row it holds."""
    headers = {"Idempotency-Replayed": "true"} if stored.replayed else {}
    row = orjson.loads(stored.body) if location or id_field else {}
    if location and id_field:
        headers["Location"] = f"{location}/{quote(str(row[id_field]))}"
    if isinstance(row.get("version"), int):
        headers["ETag"] = etag(row["version"])
    return Response(stored.body, stored.status, headers=headers, media_type=JSON)


def shown(value: object, **headers: str) -> Response:
    """The answer to a read."""
    return Response(dumps(value), headers=headers or None, media_type=JSON)


async def reading(request: Request, who: Who) -> Reading:
    return Reading(request, who)


async def writing(request: Request, who: Who, idempotency_key: IdempotencyKey = None) -> Writing:
    return Writing(request, who, idempotency_key)


Reader = Annotated[Reading, Depends(reading)]
Writer = Annotated[Writing, Depends(writing)]
