"""Which prices are there, what do sources say, and how does a tenant state its own?"""

from __future__ import annotations

import hashlib
from datetime import UTC, date, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from accounting.errors import Forbidden, InvalidInput
from accounting.moments import moment
from accounting.pricing.sources import TYPED, read
from accounting.storage import price_decisions, price_entry, price_imports, price_views
from accounting.storage.engine import owner_engine
from accounting.storage.tenants import Principal
from api.deps import AdminKey, ServiceDep, ViewerKey
from api.openapi import problems
from api.schemas_prices import (
    Decided,
    DecisionBody,
    DisagreementList,
    ImportBody,
    Imported,
    ImportList,
    PriceBody,
    PriceDiff,
    PriceHistory,
    PriceList,
    ProposalList,
    SaidRow,
)
from api.service import Service

Name = Annotated[str | None, Query(pattern=r"^[^\x00]*$")]
When = Annotated[
    str | None, Query(pattern=r"^[^\x00]*$", description="a day (its first instant in UTC), or a moment with offset")
]
SkuPriceId = Annotated[str, Path(pattern=r"^[^\x00]*$", examples=["0f3a5c7788990011"])]
ForAll = Annotated[bool, Query(description="the list of all tenants; only for keys of the operator's tenant")]

router = APIRouter(prefix="/v1/prices", tags=["prices"])


@router.get("", responses=problems(400))
def get_prices(
    service: ServiceDep,
    principal: ViewerKey,
    seller: Name = None,
    model: Name = None,
    on: When = None,
    known_at: When = None,
) -> PriceList:
    """The rows that this tenant pays by: the list, its own rows, what its contracts make of the list; by dates, as known at a moment."""
    rows = price_views.prices(
        service.engine,
        principal.tenant,
        seller=seller,
        model=model,
        on=moment("on", on),
        known_at=moment("known_at", known_at),
    )
    return PriceList.model_validate({"prices": rows})


@router.get("/history", responses=problems(400, 404))
def get_history(
    service: ServiceDep,
    principal: ViewerKey,
    model: Annotated[str, Query(pattern=r"^[^\x00]+$", examples=["gpt-4o"])],
    seller: Name = None,
    on: When = None,
    known_at: When = None,
) -> PriceHistory:
    """What every source says of a model over time, by any of its exact names."""
    rows = price_views.history(
        service.engine,
        principal.tenant,
        model,
        seller=seller,
        on=moment("on", on),
        known_at=moment("known_at", known_at),
    )
    return PriceHistory(rows=[SaidRow(**row) for row in rows])


@router.get("/proposals", responses=problems(400))
def get_proposals(
    service: ServiceDep, principal: ViewerKey, source: Name = None, seller: Name = None, model: Name = None
) -> ProposalList:
    """Rows that wait for a decision, with what other sources state otherwise."""
    found = price_decisions.proposals(service.engine, principal.tenant, source=source, seller=seller, model=model)
    return ProposalList.model_validate({"proposals": found})


@router.get("/disagreements", responses=problems(400))
def get_disagreements(
    service: ServiceDep,
    principal: ViewerKey,
    model: Name = None,
    limit: Annotated[int, Query(ge=1, le=100_000)] = 1_000,
) -> DisagreementList:
    """Where imported sources state other prices than those before, the newest first."""
    found = price_decisions.disagreements(service.engine, principal.tenant, model=model, limit=limit)
    return DisagreementList.model_validate({"disagreements": found})


@router.get("/imports", responses=problems())
def get_imports(service: ServiceDep, principal: ViewerKey) -> ImportList:
    """Readings of price files, the newest first."""
    return ImportList.model_validate({"imports": price_views.imports(service.engine, principal.tenant)})


@router.get("/diff", responses=problems(400))
def get_diff(
    service: ServiceDep,
    principal: ViewerKey,
    known_at: Annotated[str, Query(pattern=r"^[^\x00]+$", examples=["2026-07-31"])],
    until: When = None,
    seller: Name = None,
) -> PriceDiff:
    """What changed between the book as known at one moment and at another (default: now)."""
    since = moment("known_at", known_at)
    assert since is not None
    found = price_views.difference(service.engine, principal.tenant, since, moment("until", until), seller)
    return PriceDiff.model_validate(found)


@router.post("", responses=problems(400, 409, 413))
def add_prices(body: PriceBody, service: ServiceDep, principal: AdminKey, for_all: ForAll = False) -> PriceList:
    """States price rows of the tenant's own, in force at once for what is booked from now on; all of them or none."""
    engine, tenant = _writer(service, principal, for_all)
    return PriceList.model_validate(
        {"prices": price_entry.enter_rows(engine, body.rows, principal.actor, tenant=tenant)}
    )


@router.post("/imports", responses=problems(400, 409, 413))
def import_prices(body: ImportBody, service: ServiceDep, principal: AdminKey, for_all: ForAll = False) -> Imported:
    """Reads a price file into the tenant's own rows. The same file as of the same day again changes nothing."""
    engine, tenant = _writer(service, principal, for_all)
    known = price_entry.siblings(engine, tenant) if body.source in TYPED else ()
    statement = read(body.source, body.content.encode(), body.source_version, known)
    done = price_imports.import_statement(
        engine,
        statement,
        hashlib.sha256(body.content.encode()).hexdigest(),
        principal.actor,
        as_of=_day(body.as_of),
        tenant=tenant,
    )
    counts = {} if done.plan is None else done.plan.counts
    return Imported(
        import_id=done.import_id, repeated=done.repeated, counts=counts, findings=statement.findings.to_json()
    )


@router.post("/approve", responses=problems(400, 404, 413))
def approve_prices(body: DecisionBody, service: ServiceDep, principal: AdminKey, for_all: ForAll = False) -> Decided:
    """Puts proposed rows in force, in place of what they contradict."""
    return _decide("approve", body, service, principal, for_all)


@router.post("/refuse", responses=problems(400, 404, 413))
def refuse_prices(body: DecisionBody, service: ServiceDep, principal: AdminKey, for_all: ForAll = False) -> Decided:
    """Leaves proposed rows out for good; what was in force stays."""
    return _decide("refuse", body, service, principal, for_all)


@router.delete("/rows/{sku_price_id}", responses=problems(400, 404))
def withdraw_price(
    sku_price_id: SkuPriceId, service: ServiceDep, principal: AdminKey, for_all: ForAll = False
) -> Decided:
    """Takes a row of the tenant's own back as never right. What was booked by it stays until it is re-priced."""
    engine, tenant = _writer(service, principal, for_all)
    row = price_entry.withdraw_row(engine, sku_price_id, principal.actor, tenant=tenant)
    return Decided.model_validate({"rows": [row | {"state": "withdrawn"}]})


def _decide(decision: str, body: DecisionBody, service: Service, principal: Principal, for_all: bool) -> Decided:
    engine, tenant = _writer(service, principal, for_all)
    rows = price_decisions.decide(engine, decision, principal.actor, body.sku_price_ids, tenant=tenant)
    return Decided.model_validate({"rows": rows})


def _writer(service: Service, principal: Principal, for_all: bool) -> tuple[Any, str | None]:
    """The login and the tenant of a change; the list of all is the operator's."""
    if not for_all:
        return service.engine, principal.tenant
    if service.settings.operator != principal.tenant:
        raise Forbidden(
            "the prices of all tenants are the operator's: `tokencogs serve --operator TENANT` names its tenant"
        )
    return owner_engine(), None


def _day(text: str | None) -> date:
    try:
        return datetime.now(UTC).date() if text is None else date.fromisoformat(text)
    except ValueError as error:
        raise InvalidInput("as_of", text, "is no day such as 2026-11-28") from error
