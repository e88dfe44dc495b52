"""Whose key is this, and which figures could be asked for with it?"""

from __future__ import annotations

from fastapi import APIRouter

from accounting.reports.periods import known
from accounting.storage.tenants import SCOPES, get_tenant
from api.deps import ServiceDep, ViewerKey
from api.openapi import problems
from api.schemas_me import Me

router = APIRouter(prefix="/v1/me", tags=["me"])


@router.get("", responses=problems())
def get_me(service: ServiceDep, principal: ViewerKey) -> Me:
    """The tenant and scope of the key, its zone and currencies, and the periods that there are figures for."""
    found = known(service.engine, principal.context)
    return Me(
        tenant=principal.tenant,
        display_name=get_tenant(service.engine, principal.tenant).display_name,
        scope=principal.scope,
        reaches=[scope for scope in SCOPES if principal.reaches(scope)],
        key_id=principal.key_id,
        reporting_tz=principal.context.reporting_tz,
        billing_currency=principal.context.billing_currency,
        **found,
    )
