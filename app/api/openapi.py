"""The OpenAPI document, and the page that shows it without asking anybody else for assets."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastapi_offline
from fastapi import FastAPI, Response
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.openapi.utils import get_openapi
from fastapi.staticfiles import StaticFiles

from app.schemas.describing import with_nulls
from app.schemas.lines import ImportLine
from app.schemas.outputs import InvalidProblem, Problem

_ASSETS = "/docs/assets"
_POLICY = "default-src 'self' 'unsafe-inline' data:"
"""The browser itself sees to it that the page asks no other host for anything."""

_REF = "#/components/schemas/{model}"

DESCRIPTION = """
Memory Graph keeps what agents remember, and what rests on what. When a memory turns out wrong, it finds
everything that rested on it, marks it, and can show the memory as it was at any moment before.

**A first round**

1. `POST /memory-graphs` makes a graph.
2. `POST /memory-graphs/{graphId}/import` loads it from lines, or `POST /memory-nodes` and
   `POST /memory-edges` build it up.
3. `POST /invalidations` says what no longer holds. The answer says what fell with it, and why.
4. `POST /revalidations` says what is right again. What rested on it is looked at, in order; what nobody can decide by
   rule waits in `GET /reviews`.
5. `GET /memory-graphs/{graphId}/snapshot?asOf=` shows the graph as it was known at any `committedAt`.

**Everywhere.** Times are RFC 3339 with an offset, kept in UTC to the microsecond. Intervals include their
start and not their end. Lists are read in parts: send `nextCursor` back as `cursor`. Every write takes an
`Idempotency-Key`, and answers `committedAt`. Errors are `application/problem+json` (RFC 9457) with a `type`
that does not change.
"""

TAGS = [
    {"name": "memory graphs", "description": "A graph is the memory of one agent or context."},
    {"name": "import and export", "description": "Whole graphs in and out, as lines of JSON."},
    {"name": "snapshots", "description": "The graph as the database knew it at a system time."},
    {"name": "memory nodes", "description": "What is remembered: facts, episodes, reflections, rules."},
    {"name": "memory edges", "description": "What rests on what: the target depends on the source."},
    {"name": "memory assertions", "description": "What nodes state, and when it is so."},
    {"name": "evidence references", "description": "What supports an assertion."},
    {"name": "source rules", "description": "Versioned business rules that edges and assertions rest on."},
    {"name": "invalidations", "description": "What no longer holds, and everything that rested on it."},
    {"name": "revalidations", "description": "Second looks at what may have lost its ground, or have it back."},
    {"name": "reviews", "description": "What waits for a person to decide."},
    {"name": "revalidation tasks", "description": "What waits for an agent to re-derive."},
    {"name": "events", "description": "What a fleet is told, as a stream or by signed requests."},
    {"name": "outbox", "description": "For operators: events that wait, and those that were given up."},
    {"name": "health", "description": "For whoever watches over the process."},
]


def install(app: FastAPI) -> None:
    """Let ``app`` serve its document at /openapi.json and the page at /docs."""
    app.openapi = _document(app)  # type: ignore[method-assign]
    app.mount(_ASSETS, StaticFiles(directory=Path(fastapi_offline.__file__).parent / "static"), name="assets")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        page = get_swagger_ui_html(
            openapi_url="openapi.json",
            title=app.title,
            swagger_js_url=f".{_ASSETS}/swagger-ui-bundle.js",
            swagger_css_url=f".{_ASSETS}/swagger-ui.css",
            swagger_favicon_url=f".{_ASSETS}/favicon.png",
            swagger_ui_parameters={"validatorUrl": None, "docExpansion": "list", "tryItOutEnabled": True},
        )
        page.headers["Content-Security-Policy"] = _POLICY
        return page


def _document(app: FastAPI) -> Callable[[], dict[str, Any]]:
    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _with_shared_schemas(
                get_openapi(
                    title=app.title,
                    version=app.version,
                    description=app.description,
                    routes=app.routes,
                    tags=TAGS,
                )
            )
        return app.openapi_schema

    return document


def _with_shared_schemas(document: dict[str, Any]) -> dict[str, Any]:
    """Add the models that no route names itself: problems, and the lines of an import."""
    schemas = document["components"]["schemas"]
    for model in (Problem, InvalidProblem):
        schema = model.model_json_schema(ref_template=_REF)
        schemas |= schema.pop("$defs", {}) | {model.__name__: schema}
    line = ImportLine.json_schema(ref_template=_REF)
    schemas |= line.pop("$defs") | {"ImportLine": line}
    document["components"]["schemas"] = dict(sorted(schemas.items()))
    whole: dict[str, Any] = with_nulls(document)
    return whole
