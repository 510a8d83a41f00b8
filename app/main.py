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
    events,
    evidence,
    exchange,
    graphs,
    health,
    invalidations,
    nodes,
    outbox,
    revalidations,
    reviews,
    rules,
    snapshots,
)
from app.services import invalidate
from app.settings import Settings
from app.store.ports import Store
from app.wiring import open_store
from app.worker import Worker

_LOG = logging.getLogger("app")
_THREADS = 100
"""Requests worked on at once. A writer holds one while it waits for its turn; readers need others."""

_STOP_SECONDS = 10
"""How long the worker may go on with what it has begun once the server is told to stop."""

_ROUTERS = (
    graphs,
    exchange,
    snapshots,
    nodes,
    edges,
    assertions,
    evidence,
    rules,
    invalidations,
    revalidations,
    reviews,
    events,
    outbox,
    health,
)


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
    app.state.is_stopping = False
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
    settings: Settings = app.state.settings
    store: Store = await run_in_threadpool(open_store, settings)
    worker = Worker.of(settings, store) if settings.has_worker else None
    try:
        await run_in_threadpool(store.start)
        app.state.store = store
        if worker:
            worker.start()
        else:
            Thread(target=_resume_pending, args=(store,), name="resume-pending", daemon=True).start()
        yield
    finally:
        if worker and worker.is_alive and not await run_in_threadpool(worker.stop, _STOP_SECONDS):
            _LOG.warning("the worker did not stop in %s s; its leases run out by themselves", _STOP_SECONDS)
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
