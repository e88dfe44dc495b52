"""How do tenant, plans, subscriptions and a month of events get into the database?"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from tqdm import tqdm

from accounting.demo.api import Api, in_parallel
from accounting.demo.population import Subscription
from accounting.demo.product import PLANS
from accounting.demo.workload import Workload
from accounting.errors import Conflict
from accounting.storage import migrate
from accounting.storage.engine import owner_engine
from accounting.storage.tariffs import seed_list_tariffs
from accounting.storage.tenants import create_key, create_tenant, list_keys, revoke_key

TENANT = "demo"
LABEL = "tokencogs demo"
BATCH = 2_000


@dataclass
class Sent:
    """What the API said became of the events."""

    accepted: int = 0
    duplicates: int = 0
    conflicts: int = 0
    rejected: int = 0

    def __str__(self) -> str:
        return f"accepted {self.accepted}, duplicates {self.duplicates}, conflicts {self.conflicts}, rejected {self.rejected}"


def prepare_database() -> str:
    """Schema, list prices and the tenant `demo`; returns a new admin key of it, and ends the keys of earlier demos."""
    owner = owner_engine()
    migrate.upgrade(owner)
    seed_list_tariffs(owner)
    try:
        create_tenant(owner, TENANT, "An imagined LLM product")
    except Conflict:
        for key in list_keys(owner, TENANT):
            if key.label == LABEL and key.revoked_at is None:
                revoke_key(owner, TENANT, key.key_id)
    return create_key(owner, TENANT, "admin", LABEL)


def put_plans(api: Api, workload: Workload) -> None:
    """Plans, then the month's subscriptions; putting them again changes nothing."""
    for plan in PLANS:
        api.put(f"/v1/plans/{plan.name}", {"display_name": plan.display_name})

    def put(subscription: Subscription) -> None:
        api.put(f"/v1/subscriptions/{subscription.subscription_id}", _subscription(subscription))

    with _bar("subscriptions", len(workload.subscriptions)) as bar:
        for _ in in_parallel(put, workload.subscriptions):
            bar.update(1)


def send_events(api: Api, workload: Workload) -> Sent:
    """The month's events through the API; each answer comes after its commit."""
    sent = Sent()
    with _bar("events", workload.requests) as bar:
        for answer in in_parallel(api.send_events, workload.batches(BATCH)):
            sent.accepted += answer["accepted"]
            sent.duplicates += answer["duplicates"]
            sent.conflicts += len(answer["conflicts"])
            sent.rejected += len(answer["rejected"])
            bar.update(sent.accepted + sent.duplicates + sent.conflicts + sent.rejected - bar.n)
    return sent


def _subscription(subscription: Subscription) -> dict[str, Any]:
    return {
        "plan": subscription.plan.name,
        "user_id": subscription.user_id,
        "account_id": subscription.account_id,
        "monthly_price": str(subscription.plan.monthly_price),
        "starts_on": subscription.starts_on.isoformat(),
        "ends_on": subscription.ends_on.isoformat(),
    }


def _bar(what: str, total: int) -> tqdm[Any]:
    # Into a file, a line every few seconds is enough.
    often = 0.1 if sys.stderr.isatty() else 3.0
    return tqdm(total=total, desc=what, unit="", unit_scale=True, file=sys.stderr, mininterval=often)
