"""Which calls of each route does the tenant `alpha` make, whose data are `alpha-...`, while another tenant has rows everywhere?"""

from __future__ import annotations

from typing import Any

from api.routes.curves import EXAMPLE_CURVE
from tests.events import body, event
from tests.step_ledgers import content, prefill


def curve(tenant: str) -> dict[str, Any]:
    """A curve file."""
    return {**EXAMPLE_CURVE, "curve_id": f"{tenant}-curve", "model": f"{tenant}-model"}


def chat(tenant: str) -> dict[str, Any]:
    """A wire body whose total does not add up."""
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 14}
    body = {"id": f"{tenant}-chat", "object": "chat.completion", "model": f"{tenant}-model", "usage": usage}
    return {"response": body, "context": {"occurred_at": "2026-07-01T12:00:00Z", "user_id": f"{tenant}-user"}}


def subscription(tenant: str) -> dict[str, str]:
    """To a plan of the tenant."""
    plan, user = f"{tenant}-plan", f"{tenant}-user"
    return {"plan": plan, "user_id": user, "monthly_price": "20", "starts_on": "2026-07-01"}


def price(tenant: str) -> dict[str, str]:
    """A price of the tenant's own."""
    since = "2026-07-01T00:00:00Z"
    return {"seller": f"{tenant}-own", "model": f"{tenant}-m1", "output": "6", "effective_from": since}


SIGNED: dict[str, Any] = {
    "seller": "openai",
    "currency": "USD",
    "effective_from": "2026-07-01T00:00:00Z",
    "rules": [{"rule_id": "all", "kind": "discount", "value": "0.10"}],
}
PERIOD = {"from": "2026-07-01", "to": "2026-08-01"}
POOL = {
    "pool_id": "alpha-new",
    "effective_from": "2026-07-01",
    "model": "m",
    "curve_id": "alpha-curve",
    "gpu": "H200",
    "gpus_per_replica": 1,
    "token_budget": 8192,
    "max_batch": 64,
}
RATE = {"rate_id": "alpha-more", "kind": "spot", "gpu": "H200", "price_per_hour": "1", "effective_from": "2026-07-01"}
OWN_BILL = "pool,hour,cost,currency\nalpha-pool,2026-07-02T00:00:00Z,3,USD\n"
STEPS = content([("2026-07-05T00:00:00+00:00", 10_000_000, False, [prefill("alpha-request", 100)])])
GPU_PRICES = (
    "region,instance,gpu_model,gpu_count,price_usd_per_instance_hour,first_seen,last_seen\n"
    "alpha,a,H200,1,3,2026-07-01,2026-07-02\nalpha,b,H200,1,3,2026-07-01,2026-07-02\n"
)
WALK: dict[tuple[str, str], list[tuple[str, dict[str, Any]]]] = {
    ("POST", "/v1/usage/events"): [
        ("/v1/usage/events", {"content": body([event("alpha-new"), event("alpha-priced", model="other")])})
    ],
    ("POST", "/v1/usage/events/{event_id}/void"): [("/v1/usage/events/alpha-more/void", {"json": {"reason": "x"}})],
    ("POST", "/v1/usage/events/{event_id}/revisions"): [
        ("/v1/usage/events/alpha-unpriced/revisions", {"json": event("alpha-unpriced")})
    ],
    ("GET", "/v1/usage/events/{event_id}/charge"): [("/v1/usage/events/alpha-priced/charge", {})],
    ("GET", "/v1/usage/events/{event_id}/explain"): [("/v1/usage/events/alpha-priced/explain", {})],
    ("POST", "/v1/usage/{format}"): [
        ("/v1/usage/openai_chat", {"json": chat("alpha")}),
        ("/v1/usage/auto", {"json": [chat("alpha"), {}]}),
    ],
    ("POST", "/v1/traces"): [("/v1/traces", {"json": {"resourceSpans": [{"scopeSpans": [{"spans": [{}, 5]}]}]}})],
    ("GET", "/v1/exceptions"): [
        ("/v1/exceptions", {}),
        ("/v1/exceptions?open=false&kind=contradiction", {}),
    ],
    ("POST", "/v1/exceptions/replay"): [("/v1/exceptions/replay", {})],
    ("POST", "/v1/exceptions/{exception_id}/dismiss"): [("/v1/exceptions/{alpha}/dismiss", {})],
    ("GET", "/v1/cost-basis"): [("/v1/cost-basis", {})],
    ("PUT", "/v1/cost-basis"): [("/v1/cost-basis", {"json": {"provider": "alpha-more", "basis": "reported"}})],
    ("DELETE", "/v1/cost-basis"): [("/v1/cost-basis?provider=alpha-seller", {})],
    ("GET", "/v1/closed-months"): [("/v1/closed-months", {})],
    ("GET", "/v1/closed-months/late"): [("/v1/closed-months/late", {})],
    ("POST", "/v1/closed-months"): [
        ("/v1/closed-months", {"json": {"month": "2020-02", "accept": ["no_charges"], "dry_run": True}})
    ],
    ("GET", "/v1/reports"): [("/v1/reports", {})],
    ("GET", "/v1/reports/{name}"): [
        ("/v1/reports/cost-of-revenue", {"params": PERIOD}),
        ("/v1/reports/cost-of-revenue", {"params": {**PERIOD, "format": "csv"}}),
        ("/v1/reports/user-margin", {"params": PERIOD}),
        ("/v1/reports/user-margin", {"params": {**PERIOD, "format": "csv"}}),
        ("/v1/reports/margin", {"params": {**PERIOD, "group_by": "model"}}),
        ("/v1/reports/overview", {"params": PERIOD}),
        ("/v1/reports/quality", {"params": PERIOD}),
        ("/v1/reports/explore", {"params": {**PERIOD, "group_by": "user_id,model"}}),
        ("/v1/reports/explore", {"params": {**PERIOD, "group_by": "user_id,day"}}),
        ("/v1/reports/plan-profitability", {"params": PERIOD}),
        ("/v1/reports/unit-costs", {"params": PERIOD}),
        ("/v1/reports/make-or-buy", {"params": PERIOD}),
        ("/v1/reports/pool-diagnosis", {"params": PERIOD}),
    ],
    ("GET", "/v1/charges"): [
        ("/v1/charges", {"params": PERIOD}),
        ("/v1/charges", {"params": {**PERIOD, "order": "time"}}),
    ],
    ("GET", "/v1/me"): [("/v1/me", {})],
    ("GET", "/v1/keys"): [("/v1/keys", {})],
    ("POST", "/v1/keys"): [("/v1/keys", {"json": {"scope": "viewer", "label": "alpha"}})],
    ("DELETE", "/v1/keys/{key_id}"): [],
    ("GET", "/v1/logins"): [("/v1/logins", {})],
    ("PUT", "/v1/logins"): [],
    ("DELETE", "/v1/logins"): [],
    ("GET", "/v1/user-days"): [("/v1/user-days", {"params": {**PERIOD, "user_id": "alpha-user"}})],
    ("GET", "/v1/users/{user_id}"): [("/v1/users/alpha-user", {"params": PERIOD})],
    ("GET", "/v1/fx-rate"): [("/v1/fx-rate", {"params": {"from": "EUR", "to": "EUR", "on": "2026-07-01"}})],
    ("GET", "/v1/plans"): [("/v1/plans", {})],
    ("PUT", "/v1/plans/{plan}"): [("/v1/plans/alpha-plan", {"json": {}})],
    ("GET", "/v1/subscriptions"): [("/v1/subscriptions", {}), ("/v1/subscriptions?plan=alpha-plan", {})],
    ("PUT", "/v1/subscriptions/{subscription_id}"): [
        ("/v1/subscriptions/alpha-subscription", {"json": subscription("alpha")})
    ],
    ("PUT", "/v1/plans/{plan}/prices"): [
        ("/v1/plans/alpha-plan/prices", {"json": {"price": "20", "effective_from": "2026-01-01"}})
    ],
    ("GET", "/v1/plan-prices"): [("/v1/plan-prices", {})],
    ("PUT", "/v1/subscriptions/{subscription_id}/terms/{term_id}"): [
        ("/v1/subscriptions/alpha-subscription/terms/alpha-t", {"json": {"kind": "pause", "starts_on": "2026-07-10"}})
    ],
    ("GET", "/v1/policies/purposes"): [("/v1/policies/purposes", {})],
    ("PUT", "/v1/policies/purposes"): [
        (
            "/v1/policies/purposes",
            {"json": {"purpose": "free", "statement_line": "internal", "effective_from": "2026-07-01"}},
        )
    ],
    ("GET", "/v1/policies/account-revenue"): [("/v1/policies/account-revenue", {})],
    ("PUT", "/v1/policies/account-revenue"): [
        ("/v1/policies/account-revenue", {"json": {"rule": "use", "effective_from": "2026-07-01"}})
    ],
    ("POST", "/v1/revenue/lines"): [("/v1/revenue/lines", {"json": []})],
    ("GET", "/v1/revenue/lines"): [("/v1/revenue/lines", {})],
    ("POST", "/v1/revenue/stripe"): [("/v1/revenue/stripe", {"json": [{"object": "coupon"}]})],
    ("PUT", "/v1/revenue/customers/{customer_id}"): [
        ("/v1/revenue/customers/alpha-customer", {"json": {"user_id": "alpha-user"}})
    ],
    ("GET", "/v1/prices"): [("/v1/prices?seller=anthropic", {}), ("/v1/prices?seller=alpha-own", {})],
    ("GET", "/v1/prices/history"): [("/v1/prices/history?model=gpt-4o", {})],
    ("GET", "/v1/prices/proposals"): [("/v1/prices/proposals", {})],
    ("GET", "/v1/prices/disagreements"): [("/v1/prices/disagreements", {})],
    ("GET", "/v1/prices/imports"): [("/v1/prices/imports", {})],
    ("GET", "/v1/prices/impact"): [("/v1/prices/impact?days=3660", {})],
    ("POST", "/v1/prices/reprice"): [
        ("/v1/prices/reprice", {"json": {"from": "2026-01-01", "to": "2027-01-01", "apply": False}})
    ],
    ("GET", "/v1/prices/diff"): [("/v1/prices/diff?known_at=2999-01-01", {})],
    ("POST", "/v1/prices"): [("/v1/prices", {"json": {"rows": [price("alpha")]}})],
    ("POST", "/v1/prices/imports"): [
        ("/v1/prices/imports", {"json": {"source": "csv", "content": "seller,model,output\nalpha-own,alpha-m2,3\n"}})
    ],
    ("POST", "/v1/prices/approve"): [],
    ("POST", "/v1/prices/refuse"): [],
    ("DELETE", "/v1/prices/rows/{sku_price_id}"): [],
    ("PUT", "/v1/prices/contracts/{contract_id}"): [("/v1/prices/contracts/alpha-signed", {"json": SIGNED})],
    ("GET", "/v1/prices/contracts"): [("/v1/prices/contracts", {})],
    ("DELETE", "/v1/prices/contracts/{contract_id}"): [("/v1/prices/contracts/alpha-signed", {})],
    ("GET", "/v1/prices/unpriced"): [("/v1/prices/unpriced", {})],
    ("POST", "/v1/prices/assign"): [
        ("/v1/prices/assign", {"json": {"model": "alpha-model", "like": "openai/gpt-4o", "seller": "openai"}})
    ],
    ("PUT", "/v1/prices/alert-hook"): [("/v1/prices/alert-hook", {"json": {"url": "http://127.0.0.1:9/alpha"}})],
    ("GET", "/v1/prices/alert-hook"): [("/v1/prices/alert-hook", {})],
    ("DELETE", "/v1/prices/alert-hook"): [("/v1/prices/alert-hook", {})],
    ("GET", "/v1/pools"): [("/v1/pools", {}), ("/v1/pools?pool_id=alpha-pool", {})],
    ("POST", "/v1/pools"): [("/v1/pools", {"json": POOL})],
    ("DELETE", "/v1/pools"): [("/v1/pools?pool_id=alpha-new&effective_from=2026-07-01", {})],
    ("POST", "/v1/pools/replicas"): [
        ("/v1/pools/replicas", {"json": {"pool_id": "alpha-pool", "replica": "r1", "effective_from": "2026-07-01"}})
    ],
    ("DELETE", "/v1/pools/replicas"): [
        ("/v1/pools/replicas?pool_id=alpha-pool&replica=r1&effective_from=2026-07-01", {})
    ],
    ("GET", "/v1/pools/bills"): [("/v1/pools/bills", {"params": PERIOD})],
    ("POST", "/v1/pools/bills"): [("/v1/pools/bills", {"json": {"from": "2026-07-01", "to": "2026-07-02"}})],
    ("POST", "/v1/pools/bills/imports"): [
        ("/v1/pools/bills/imports", {"json": {"format": "csv", "content": OWN_BILL, "name": "alpha.csv"}})
    ],
    ("GET", "/v1/pools/unused"): [("/v1/pools/unused", {"params": PERIOD})],
    ("POST", "/v1/pools/steps"): [
        (
            "/v1/pools/steps?pool_id=alpha-pool&replica=r0&source=alpha",
            {"content": STEPS, "headers": {"Content-Type": "application/vnd.apache.arrow.stream"}},
        )
    ],
    ("GET", "/v1/pools/steps"): [("/v1/pools/steps", {"params": {**PERIOD, "pool_id": "alpha-pool"}})],
    ("DELETE", "/v1/pools/steps"): [
        ("/v1/pools/steps", {"params": {**PERIOD, "pool_id": "alpha-pool", "replica": "r0"}})
    ],
    ("GET", "/v1/pools/what-if"): [("/v1/pools/what-if", {"params": {**PERIOD, "pool_id": "alpha-pool"}})],
    ("GET", "/v1/pools/rates"): [("/v1/pools/rates", {}), ("/v1/pools/rates?state=proposed", {})],
    ("POST", "/v1/pools/rates"): [("/v1/pools/rates", {"json": RATE})],
    ("DELETE", "/v1/pools/rates"): [("/v1/pools/rates?rate_id=alpha-more&effective_from=2026-07-01", {})],
    ("POST", "/v1/pools/rates/imports"): [
        ("/v1/pools/rates/imports", {"json": {"content": GPU_PRICES, "name": "alpha-history.csv"}})
    ],
    ("POST", "/v1/pools/rates/approve"): [
        ("/v1/pools/rates/approve", {"json": {"rate_ids": ["aws/alpha/a/on-demand"]}})
    ],
    ("POST", "/v1/pools/rates/refuse"): [("/v1/pools/rates/refuse", {"json": {"rate_ids": ["aws/alpha/b/on-demand"]}})],
    ("GET", "/v1/curves"): [("/v1/curves", {})],
    ("POST", "/v1/curves"): [("/v1/curves", {"json": curve("alpha")})],
    ("GET", "/v1/curves/{curve_id}"): [("/v1/curves/alpha-curve", {})],
    ("GET", "/v1/curves/{curve_id}/evaluate"): [("/v1/curves/alpha-curve/evaluate", {})],
    ("GET", "/v1/audit"): [("/v1/audit", {})],
    ("GET", "/healthz"): [("/healthz", {})],
    ("GET", "/readyz"): [("/readyz", {})],
    ("GET", "/metrics"): [("/metrics", {})],
    ("GET", "/openapi.json"): [("/openapi.json", {})],
    ("GET", "/docs"): [("/docs", {})],
}
"""Calls of each route that answer 200; `{alpha}` stands for the id of the tenant's exception."""
BEFORE = {
    ("DELETE", "/v1/prices/contracts/{contract_id}"): ("PUT", "/v1/prices/contracts/{contract_id}"),
    ("DELETE", "/v1/pools"): ("POST", "/v1/pools"),
    ("DELETE", "/v1/pools/replicas"): ("POST", "/v1/pools/replicas"),
    ("DELETE", "/v1/pools/rates"): ("POST", "/v1/pools/rates"),
    ("DELETE", "/v1/pools/steps"): ("POST", "/v1/pools/steps"),
    ("POST", "/v1/pools/rates/approve"): ("POST", "/v1/pools/rates/imports"),
    ("POST", "/v1/pools/rates/refuse"): ("POST", "/v1/pools/rates/imports"),
}
"""Route -> the one whose calls must come first."""
REFUSED = {("GET", "/v1/pools/what-if"): "no request of it was charged"}
"""Routes that have nothing to answer from in this world, which says so."""
AFTER = {("DELETE", "/v1/prices/alert-hook"): ("PUT", "/v1/prices/alert-hook")}
"""Route -> the one whose calls bring back what the other tests look at, whatever the order they run in."""
