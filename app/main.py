"""The HTTP service: ``create_app`` puts the parts together."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import PackageNotFoundError, version
from threading import Thread

import anyio.to_thread
from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool

from app.api import errors, openapi
from app.api.middleware import BodyLimit, RequestId
from app.api.routers import (
    assertions,
    edges,
    evidence,
    exchange,
    graphs,
    health,
    invalidations,
    nodes,
    rules,
    snapshots,
)
from app.services import invalidate
from app.settings import Settings
from app.store.ports import Store
from app.wiring import open_store

_LOG = logging.getLogger("app")
_THREADS = 100
"""Requests worked on at once. A writer holds one while it waits for its turn; readers need others."""

_ROUTERS = (graphs, exchange, snapshots, nodes, edges, assertions, evidence, rules, invalidations, health)


def create_app(settings: Settings | None = None) -> FastAPI:
    """The application for ``settings``, by default those of the environment. Opens its store when started."""
    chosen = settings or Settings.load()
    app = FastAPI(
        title="Memory Graph",
        version=_version(),
        description=openapi.DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_lifespan,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.settings = chosen
    errors.install(app)
    openapi.install(app)
    for module in _ROUTERS:
        app.include_router(module.routes)
    app.add_middleware(BodyLimit, default=chosen.max_body_bytes, by_suffix={"/import": chosen.max_import_bytes})
    app.add_middleware(RequestId)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
    store: Store = await run_in_threadpool(open_store, app.state.settings)
    try:
        await run_in_threadpool(store.start)
        app.state.store = store
        Thread(target=_resume_pending, args=(store,), name="resume-pending", daemon=True).start()
        yield
    finally:
        await run_in_threadpool(store.dispose)


def _resume_pending(store: Store) -> None:
    """Carry out what an earlier process had accepted and not finished."""
    try:
        invalidate.resume_pending(store)
    except Exception:
        _LOG.exception("pending invalidation runs could not be carried out; the next start tries again")


def _version() -> str:
    try:
        return version("memory-graph")
    except PackageNotFoundError:  # run from a source tree that is not installed
        return "0"
