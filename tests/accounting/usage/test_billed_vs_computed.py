"""Where a reseller states what it billed: is that the list price, and if not, why?"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from accounting.money import format_plain, from_minor
from accounting.pricing.rate import rate
from accounting.pricing.reasons import REASONS
from tests.accounting.pricing.rating import batch, list_book
from tests.accounting.usage.wire_rows import columns, lines, read_row

AT = "2025-11-06T12:00:00+00:00"

SOL = "billed at the first price, 5 in and 30 out; of this reseller's prices the list knows the later ones only, from 2 and 10 on"
DIFFERENCES = {
    176: ("0.0160614", "0.0001764", "a tool's fee of 0.015885 is in the charge and in no token"),
    190: ("0.000014", "0.00001036", "routed to a vendor whose price is not the list's"),
    348: ("0.025265", "0.010096", SOL),
    349: ("0.002196", "0.0008684", SOL),
    1575: (
        None,
        "0.000192",
        "the gateway's figure is called an estimate: evidence, not a charge; it equals the list price",
    ),
    1576: (
        None,
        "0.00009625",
        "the gateway's figure is called an estimate: evidence, not a charge; it equals the list price",
    ),
}
"""Row -> (reported, calculated, cause)."""

OWN_KEY = 179
"""Row paid with one's own key: billed 0 by the reseller and 0.0003253 by the vendor, which is what was paid."""


def _reported_and_calculated(row: dict[str, Any]) -> tuple[str | None, str]:
    body = {"model": row["model"], "usage": row["usage"]}
    [booked] = read_row(body, None, None, AT).booked
    event = booked.event
    assert event.usage is not None
    inputs = {"provider": event.provider, "model": event.model, "at": AT, "service_tier": event.service_tier}
    out = rate(list_book(), batch([inputs | columns(event.usage)]))
    reported = None if event.reported_cost_usd is None else format_plain(event.reported_cost_usd)
    return reported, REASONS[out.reason[0]] or format_plain(from_minor(int(out.list_cost[0])))


def test_every_difference_between_billed_and_calculated_has_a_named_cause() -> None:
    rows = {row["n"]: row for row in lines("known-costs/billed_vs_computed.jsonl")}
    assert len(rows) == 19
    found = {name: _reported_and_calculated(row) for name, row in rows.items()}
    differing = {name: pair for name, pair in found.items() if pair[0] != pair[1]}
    assert differing == {name: (reported, calculated) for name, (reported, calculated, _) in DIFFERENCES.items()}
    for name, (reported, _) in found.items():
        if name != OWN_KEY and reported is not None:
            assert Decimal(reported) == Decimal(rows[name]["billed_usd_from_response"])
    assert found[OWN_KEY] == ("0.0003253", "0.0003253")
