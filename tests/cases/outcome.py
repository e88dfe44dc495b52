"""What became of a case's payload: which tokens, at which price, for how much, in which state?

`figures` answers every key that the data set's `expected` uses, in the data set's words.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from accounting.ledger.first_charge import first_charges, rate_input
from accounting.money import format_plain, from_minor
from accounting.pricing.rate import components, rate
from accounting.pricing.tariff import Tariff
from accounting.tenant import TenantContext
from accounting.usage.classes import CACHE_WRITES, USAGE_COLUMNS
from accounting.usage.columns import Prepared
from tests.cases import vocabulary
from tests.cases.book import IN_REGION, price_book
from tests.cases.normalised import calls, normalise
from tests.cases.rows import Case

INPUT = ("uncached_input_tokens", "cache_read_tokens", *CACHE_WRITES)
OF_INPUT = {name.removesuffix("_tokens") for name in INPUT} | {"audio_input", "image_input", "video_input"}


@dataclass(frozen=True)
class Outcome:
    """Attributes:
    prepared: what was read. staged: the booked calls with their first charge, as they are stored.
    refused: calls that can't be booked. rows: price row of each call, None without one.
    components: of each call, one dict a token class. unclassified: tokens of the stated total that are in no class.
    """

    prepared: Prepared
    staged: pa.RecordBatch
    refused: Mapping[int, tuple[str, str | None, str]]
    rows: list[Tariff | None]
    components: list[list[dict[str, Any]]]
    unclassified: int

    @property
    def held(self) -> bool:
        """Whether the body contradicts itself, so that nothing of it is booked before a replay."""
        return bool(self.prepared.suspended)

    def column(self, name: str) -> list[Any]:
        """One value a booked call."""
        found: list[Any] = self.staged[name].to_pylist()
        return found

    def evidence(self) -> list[dict[str, Any]]:
        """What is kept of each call's body."""
        return [json.loads(kept, parse_float=Decimal)["body"] for kept in self.prepared.usage_bodies]


def tenant(case: Case, name: str = "cases") -> TenantContext:
    """A tenant who books the provider's own figure where the case does."""
    reported = case["expected"].get("basis") == "reported"
    return TenantContext(name, "UTC", "USD", frozenset({(case["provider"], "")} if reported else ()))


def outcome(case: Case) -> Outcome:
    """Normalised and rated by the real code, without a database."""
    prepared = normalise(case)
    book = price_book(case)
    staged, refused = first_charges(prepared.batch, book, tenant(case))
    given = rate_input(prepared.batch)
    rated = rate(book, given)
    rows = [book.rows[number] if number >= 0 else None for number in rated.sku_index.tolist()]
    parts = [[] if row is None else components(book, given, rated, number) for number, row in enumerate(rows)]
    unclassified = 0 if prepared.suspended else sum(call.unclassified_tokens for call in calls(case))
    return Outcome(prepared, staged, refused, rows, parts, unclassified)


def status(found: Outcome) -> tuple[str, str | None]:
    """Status and reason in the data set's words; that of the first call which is not plainly priced."""
    if found.prepared.suspended:
        return "accepted_with_exception", vocabulary.reason(found.prepared.suspended[0].reason, "ok")
    if found.prepared.rejected or found.refused:
        return "rejected", None
    calls = zip(found.column("charge_status"), found.column("reason"), found.column("status"), strict=True)
    for charge_status, reason, event_status in calls:
        if charge_status != "priced":
            return charge_status, vocabulary.reason(reason, event_status)
    if found.prepared.findings:
        return "accepted_with_exception", vocabulary.reason(found.prepared.findings[0][1].reason, "ok")
    return "priced", None


def cost(found: Outcome) -> str | None:
    """What is booked, of all calls; None unless each has a cost."""
    costs = found.column("contracted_cost_e15")
    return _sum(from_minor(minor) for minor in costs) if costs and None not in costs else None


def calculated(found: Outcome) -> str:
    """What the price list says, whatever is booked."""
    return _sum(Decimal(part["effective_cost"]) for parts in found.components for part in parts)


def tokens(found: Outcome) -> dict[str, int]:
    """Every count of the booked calls, by usage column, and their total input."""
    counts = {name: sum(found.column(name)) for name in USAGE_COLUMNS}
    return counts | {"total_input_tokens": sum(counts[name] for name in INPUT)}


def figures(case: Case, found: Outcome) -> dict[str, Callable[[], Any]]:
    """Key of `expected` -> what we have."""
    return {
        **{name: lambda name=name: tokens(found)[name] for name in tokens(found)},  # type: ignore[misc]
        "status": lambda: status(found)[0],
        "reason": lambda: status(found)[1],
        "cost_usd": lambda: cost(found),
        "calls": lambda: found.staged.num_rows,
        "units": lambda: {"web_search": tokens(found)["web_search_requests"]},
        "applied": lambda: _applied(case, found),
        "matched_price": lambda: _one(row.model for row in found.rows if row is not None),
        "tier_source": lambda: _tier_source(found),
        "basis": lambda: _one(found.column("basis")),
        "reported_cost_usd": lambda: _reported(found),
        "variance_usd": lambda: format_plain(Decimal(_reported(found)) - Decimal(calculated(found))),
        "token_cost_usd": lambda: calculated(found),
        "input_cost_usd": lambda: _input_cost(found),
        "parts": lambda: _parts(found),
        "unclassified_tokens": lambda: found.unclassified,
    }


def _applied(case: Case, found: Outcome) -> dict[str, Any]:
    """Which conditions of the price row held."""
    row = _one(row for row in found.rows if row is not None)
    of_route = {"route": row.region or IN_REGION if "routes" in case["prices"] else None}
    return {"tier_above": row.above_input_tokens, "service_tier": row.service_tier, **of_route}


def _tier_source(found: Outcome) -> str:
    """The response, unless the tier booked is the one asked for and the body, kept as evidence, states another."""
    [booked], [asked] = found.column("service_tier"), found.column("requested_service_tier")
    [body] = found.evidence()
    return "request" if booked == asked != body["service_tier"] else "response"


def _reported(found: Outcome) -> str:
    return format_plain(Decimal(_one(found.column("reported_cost_usd"))))


def _input_cost(found: Outcome) -> str:
    parts = (part for parts in found.components for part in parts if part["token_class"] in OF_INPUT)
    return _sum(Decimal(part["effective_cost"]) for part in parts)


def _parts(found: Outcome) -> dict[str, str]:
    """What the gateway's figure is made of, from the evidence kept."""
    usage = _one(found.evidence())["usage"]
    upstream = usage["cost_details"]["upstream_inference_cost"]
    return {"gateway_fee_usd": format_plain(usage["cost"]), "vendor_charge_usd": format_plain(upstream)}


def _one(values: Any) -> Any:
    found = list(values)
    assert all(value == found[0] for value in found), found
    return found[0]


def _sum(amounts: Any) -> str:
    return format_plain(sum(amounts, Decimal(0)))
