"""Which prices of a GPU-hour does a public collection state, as candidates with source and date?

Two kinds of CSV, told by their headings: offers (`cloud, region, instance_or_offer, ..., tier, ..., as_of, source, caveat`) and a history
of instance prices (`region, instance, ..., first_seen, last_seen`). A price holds from the day it was seen: nobody knows since when before.
The price of an instance is kept for all its GPUs, so that nothing is rounded to one of them. Spot tiers become spot, every other tier
is on demand, and the tier stands in the id.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any

from accounting.errors import InvalidInput
from accounting.selfhosted.pool_settings import LONGEST_ID
from accounting.selfhosted.rate_json import rate_of
from accounting.selfhosted.rates import GpuRate

OFFERS = {
    "cloud",
    "region",
    "instance_or_offer",
    "gpu_model",
    "gpu_count",
    "tier",
    "price_usd_per_gpu_hour",
    "as_of",
    "source",
}
HISTORY = {"region", "instance", "gpu_model", "gpu_count", "price_usd_per_instance_hour", "first_seen", "last_seen"}
CURRENCY = "USD"


@dataclass
class ReadRates:
    """Attributes: rates: candidates. rejected: {"line", "field", "value", "reason"}: rows that state no price."""

    rates: list[GpuRate] = field(default_factory=list)
    rejected: list[dict[str, Any]] = field(default_factory=list)


def read_gpu_prices(text: str, name: str) -> ReadRates:
    """Candidates of a file; `name`: of the file, the source of a history. Raises InvalidInput for any other heading."""
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), restval="")
        heading = set(reader.fieldnames or ())
        if heading >= OFFERS:
            parse = _offer
        elif heading >= HISTORY:
            parse = _history
        else:
            raise InvalidInput("file", name, "is neither a list of GPU offers nor a history of instance prices")
        found, seen = ReadRates(), set[tuple[str, datetime]]()
        for cells in reader:
            try:
                rate = parse(cells, name)
                if (rate.rate_id, rate.effective_from) in seen:
                    raise InvalidInput("rate_id", rate.rate_id, "is on an earlier line already")
            except InvalidInput as error:
                said = {"field": error.field, "value": str(error.value), "reason": error.reason}
                found.rejected.append({"line": reader.line_num} | said)
                continue
            seen.add((rate.rate_id, rate.effective_from))
            found.rates.append(rate)
    except csv.Error as error:
        raise InvalidInput("file", name, f"is no CSV: {error}") from error
    return found


def _offer(cells: Mapping[str, str], name: str) -> GpuRate:
    tier = cells["tier"].strip().lower()
    whole = cells.get("price_usd_per_instance_hour", "")
    seen = _day("as_of", cells["as_of"])
    parts = [cells["cloud"], cells["region"], cells["instance_or_offer"], tier]
    caveat = cells.get("caveat", "")
    return _rate(
        [part for part in parts if part and part != "unstated"],
        "spot" if tier == "spot" else "on_demand",
        cells,
        (whole, _count(cells)) if whole else (cells["price_usd_per_gpu_hour"], 1),
        seen,
        seen,
        f"{cells['source']}; {caveat}" if caveat else cells["source"],
    )


def _history(cells: Mapping[str, str], name: str) -> GpuRate:
    since, last = (_day(field, cells[field]) for field in ("first_seen", "last_seen"))
    price = (cells["price_usd_per_instance_hour"], _count(cells))
    return _rate(["aws", cells["region"], cells["instance"], "on-demand"], "on_demand", cells, price, since, last, name)


def _rate(
    parts: list[str],
    kind: str,
    cells: Mapping[str, str],
    price: tuple[str, int],
    since: date,
    seen: date,
    source: str,
) -> GpuRate:
    return rate_of(
        {"price_per_hour": price[0], "gpus": price[1]},
        rate_id="/".join(re.sub(r"[^\w.-]+", "-", part.strip()).lower() for part in parts)[:LONGEST_ID],
        kind=kind,
        gpu=cells["gpu_model"],
        billing_currency=CURRENCY,
        effective_from=datetime(since.year, since.month, since.day, tzinfo=UTC),
        source=source,
        checked_on=seen,
    )


def _count(cells: Mapping[str, str]) -> int:
    text = cells["gpu_count"]
    if not re.fullmatch("[0-9]{1,6}", text):
        raise InvalidInput("gpu_count", text, "a whole number from 1 is expected")
    return int(text)


def _day(field: str, text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise InvalidInput(field, text, "a day as YYYY-MM-DD is expected") from error
