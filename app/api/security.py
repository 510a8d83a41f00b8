"""Who calls. The one place where a request becomes a principal; everything below takes that."""

from typing import Annotated
from uuid import UUID

from fastapi import Depends, Header

from app.domain.models import Principal
from app.schemas.fields import Id

_NIL = UUID(int=0)

Tenant = Annotated[Id, Header(alias="X-Tenant-Id", title="Tenant", description="Default: the nil UUID.")]
Fleet = Annotated[Id, Header(alias="X-Fleet-Id", title="Fleet", description="Default: the nil UUID.")]


async def principal(tenant_id: Tenant = _NIL, fleet_id: Fleet = _NIL) -> Principal:
    """Open mode: the caller says who it is. Nobody but this machine can connect (see ``settings.py``)."""
    return Principal(tenant_id, fleet_id)


Who = Annotated[Principal, Depends(principal)]
