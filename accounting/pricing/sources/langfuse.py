"""Which list rows does Langfuse's default price table state? `default-model-prices.json`: USD a token, several keys for one class.

Only exact names are taken: the model's own, and the one that its pattern spells out. Langfuse adds up several counts to decide a
threshold, with cached input as it logs it; that is total input here. Fast and priority share a tier there and are two here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from accounting.errors import InvalidInput
from accounting.money import format_plain
from accounting.pricing.sources.keys import PRICE, UNIT, UNKNOWN, WITHHOLD, uses
from accounting.pricing.sources.statement import ClassPrices, SourceFindings, Statement, is_free
from accounting.pricing.tariff import DEFAULT_TIER, Alias, Tariff
from accounting.usage.classes import UNIT_CLASSES

SOURCE = "langfuse"
_SPELT_SELLER = re.compile(r"\((anthropic|google|openai)(?:\(ai\)\?)?\\?/\)")
_TOTAL_INPUT = {"(input)", "(input|cache_write)", "(input|prompt|cached)"}
_LITERAL = re.compile(r"\(\?i\)\^(?:\([a-z]+(?:\([a-z]+\)\?)?\\?/\)\?)?\(?([\w.:@-]+)\)?\$")


def read_table(content: bytes, source_version: str) -> Statement:
    """The whole table. Raises InvalidInput for what is no such table; single models that can't be held are findings."""
    try:
        table = json.loads(content, parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        raise InvalidInput("file", str(error), "is no JSON") from error
    if not isinstance(table, list):
        raise InvalidInput("file", type(table).__name__, "a JSON array of models is expected")
    findings = SourceFindings()
    rows: list[Tariff] = []
    names: list[Alias] = []
    for entry in table:
        if not isinstance(entry, dict) or not isinstance(entry.get("modelName"), str):
            raise InvalidInput("modelName", entry, "a model's name is expected")
        model = entry["modelName"]
        seller = _seller(entry.get("matchPattern"))
        if seller is None:
            findings.models[model] = "its seller is not stated"
            continue
        made = list(_rows(seller, model, entry.get("pricingTiers") or [], source_version, findings))
        if not made:
            findings.models.setdefault(model, "states no price of a token that can be held")
        findings.free |= {model for row in made if is_free(row)}
        rows += made
        names += [Alias(seller, name, model, SOURCE) for name in _names(model, entry.get("matchPattern"), findings)]
    return Statement(SOURCE, source_version, rows, _distinct(names), findings)


def _seller(pattern: object) -> str | None:
    """Langfuse states no seller but in its patterns: `(openai/)?` before a name."""
    found = _SPELT_SELLER.search(pattern) if isinstance(pattern, str) else None
    return found[1] if found else None


def _names(model: str, pattern: object, findings: SourceFindings) -> list[str]:
    literal = _LITERAL.fullmatch(pattern) if isinstance(pattern, str) else None
    if literal is None:
        findings.names[model] = f"matched by the pattern {pattern}"
    return sorted({model.lower(), *([literal[1].lower()] if literal else [])})


def _distinct(names: Sequence[Alias]) -> list[Alias]:
    found: dict[tuple[str, str], Alias] = {}
    for name in names:
        found.setdefault((name.seller, name.alias), name)
    return list(found.values())


def _rows(
    seller: str, model: str, tiers: Sequence[Mapping[str, Any]], version: str, findings: SourceFindings
) -> Iterator[Tariff]:
    base: Tariff | None = None
    for tier in sorted(tiers, key=lambda one: not one.get("isDefault")):
        conditions = _conditions(tier.get("conditions") or [])
        if conditions is None:
            findings.withheld.add((model, "*", f"the tier {tier.get('name')!r} has a condition that no event carries"))
            continue
        prices = ClassPrices(model, findings)
        for key, value in (tier.get("prices") or {}).items():
            _state(prices, key, value)
        for name, above in conditions:
            row = prices.row(
                seller=seller, service_tier=name, above_input_tokens=above, source=SOURCE, source_version=version
            )
            if row is None:
                continue
            if above and base is None:
                findings.withheld.add((model, "*", "prices above a threshold, none below it"))
                continue
            base = base or row
            yield row


def _state(prices: ClassPrices, key: str, value: object) -> None:
    use = uses(SOURCE).get(key, UNKNOWN)
    if use.use in (PRICE, UNIT) and isinstance(value, Decimal | int):
        per = 1_000_000 if use.use == PRICE else UNIT_CLASSES[use.token_class]
        prices.state(use.token_class, format_plain(Decimal(value) * per), key)
        return
    prices.findings.keys[key] += 1
    if use.use == WITHHOLD:
        prices.withhold(use.token_class, key)


def _conditions(stated: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]] | None:
    """(service tier, threshold) of each row that a tier's conditions come to; None where no event carries one of them."""
    tiers, above = [DEFAULT_TIER], 0
    for one in stated:
        if one.get("key") in ("service_tier", "speed") and one.get("operator") == "in":
            tiers = [str(value) for value in one.get("values", [])]
        elif one.get("operator") == "gt" and one.get("usageDetailPattern") in _TOTAL_INPUT:
            above = int(one["value"])
        else:
            return None
    return [(tier, above) for tier in tiers]
