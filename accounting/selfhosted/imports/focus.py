"""Which rows of a cloud's FOCUS export (1.0 to 1.4; AWS, Azure, Google) are GPU time of which pool?

A row is a pool's by its tag `tokencogs:pool` (`tokencogs_pool` where a cloud allows no colon), else by its ResourceId in a given map. Of
those, Usage counts, corrections of it too; unused parts of commitments are lines of their own. Everything else is left out with its
reason and amount: rows of no pool, purchases, taxes, credits, adjustments. The cost is EffectiveCost, which amortises commitments,
unless another column is asked for. NULL stands for nothing; a moment without a zone is UTC.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from accounting.errors import InvalidInput
from accounting.pricing.currency_codes import currency_code
from accounting.selfhosted.imports.own_csv import exact, instant
from accounting.selfhosted.imports.read_costs import LeftOut, ReadCosts
from accounting.selfhosted.pool_settings import named
from accounting.selfhosted.rates import us
from accounting.selfhosted.spread import ImportedCost

COST_COLUMNS = ("EffectiveCost", "BilledCost", "ContractedCost", "ListCost")
REQUIRED = ("ChargeCategory", "ChargePeriodStart", "ChargePeriodEnd", "BillingCurrency")
POOL_TAGS = ("tokencogs:pool", "tokencogs_pool")
NO_POOL = "no_pool"
_PREFIX = "user:"


def read_focus(
    rows: Iterable[tuple[int, Mapping[str, str]]], resources: Mapping[str, str], cost_column: str = "EffectiveCost"
) -> ReadCosts:
    """Costs of rows (line, column -> text). `resources`: ResourceId (or CommitmentDiscountId) -> pool."""
    if cost_column not in COST_COLUMNS:
        raise InvalidInput("cost_column", cost_column, f"one of {', '.join(COST_COLUMNS)} is expected")
    found = ReadCosts()
    for line, cells in rows:
        stated = {name: "" if text in (None, "NULL", "null") else text for name, text in cells.items()}
        try:
            _read(found, line, stated, resources, cost_column)
        except InvalidInput as error:
            found.reject(line, error)
    return found


def _read(
    found: ReadCosts, line: int, cells: Mapping[str, str], resources: Mapping[str, str], cost_column: str
) -> None:
    amount, currency = (
        exact(cost_column, cells[cost_column]),
        currency_code(cells["BillingCurrency"], "BillingCurrency"),
    )
    resource, commitment = cells.get("ResourceId", ""), cells.get("CommitmentDiscountId", "")
    unused = cells.get("CommitmentDiscountStatus", "") == "Unused"
    pool = _tagged(cells.get("Tags", "")) or resources.get(resource) or (unused and resources.get(commitment)) or None
    category = cells["ChargeCategory"]
    if pool is None or category != "Usage":
        reason = NO_POOL if pool is None else category or "no ChargeCategory"
        service = cells.get("ServiceName", "")
        found.left_out.append(LeftOut(line, reason, resource or commitment, service, amount, currency))
        return
    start, end = (instant(name, cells[name]) for name in ("ChargePeriodStart", "ChargePeriodEnd"))
    if end <= start:
        raise InvalidInput("ChargePeriodEnd", cells["ChargePeriodEnd"], f"must be after {cells['ChargePeriodStart']}")
    whose = named("CommitmentDiscountId", commitment) if unused else named("Tags", pool)
    kept = found.unused if unused else found.costs
    kept.append(ImportedCost(whose, us(start), us(end), amount, None, resource or commitment, line))
    found.currencies[line] = currency


def _tagged(text: str) -> str | None:
    """The pool's tag, of a JSON object, or of a list of {"key", "value"} as Google's export has it."""
    if not text:
        return None
    try:
        tags = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput("Tags", text[:100], "is no JSON") from error
    if isinstance(tags, list):
        tags = {str(one.get("key")): one.get("value") for one in tags if isinstance(one, dict)}
    if not isinstance(tags, dict):
        raise InvalidInput("Tags", text[:100], "a JSON object of tags is expected")
    plain = {name.removeprefix(_PREFIX): value for name, value in tags.items()}
    for name in POOL_TAGS:
        value = plain.get(name)
        if value is not None and value != "":
            return named(f"Tags.{name}", value)
    return None
