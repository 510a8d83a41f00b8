"""ETags, and the headers that depend on them. The ETag of a row is its version."""

import re
from collections.abc import Mapping
from typing import Annotated, Protocol

from fastapi import Depends, Header, Request, Response

from app.api.wire import dumps
from app.domain.errors import Invalid

_TAG = re.compile(r'(W/)?"([^"]*)"')
_VERSION = re.compile(r"[1-9][0-9]{0,17}")
JSON = "application/json"


class Versioned(Protocol):
    """A row that has an ETag."""

    @property
    def version(self) -> int: ...


IfMatch = Annotated[
    str | None,
    Header(
        alias="If-Match",
        title="If Match",
        max_length=1000,
        description='Change the row only while it has this ETag, such as `"3"`; `*` takes any.',
        json_schema_extra={"pattern": r'^(\*|(W/)?"[^"]*")$'},
    ),
]
IfNoneMatch = Annotated[
    str | None,
    Header(
        alias="If-None-Match",
        title="If None Match",
        max_length=1000,
        description="Answer 304 where the ETag is still this one.",
    ),
]


async def expected_version(if_match: IfMatch = None) -> int | None:
    """The version that ``If-Match`` asks for; None where any will do, 0 where no row can have it."""
    if if_match is None or if_match.strip() == "*":
        return None
    match = _TAG.fullmatch(if_match.strip())
    if not match:
        raise Invalid('If-Match must be one quoted ETag, such as "3", or *.', "/If-Match")
    weak, tag = match.groups()
    return 0 if weak or not _VERSION.fullmatch(tag) else int(tag)  # weak tags never match (RFC 9110 13.1.1)


ExpectedVersion = Annotated[int | None, Depends(expected_version)]


def etag(version: object) -> str:
    return f'"{version}"'


def not_modified(request: Request, headers: Mapping[str, str]) -> Response | None:
    """304 if the caller has what the ETag in ``headers`` names (weak comparison, RFC 9110 13.1.2)."""
    given = request.headers.get("if-none-match")
    if given is None or "ETag" not in headers:
        return None
    known = {part.strip().removeprefix("W/") for part in given.split(",")}
    return Response(status_code=304, headers=headers) if known & {headers["ETag"], "*"} else None


def one_row(request: Request, row: Versioned) -> Response:
    """The answer to a read of one row: 304 or the row, with its ETag."""
    headers = {"ETag": etag(row.version), "Cache-Control": "no-cache"}
    return not_modified(request, headers) or Response(dumps(row), headers=headers, media_type=JSON)
