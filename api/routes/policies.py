"""By which dated rules are margins made: what a purpose counts as, and where account revenue goes?"""

from __future__ import annotations

from fastapi import APIRouter

from accounting.revenue import account_rules
from accounting.storage import purposes
from api.deps import AdminKey, ServiceDep, ViewerKey
from api.openapi import problems
from api.schemas_policies import AccountRuleBody, AccountRuleList, PurposeBody, PurposeList, PurposeRow

router = APIRouter(prefix="/v1/policies", tags=["revenue"])


@router.get("/purposes", responses=problems())
def get_purposes(service: ServiceDep, principal: ViewerKey) -> PurposeList:
    """Lines of the statement by purpose and day: own rows, and the default ones they replace."""
    rows = purposes.list_purposes(service.engine, principal.context)
    return PurposeList(purposes=[PurposeRow(**row) for row in rows])


@router.put("/purposes", responses=problems(400, 413))
def put_purpose(body: PurposeBody, service: ServiceDep, principal: AdminKey) -> PurposeRow:
    """States the line of a purpose from a day on, or anew for the same day; reports of earlier days stay as they were."""
    return PurposeRow(**purposes.put_purpose(service.engine, principal.context, **body.model_dump()))


@router.get("/account-revenue", responses=problems())
def get_account_rules(service: ServiceDep, principal: ViewerKey) -> AccountRuleList:
    """The rules by which revenue of an account reaches its users."""
    rows = account_rules.list_account_rules(service.engine, principal.context)
    return AccountRuleList(rules=[AccountRuleBody(**row) for row in rows])


@router.put("/account-revenue", responses=problems(400, 413))
def put_account_rule(body: AccountRuleBody, service: ServiceDep, principal: AdminKey) -> AccountRuleBody:
    """States the rule from a day on, or anew for the same day; reports of earlier days stay as they were."""
    return AccountRuleBody(**account_rules.put_account_rule(service.engine, principal.context, **body.model_dump()))
