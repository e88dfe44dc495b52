"""A tenant with one pool on the curve of the worked hour, for tests of settlement."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from itertools import count
from typing import Any

from sqlalchemy import insert, text

from accounting.ledger.check import check, differences
from accounting.ledger.pool_check import check_pools
from accounting.ledger.revise import revise
from accounting.ledger.settle import settle
from accounting.ledger.settlers.open_month import Closed
from accounting.ledger.settlers.pools import settle_pools
from accounting.pipeline import ingest
from accounting.pricing.book import PriceBook
from accounting.selfhosted.curve_json import dump_curve
from accounting.selfhosted.pool_settings import Membership, PoolSettings
from accounting.storage.curves import record_curve
from accounting.storage.engine import transaction
from accounting.storage.pools import record_member, record_pool
from accounting.storage.tables import pool_bills
from accounting.storage.tariffs import load_book
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from tests.accounting.selfhosted.worked import CURVE
from tests.conftest import Database
from tests.events import body

_NAMES = count()
POOL = "pool-1"
START = datetime(2026, 10, 1, tzinfo=UTC)
LATER = datetime(2026, 11, 20, tzinfo=UTC)
"""When the runs of these tests take place: every hour of the tests is long over."""
SETTINGS = PoolSettings(
    pool_id=POOL,
    effective_from=START,
    model="llama",
    curve_id="worked",
    gpu="none",
    gpus_per_replica=1,
    token_budget=2_048,
    max_batch=8,
    billing_currency="USD",
    kv_capacity_tokens=100_000,
    itl_target_ms=10.85,
)
"""At contexts about 1,000 a step of 4 takes 10.8 ms and one of 5 takes 11: R* is 4."""
BASES = ("effective_cost", "direct_cost", "fully_loaded_cost")


@cache
def _book(database: Database) -> PriceBook:
    create_tenant(database.owner, "books", "Books")
    return load_book(database.app, "books")


@dataclass
class PoolWorld:
    """Attributes: database, tenant; settings: of the pools, by id."""

    database: Database
    tenant: TenantContext
    settings: dict[str, PoolSettings] = field(default_factory=dict)

    @classmethod
    def make(cls, database: Database, replicas: tuple[str, ...] = ("r0",), **settings: Any) -> PoolWorld:
        """A new tenant with the pool and its replicas."""
        name = f"pools{next(_NAMES)}"
        create_tenant(database.owner, name, name)
        world = cls(database, context(database.app, name))
        record_curve(database.app, world.tenant, dump_curve(CURVE), "test")
        world.pool(replicas, **settings)
        return world

    @property
    def book(self) -> PriceBook:
        """The list's prices; the tenants of these tests have no others."""
        return _book(self.database)

    def revise(self, one: dict[str, Any]) -> None:
        """Replaces what is known of an event."""
        known = context(self.database.app, self.tenant.tenant)
        revise(self.database.app, known, self.book, one["event_id"], json.dumps(one).encode())

    def pool(self, replicas: tuple[str, ...] = ("r0",), **settings: Any) -> None:
        """One more pool."""
        made = replace(SETTINGS, **settings)
        self.settings[made.pool_id] = made
        record_pool(self.database.app, self.tenant, made, "test")
        for replica in replicas:
            record_member(self.database.app, self.tenant, Membership(made.pool_id, replica, START), "test")

    def bill(self, amount: str, *hours: str, pool: str = POOL) -> None:
        """A bill of each hour, as they come in."""
        with transaction(self.database.app, self.tenant.tenant) as connection:
            for hour in hours:
                row = {"tenant": self.tenant.tenant, "pool_id": pool, "hour": moment(hour), "amount": Decimal(amount)}
                row |= {"billing_currency": "USD", "source": "csv", "parts": [], "created_by": "test"}
                connection.execute(insert(pool_bills).values(**row, recorded_at=text("clock_timestamp()")))

    def send(self, *events: dict[str, Any]) -> None:
        """Books events; all must be taken."""
        known = context(self.database.app, self.tenant.tenant)
        result = ingest(self.database.app, known, self.book, body(events), now=LATER)
        assert result.accepted == len(events), result

    def settle(self, now: datetime = LATER, closed: Closed | None = None) -> int:
        """One run; returns the lines appended. Afterwards rollups, ledger and components agree."""
        settlers = [lambda connection, tenant: settle_pools(connection, tenant, now=now, closed=closed)]
        appended: int = settle(self.database.app, self.tenant, settlers=settlers)["charges"]
        assert [line.describe() for line in differences(check(self.database.app, self.tenant))] == []
        assert [hour.describe() for hour in check_pools(self.database.app, self.tenant) if hour.differs] == []
        return appended

    def query(self, sql: str, **values: Any) -> list[Any]:
        """Rows of a query as the tenant."""
        with transaction(self.database.app, self.tenant.tenant) as connection:
            return [tuple(row) for row in connection.execute(text(sql), values)]

    def costs(self, hour: str, basis: str = "effective_cost", pool: str = POOL) -> dict[str, int]:
        """Event -> whole 10^-15 of an hour."""
        rows = self.query(
            f"SELECT subject_id, (sum({basis}) * 1000000000000000)::bigint FROM charges WHERE subject_kind = 'event' "
            "AND basis = 'attributed' AND deployment = :pool AND date_trunc('hour', charge_period_start) = :hour "
            f"GROUP BY 1 HAVING sum({basis}) IS NOT NULL ORDER BY 1",
            hour=moment(hour),
            pool=pool,
        )
        return dict(rows)

    def totals(self, hour: str, pool: str = POOL) -> set[Decimal]:
        """What the lines of an hour add up to: one amount, where all bases agree."""
        [row] = self.query(
            f"SELECT {', '.join(f'sum({basis})' for basis in BASES)} FROM charges WHERE basis = 'attributed' AND deployment = :pool "
            "AND date_trunc('hour', charge_period_start) = :hour",
            hour=moment(hour),
            pool=pool,
        )
        return set(row)

    def hour_line(self, hour: str, reason: str, basis: str = "effective_cost") -> Decimal:
        """What an hour's own lines of a reason add up to."""
        [(amount,)] = self.query(
            f"SELECT coalesce(sum({basis}), 0) FROM charges WHERE subject_kind = 'pool_hour' AND reason = :reason "
            "AND charge_period_start = :hour",
            hour=moment(hour),
            reason=reason,
        )
        return Decimal(amount)

    def statuses(self) -> dict[str, int]:
        """Status -> events, by the ledger."""
        rows = self.query("SELECT charge_status, sum(events)::int FROM ledger GROUP BY 1 HAVING sum(events) <> 0")
        return dict(rows)

    def reasons(self) -> set[str]:
        """Why events are unpriced."""
        query = "SELECT reason FROM charges WHERE subject_kind = 'event' AND charge_status = 'unpriced' AND events = 1"
        return {row[0] for row in self.query(query)}


Make = Callable[..., PoolWorld]
"""Makes a tenant with one pool, of the named replicas and settings."""


def a(**changes: Any) -> dict[str, Any]:
    """The request that most tests send."""
    return request("a", "10:00:00", "10:00:01", "10:00:03", **changes)


def b(**changes: Any) -> dict[str, Any]:
    """One that runs beside it, a second later."""
    return request("b", "10:00:01", "10:00:02", "10:00:04", **changes)


def moment(text: str) -> datetime:
    """A moment of October 2026: `01T10`, or the whole of it."""
    if len(text) == 5:
        return datetime.fromisoformat(f"2026-10-{text}:00:00+00:00")
    return datetime.fromisoformat(text)


def request(event_id: str, came: str, first: str | None, end: str | None, **changes: Any) -> dict[str, Any]:
    """One event of the pool: 1,000 tokens in, 101 out on r0; times of 2026-10-01, or whole ones."""
    usage = {"input_tokens": 1_000, "cache_read_tokens": 0, "output_tokens": 101} | changes.pop("usage", {})
    times = {"occurred_at": came, "first_token_at": first, "completed_at": end}
    return {
        "event_id": event_id,
        **{name: stamp(value) for name, value in times.items() if value is not None},
        "provider": "acme",
        "model": "llama",
        "deployment": POOL,
        "replica": "r0",
        "status": "ok",
        "usage": usage,
        **changes,
    }


def stamp(value: str) -> str:
    """A time of day of 2026-10-01, or a whole moment, as RFC 3339."""
    return value if "T" in value else f"2026-10-01T{value}Z"


def seconds(after: str, more: float) -> str:
    """A moment some seconds after another."""
    return (datetime.fromisoformat(stamp(after)) + timedelta(seconds=more)).isoformat()
