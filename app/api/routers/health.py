"""For whoever watches over the process."""

from fastapi import APIRouter, Request, Response

from app.api.deps import shown
from app.api.routes import may_fail
from app.schemas.outputs import Health

routes = APIRouter(prefix="/health", tags=["health"])


@routes.get("/live", response_model=Health)
async def live() -> Response:
    """The process answers."""
    return shown({"status": "live"})


@routes.get("/ready", response_model=Health, responses={503: may_fail()[503]})
def ready(request: Request) -> Response:
    """The database answers, and has the schema that this version needs."""
    request.app.state.store.check()
    return shown({"status": "ready"})
