"""What the naive rater makes of a price row by the rules of a contract, straight from their definition."""

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from math import prod
from typing import Any

from accounting.pricing.contract import PriceRule
from accounting.pricing.tariff import Tariff
from accounting.usage.classes import PRICED_CLASSES, UNIT_CLASSES

PLACE, KINDS = ("surface", "region"), ("discount", "multiplier", "fixed", "cap", "floor")


def applies(rule: PriceRule, row: Tariff, event: dict[str, Any]) -> bool:
    asked = {"models": row.model, "service_tiers": row.service_tier} | {f"{name}s": event.get(name) for name in PLACE}
    since, until = rule.effective_from, rule.effective_until
    scoped = all(getattr(rule.scope, name) is None or one in getattr(rule.scope, name) for name, one in asked.items())
    return scoped and (since is None or since <= event["at"]) and (until is None or event["at"] < until)


def prices(row: Tariff, rules: Sequence[PriceRule]) -> dict[str, Decimal]:
    """Currency units for one token or unit. A rule about all classes reaches one that has another's price through that other."""
    own = {name: Decimal(price).scaleb(-15) for name, price in row.prices.items()}
    found = dict(own)
    for name in PRICED_CLASSES:
        about = [rule for rule in rules if rule.scope.token_classes is None or name in rule.scope.token_classes]
        named = [rule.kind for rule in about if rule.scope.token_classes]
        listed = own.get(row.fallbacks.get(name, name))
        if about and (named or name in own) and (listed is not None or "fixed" in named):
            value = {kind: [rule.value for rule in about if rule.kind == kind] for kind in KINDS}
            factors = [*value["multiplier"], *(1 - discount for discount in value["discount"])]
            per = UNIT_CLASSES.get(name, 1_000_000)
            price = value["fixed"][0] if value["fixed"] else prod(factors, start=(listed or 0) * per)
            price = max([min([price, *value["cap"]]), *value["floor"]])
            found[name] = Decimal(price).quantize(Decimal("1e-9"), ROUND_HALF_EVEN) / per
    return found | {name: found[used] for name, used in row.fallbacks.items() if name not in found}
