"""How all routes read their requests, and which problems they may answer."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from pydantic_core import from_json
from starlette.exceptions import HTTPException

from app.api.errors import MEDIA_TYPE, Fault, invalid

Handler = Callable[[Request], Coroutine[Any, Any, Response]]
Responses = dict[int | str, dict[str, Any]]

_MOST_FIELDS = 100

PROBLEMS = {
    400: ("malformed", "The body is not JSON."),
    404: ("not-found", "There is no such thing here."),
    409: ("conflict", "The request conflicts with what is stored."),
    410: ("gone", "History of that time is no longer kept."),
    412: ("version-mismatch", "The row has changed since it was read."),
    413: ("too-large", "The request body is too large."),
    415: ("unsupported-media-type", "The body has another media type than this path takes."),
    422: ("invalid", "The request is not valid."),
    503: ("busy", "The store is busy; try again shortly."),
}
"""What a status means: the type of its usual problem, and words."""


class JsonRequest(Request):
    """Reads its body more strictly than the standard library does, and reports what it cannot read."""

    async def json(self) -> Any:
        try:
            value = from_json(await self.body())
        except ValueError as error:  # broken, too deep, half a surrogate pair, a number without end
            raise HTTPException(400, f"The body is not JSON that can be read: {error}.") from error
        if isinstance(value, dict) and len(value) > _MOST_FIELDS:  # each would be reported, at a price
            raise HTTPException(400, "The body has more fields than any request takes.")
        return value


class JsonRoute(APIRoute):
    """A route whose body is JSON, and that knows all its query parameters.

    A misspelt ``asof`` must not answer the present, and what a web page can post without asking must not be
    taken for JSON.
    """

    def get_route_handler(self) -> Handler:
        handle = super().get_route_handler()
        known = {p.alias for p in _query_params(self.dependant)}

        async def checked(request: Request) -> Response:
            request = JsonRequest(request.scope, request.receive)
            unknown = [name for name in request.query_params if name not in known]
            if unknown:
                return invalid([Fault(f"/{name}", "is not a parameter of this path") for name in unknown])
            if self.body_field and not _is_json(request) and await request.body():
                raise HTTPException(415, "Send the body as application/json.")
            return await handle(request)

        return checked


def _query_params(dependant: Any) -> list[Any]:
    return [*dependant.query_params, *(p for d in dependant.dependencies for p in _query_params(d))]


def _is_json(request: Request) -> bool:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return media_type == "application/json" or (media_type.startswith("application/") and media_type.endswith("+json"))


def router(tag: str) -> APIRouter:
    """A router for the paths of one kind of thing."""
    return APIRouter(tags=[tag], route_class=JsonRoute)


def may_fail(*statuses: int) -> Responses:
    """The problems a route may answer, for its documentation; every route may answer 422 and 503."""
    return {status: _documented(status) for status in sorted({*statuses, 422, 503})}


def _documented(status: int) -> dict[str, Any]:
    slug, description = PROBLEMS[status]
    example = {"type": f"/problems/{slug}", "title": description, "status": status, "detail": description}
    name = "Problem"
    if status == 422:
        name = "InvalidProblem"
        example |= {"detail": "/reason: is required", "errors": [{"pointer": "/reason", "detail": "is required"}]}
    schema = {"$ref": f"#/components/schemas/{name}"}
    return {"description": description, "content": {MEDIA_TYPE: {"schema": schema, "example": example}}}


READ = may_fail()
READ_ONE = may_fail(404)
READ_ROW = READ_ONE | {304: {"description": "It has not changed."}}
CREATE = may_fail(400, 404, 409, 413, 415)
CHANGE = may_fail(400, 404, 409, 412, 413, 415)
DELETE = may_fail(404, 409, 412)
