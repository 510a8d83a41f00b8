"""From an error to its problem document (RFC 9457). One table says which status and type an error has."""

from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, NamedTuple

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import compile_path

from app.domain import errors as domain

MEDIA_TYPE = "application/problem+json"
_MOST_FAULTS = 20
_LONGEST = 300
"""Longest pointer or detail, in characters: both may quote what the caller sent."""


class Kind(NamedTuple):
    status: int
    slug: str
    headers: Mapping[str, str] = {}


KINDS: dict[type[domain.MemoryGraphError], Kind] = {
    domain.Invalid: Kind(422, "invalid"),
    domain.BadLine: Kind(422, "bad-line"),
    domain.IdempotencyMismatch: Kind(422, "idempotency-mismatch"),
    domain.NotFound: Kind(404, "not-found"),
    domain.Conflict: Kind(409, "conflict"),
    domain.PlanChanged: Kind(409, "plan-changed"),
    domain.VersionMismatch: Kind(412, "version-mismatch"),
    domain.Gone: Kind(410, "gone"),
    domain.TooLarge: Kind(413, "too-large"),
    domain.Busy: Kind(503, "busy", {"Retry-After": "1"}),
    domain.MemoryGraphError: Kind(500, "fault"),
}

_PROTOCOL = {
    400: ("malformed", "The request cannot be read."),
    404: ("no-such-path", "There is no such path."),
    405: ("method-not-allowed", "The path does not take this method."),
    413: ("too-large", "The request body is too large."),
    415: ("unsupported-media-type", "The path does not take this media type."),
}
"""Problems of the protocol itself: type and title by status."""


class Fault(NamedTuple):
    """One thing that is wrong: where (a JSON pointer, or / and a parameter's name) and what."""

    pointer: str
    detail: str


def problem(
    status: int,
    slug: str,
    title: str,
    detail: str,
    *,
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> Response:
    """The answer to a request that was not carried out."""
    content = {"type": f"/problems/{slug}", "title": title, "status": status, "detail": detail, **more}
    return Response(orjson.dumps(content), status, headers=headers, media_type=MEDIA_TYPE)


def invalid(faults: Sequence[Fault], **more: Any) -> Response:
    """422, fault by fault."""
    shown = [{"pointer": _cut(f.pointer), "detail": _cut(f.detail)} for f in faults[:_MOST_FAULTS]]
    first = faults[0]
    detail = _cut(f"{first.pointer or 'The body'}: {first.detail}")
    return problem(422, "invalid", _title(domain.Invalid), detail, errors=shown, **more)


def install(app: FastAPI) -> None:
    """Let ``app`` answer every error with a problem document."""

    @app.exception_handler(domain.MemoryGraphError)
    async def of_domain(request: Request, error: domain.MemoryGraphError) -> Response:
        return from_domain(error)

    @app.exception_handler(RequestValidationError)
    async def of_validation(request: Request, error: RequestValidationError) -> Response:
        return invalid(list(faults_of(error.errors())))

    @app.exception_handler(HTTPException)
    async def of_http(request: Request, error: HTTPException) -> Response:
        answer = from_http(error)
        if error.status_code == 405:
            answer.headers["Allow"] = _methods_of(app, request.url.path) or answer.headers["Allow"]
        return answer


def from_domain(error: domain.MemoryGraphError) -> Response:
    """The problem that an error of the domain is, by the nearest class in the table."""
    kind = next(KINDS[base] for base in type(error).__mro__ if base in KINDS)
    more: dict[str, Any] = {}
    if isinstance(error, domain.Invalid):
        more["errors"] = [{"pointer": error.pointer or "", "detail": _cut(error.detail)}]
    if isinstance(error, domain.BadLine):
        more["line"] = error.line
    detail = _cut(error.detail)
    return problem(kind.status, kind.slug, _title(type(error)), detail, headers=kind.headers, **more)


def from_http(error: HTTPException) -> Response:
    """The problem that an error of the protocol is."""
    phrase = HTTPStatus(error.status_code).phrase
    slug, title = _PROTOCOL.get(error.status_code, ("http", phrase))
    detail = error.detail if error.detail != phrase else f"{title} See /docs."
    return problem(error.status_code, slug, title, detail, headers=error.headers)


def _methods_of(app: FastAPI, path: str) -> str:
    """What ``path`` takes: a route knows only its own method, and Allow has to name them all."""
    paths = app.openapi()["paths"].items()
    found = [methods for template, methods in paths if compile_path(template)[0].match(path)]
    return ", ".join(method.upper() for methods in found for method in methods)


def faults_of(errors: Iterable[Any]) -> Iterable[Fault]:
    """Pydantic's findings, without the values that were sent: NaN, for one, could not be answered."""
    for error in errors:
        _, *path = error["loc"]
        yield Fault("".join(f"/{_escape(step)}" for step in path), _message(error))


def _message(error: Mapping[str, Any]) -> str:
    match error["type"]:
        case "extra_forbidden":
            return "is not a field of this request"
        case "missing":
            return "is required"
        case "model_attributes_type":
            return "must be a JSON object"
        case _:
            return str(error["msg"])


def _escape(step: object) -> str:
    return str(step).replace("~", "~0").replace("/", "~1")


def _title(kind: type[Exception]) -> str:
    return (kind.__doc__ or kind.__name__).strip().splitlines()[0]


def _cut(text: str) -> str:
    """``text`` fit to be answered: not endless, and without half characters."""
    text = text if len(text) <= _LONGEST else text[:_LONGEST] + " …"
    return text.encode(errors="replace").decode()
