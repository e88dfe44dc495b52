"""Does every settled hour add up to its bill, whatever was logged, in which order, with what lost, late or taken back?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from accounting.ledger.revise import void
from tests.accounting.ledger.pool_world import POOL, PoolWorld
from tests.conftest import Database

pytestmark = pytest.mark.storage
BEGIN = datetime(2026, 10, 1, 10, tzinfo=UTC)
HOURS = ("01T10", "01T11")
FEW = settings(
    max_examples=3,
    phases=[Phase.generate],
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
MANY = settings(FEW, max_examples=150)


@st.composite
def logs(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Requests of two hours: across edges, queued, contradicting, failed, cancelled, with anything unknown."""
    found = []
    for number in range(draw(st.integers(0, 6))):
        came = BEGIN + timedelta(milliseconds=draw(st.integers(0, 7_199_999)))
        first = came + timedelta(milliseconds=draw(st.integers(0, 20_000)))
        end = max(came, first + timedelta(milliseconds=draw(st.integers(-200, 60_000))))
        tokens = draw(st.integers(0, 3_000))
        logged = draw(st.sampled_from(["both", "both", "both", "first", "end", "neither"]))
        found.append(
            {
                "event_id": f"e{number}",
                "occurred_at": came.isoformat(),
                **({"first_token_at": first.isoformat()} if logged in ("both", "first") else {}),
                **({"completed_at": end.isoformat()} if logged in ("both", "end") else {}),
                "provider": "acme",
                "model": "llama",
                "deployment": POOL,
                "replica": draw(st.sampled_from(["r0", "r1", "r1", None, "stranger"])),
                "status": draw(st.sampled_from(["ok", "ok", "ok", "error", "cancelled"])),
                "usage": {
                    "input_tokens": tokens,
                    "cache_read_tokens": draw(st.sampled_from([None, 0, tokens // 2])),
                    "output_tokens": draw(st.integers(0, 300)),
                },
            }
        )
    return found


bills = st.sampled_from(["0", "0.000000000000000001", "2.49", "1234.567890123456789012"])


def _state(world: PoolWorld) -> list[Any]:
    columns = "sum(effective_cost), sum(direct_cost), sum(fully_loaded_cost), sum(events)"
    return world.query(
        f"SELECT subject_kind, subject_id, charge_status, {columns} FROM charges WHERE basis = 'attributed' "
        "GROUP BY 1, 2, 3 HAVING sum(events) <> 0 OR sum(effective_cost) <> 0 ORDER BY 1, 2, 3"
    )


def _one(
    database: Database, log: list[dict[str, Any]], amounts: tuple[str, str], order: list[int], policy: str
) -> None:
    straight, shuffled = (PoolWorld.make(database, ("r0", "r1"), policy=policy) for _ in range(2))
    for hour, amount in zip(HOURS, amounts, strict=True):
        straight.bill(amount, hour)
    if log:
        straight.send(*log)
    straight.settle()
    for hour, amount in zip(HOURS, amounts, strict=True):
        assert straight.totals(hour) == {Decimal(amount)}
    assert straight.query("SELECT count(*) FROM pool_hours WHERE idle < 0 OR bill <> direct + gap + idle") == [(0,)]
    shuffled.bill("7", HOURS[0])
    for step, at in enumerate(one for one in order if one < len(log)):
        shuffled.send(log[at])
        if step % 3 == 1:
            shuffled.settle()
    for hour, amount in zip(HOURS, amounts, strict=True):
        shuffled.bill(amount, hour)
    shuffled.settle()
    assert shuffled.settle() == 0
    assert _state(shuffled) == _state(straight)
    if log:
        void(database.app, straight.tenant, log[0]["event_id"], "a test")
        assert [straight.totals(hour) for hour in HOURS] == [{Decimal(amount)} for amount in amounts]
        straight.settle()
        assert [straight.totals(hour) for hour in HOURS] == [{Decimal(amount)} for amount in amounts]


cases = given(
    log=logs(),
    amounts=st.tuples(bills, bills),
    order=st.permutations(range(6)),
    policy=st.sampled_from(["switch", "equal"]),
)


@FEW
@cases
def test_an_hour_adds_up_to_its_bill_in_every_order(
    database: Database, log: list[dict[str, Any]], amounts: tuple[str, str], order: list[int], policy: str
) -> None:
    _one(database, log, amounts, order, policy)


@pytest.mark.slow
@MANY
@cases
def test_many_hours_add_up_to_their_bills_in_every_order(
    database: Database, log: list[dict[str, Any]], amounts: tuple[str, str], order: list[int], policy: str
) -> None:
    _one(database, log, amounts, order, policy)
