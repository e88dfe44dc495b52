"""Which cost is booked where a provider states its own?"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from accounting.storage import cost_basis
from api.deps import AdminKey, ServiceDep, ViewerKey
from api.openapi import problems
from api.schemas_wire import CostBasis, CostBasisBody, CostBasisList

Name = Annotated[str, Query(pattern=r"^[^\x00-\x1f\x7f]*$", max_length=cost_basis.LONGEST)]

router = APIRouter(prefix="/v1/cost-basis", tags=["exceptions"])


@router.get("", responses=problems())
def get_rules(service: ServiceDep, principal: ViewerKey) -> CostBasisList:
    """All rules. Without one the calculated cost is booked; the reported one is kept beside it in any case."""
    return CostBasisList(rules=[CostBasis(**row) for row in cost_basis.list_rules(service.engine, principal.context)])


@router.put("", responses=problems(400, 413))
def put_rule(body: CostBasisBody, service: ServiceDep, principal: AdminKey) -> CostBasis:
    """Makes or changes the rule of a provider, or of one surface of it; for what is booked from now on."""
    return CostBasis(**cost_basis.set_rule(service.engine, principal.context, body.provider, body.surface, body.basis))


@router.delete("", responses=problems(400, 404))
def delete_rule(provider: Name, service: ServiceDep, principal: AdminKey, surface: Name = "") -> CostBasis:
    """Takes a rule away and answers what it was; what was booked by it stays."""
    return CostBasis(**cost_basis.remove_rule(service.engine, principal.context, provider, surface))
