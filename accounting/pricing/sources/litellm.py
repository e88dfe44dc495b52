"""Which list rows does LiteLLM's price table state? `model_prices_and_context_window.json`: USD a token, as floats in e-notation.

The numbers are read as decimal text. A key is `base[_above_Nk_tokens][_tier]`: N thousand input tokens, whole request, `>`; a tier is a
service tier as served. Above a threshold a class without a price of its own keeps the one below it, as LiteLLM itself does. The table
has no dates: whoever imports it says as of which day it is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import cache
from typing import Any, NamedTuple

from accounting.errors import InvalidInput
from accounting.money import format_plain
from accounting.pricing.data_files import seller_names
from accounting.pricing.sources.keys import APART, KNOWN, OTHER_METER, PRICE, UNIT, UNKNOWN, WITHHOLD, read, uses
from accounting.pricing.sources.litellm_multipliers import multiplied, unknown_conditions
from accounting.pricing.sources.statement import ClassPrices, SourceFindings, Statement, is_free
from accounting.pricing.tariff import DEFAULT_TIER, Alias, Tariff
from accounting.usage.classes import UNIT_CLASSES

SOURCE = "litellm"
_TIERS = {
    "batches": "batch",
    "flex": "flex",
    "priority": "priority",
    "ultrafast": "ultrafast",
    "balanced": "balanced",
    "decisions": "decisions",
}
_KEY = re.compile(rf"(?P<base>.+?)(?:_above_(?P<thousands>\d+)k_tokens)?(?:_(?P<tier>{'|'.join(_TIERS)}))?")
_PRICE_WORDS = ("cost", "pricing", "multiplier")
_SEARCH = "search_context_cost_per_query"
_SPECIFICATION = "sample_spec"


class Key(NamedTuple):
    """A price key taken apart; `above` 0 is the base price."""

    base: str
    above: int
    tier: str


def read_table(content: bytes, source_version: str) -> Statement:
    """The whole table. Raises InvalidInput for what is no such table; single models that can't be held are findings."""
    findings = SourceFindings()
    rows: list[Tariff] = []
    for model, entry in sorted(_table(content).items()):
        if model == _SPECIFICATION:
            continue
        if not isinstance(entry, dict):
            raise InvalidInput(model, entry, "an object with price keys is expected")
        seller = _seller(model, entry)
        if seller is None:
            findings.models[model] = "litellm_provider is not stated"
            continue
        if why := _withheld().get(model):
            findings.models[model] = why
            continue
        if unknown := unknown_conditions(entry):
            findings.withheld.add((model, "*", unknown[0]))
            findings.models[model] = f"{unknown[0]} may change its prices"
            continue
        made = list(_rows(seller, model, entry, source_version, findings))
        try:
            made = multiplied(made, entry)
        except InvalidInput as error:
            # Its base price alone would price the calls that the factor is about, and wrongly.
            findings.withheld.add((model, "*", str(error)))
            findings.models[model] = str(error)
            continue
        if not made and model not in findings.models:
            findings.models[model] = "states no price of a token that can be held"
        findings.free |= {model for row in made if is_free(row)}
        rows += made
    held = {(row.seller, row.model) for row in rows}
    return Statement(SOURCE, source_version, rows, _aliases(held, findings), findings)


@cache
def parts(key: str) -> Key:
    """What a price key says: its base, its threshold in tokens and its service tier."""
    found = _KEY.fullmatch(key)
    assert found is not None
    return Key(found["base"], int(found["thousands"] or 0) * 1_000, _TIERS.get(found["tier"] or "", DEFAULT_TIER))


def per_million(value: Decimal | int) -> str:
    """A price of one token as decimal text for a million."""
    return format_plain(Decimal(value) * 1_000_000)


def _table(content: bytes) -> dict[str, Any]:
    try:
        table = json.loads(content, parse_float=Decimal, parse_constant=str)
    except (ValueError, RecursionError) as error:
        raise InvalidInput("file", str(error), "is no JSON") from error
    if not isinstance(table, dict):
        raise InvalidInput("file", type(table).__name__, "a JSON object of models is expected")
    return table


def _seller(model: str, entry: Mapping[str, Any]) -> str | None:
    provider = entry.get("litellm_provider") or (model.partition("/")[0] if "/" in model else None)
    if not isinstance(provider, str):
        return None
    name = provider.lower()
    return _providers().get(name) or seller_names().get(name) or name


@cache
def _providers() -> dict[str, str]:
    return {row["provider"]: row["seller"] for row in read("litellm_providers.csv")}


@cache
def _withheld() -> dict[str, str]:
    """Model -> why what the table says of it is not what a call costs."""
    return {row["model"]: row["why"] for row in read("litellm_withheld.csv")}


def _rows(
    seller: str, model: str, entry: Mapping[str, Any], version: str, findings: SourceFindings
) -> Iterator[Tariff]:
    stated = {parts(key): value for key, value in entry.items() if _is_price(key, value)}
    for tier in sorted({key.tier for key in stated}):
        mine = {key: value for key, value in stated.items() if key.tier == tier}
        base = _row(seller, model, tier, 0, _reached(mine, 0), entry, version, findings)
        if base is None:
            if any(key.above for key in mine):
                findings.withheld.add((model, "*", f"{tier}: prices above a threshold, none below it"))
            continue
        yield base
        for above in sorted({key.above for key in mine} - {0}):
            row = _row(seller, model, tier, above, _reached(mine, above), entry, version, findings)
            if row is not None and row.prices != base.prices:
                yield row


def _is_price(key: str, value: object) -> bool:
    if key == _SEARCH or value is None:
        return False
    return key in uses(SOURCE) or any(word in key for word in _PRICE_WORDS)


def _reached(stated: Mapping[Key, Any], above: int) -> dict[str, Any]:
    """Base key -> value of a request just above a threshold: that of the highest threshold reached."""
    found: dict[str, Any] = {}
    for key in sorted(stated, key=lambda one: one.above):
        if key.above <= above:
            found[key.base] = stated[key]
    return found


def _row(
    seller: str,
    model: str,
    tier: str,
    above: int,
    stated: Mapping[str, Any],
    entry: Mapping[str, Any],
    version: str,
    findings: SourceFindings,
) -> Tariff | None:
    prices = ClassPrices(model, findings)
    meters: list[tuple[str, str]] = []
    for base, value in stated.items():
        use = uses(SOURCE).get(base, UNKNOWN)
        if use.use != PRICE and above == 0:
            findings.keys[base] += use.use not in (KNOWN, UNIT)
        if use.use in (PRICE, UNIT) and _is_number(value):
            text = (
                per_million(value) if use.use == PRICE else format_plain(Decimal(value) * UNIT_CLASSES[use.token_class])
            )
            prices.state(use.token_class, text, base)
        elif use.use in (PRICE, UNIT):
            prices.withhold(use.token_class, f"{base}={value!r}: no number")
        elif use.use == WITHHOLD:
            prices.withhold(use.token_class, base)
        elif use.use == OTHER_METER:
            meters.append((use.token_class, base))
        else:
            assert use.use in (APART, KNOWN)
    for token_class, base in meters:
        if token_class not in prices.prices:
            prices.withhold(token_class, base)
    if tier == DEFAULT_TIER:
        _web_search(prices, entry.get(_SEARCH))
    return prices.row(
        seller=seller,
        service_tier=tier,
        above_input_tokens=above,
        source=SOURCE,
        source_version=version,
    )


def _is_number(value: object) -> bool:
    return isinstance(value, Decimal | int) and not isinstance(value, bool)


def _web_search(prices: ClassPrices, by_context: object) -> None:
    """A search costs the same whatever its context, or it has no single price."""
    if not isinstance(by_context, dict):
        return
    found = {value for value in by_context.values() if _is_number(value)}
    if len(found) == 1:
        prices.state("web_search", format_plain(Decimal(found.pop()) * UNIT_CLASSES["web_search"]), _SEARCH)
    elif found:
        prices.withhold("web_search", f"{_SEARCH}: differs by the size of the context")


def _aliases(held: set[tuple[str, str]], findings: SourceFindings) -> list[Alias]:
    """Each model's key, and what follows its provider in it, where that means one model."""
    named: dict[tuple[str, str], str] = {(seller, model.lower()): model for seller, model in sorted(held)}
    short: dict[tuple[str, str], list[str]] = {}
    for seller, model in held:
        _, slash, rest = model.partition("/")
        if slash and rest and (seller, rest.lower()) not in named:
            short.setdefault((seller, rest.lower()), []).append(model)
    for (seller, name), models in short.items():
        if len(models) == 1:
            named[seller, name] = models[0]
        else:
            findings.names[f"{seller}/{name}"] = "means " + " and ".join(sorted(models))
    return [Alias(seller, name, model, SOURCE) for (seller, name), model in sorted(named.items())]
