"""Why does one event cost what it costs? The whole derivation from the books, line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Any

import numpy as np

from accounting.errors import InvalidInput
from accounting.money import format_minor
from accounting.pricing.book import PriceBook
from accounting.pricing.chains import min_input
from accounting.pricing.components import components, unit_price_text
from accounting.pricing.layers import rate_layers, taken
from accounting.pricing.leaves import INPUT_COLUMNS
from accounting.pricing.rate import Rated, RateInput, rate
from accounting.pricing.reasons import REASONS
from accounting.pricing.rules import BoundRule
from accounting.pricing.tariff import Tariff, format_sku

Line = dict[str, Any]
"""`step` names what is decided, `text` says it in a sentence; the other fields are the facts of the sentence."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def explain(
    list_book: PriceBook,
    contract_book: PriceBook | None,
    inp: RateInput,
    event: int,
    rules: Sequence[BoundRule] = (),
) -> dict[str, Any]:
    """Derivation of event number `event`: `status`, `reason`, `currency`, both costs as decimal text or None, and `lines`.

    Steps, in this order: seller, model, service_tier, surface, region, row (of the contracted book), list_row, threshold, class (one
    a class with a quantity), total. An event without a price ends with the line that says why.

    Args:
        rules: the tenant's rules (contracted.bound_rules), of which those that made a price are named beside it.
    """
    if not 0 <= event < len(inp.occurred_at):
        raise InvalidInput("event", event, f"the batch has {len(inp.occurred_at)} events")
    one = taken(inp, np.array([event]))
    book = contract_book or list_book
    rated = rate_layers(list_book, contract_book, one)
    lines = list(_names(book, one))
    if rated.sku_index[0] < 0:
        reason = REASONS[rated.reason[0]]
        lines.append({"step": "total", "reason": reason, "text": f"no price: {reason}"})
        return {
            "status": "unpriced",
            "reason": reason,
            "currency": None,
            "list_cost": None,
            "contracted_cost": None,
        } | {"lines": lines}
    row = book.rows[int(rated.sku_index[0])]
    lines += [_row("row", row)]
    listed = list_book.row_of(int(rated.list_sku_price_id[0])) if rated.list_known[0] else None
    if listed is None or listed.sku_price_id != row.sku_price_id:
        lines += [_row("list_row", listed)]
    lines += [_threshold(row, one), *_classes(book, list_book, one, rated, rules)]
    costs = {
        "list_cost": format_minor(int(rated.list_cost[0])) if rated.list_known[0] else None,
        "contracted_cost": format_minor(int(rated.contracted_cost[0])),
    }
    text = f"list {costs['list_cost'] or 'not known'}, contracted {costs['contracted_cost']} {row.currency}"
    lines.append({"step": "total", **costs, "currency": row.currency, "text": text})
    return {"status": "priced", "reason": None, "currency": row.currency, **costs, "lines": lines}


def _names(book: PriceBook, one: RateInput) -> Iterator[Line]:
    """What the logged names mean, as far as they mean anything."""
    logged = {name: None if (column := getattr(one, name)) is None else column[0].as_py() for name in _LOGGED}
    batch = bool(one.batch is not None and one.batch[0])
    seller = book.names.seller(logged["provider"])
    yield _meaning("seller", logged["provider"], seller)
    if seller is None:
        return
    own, listed = book.names.models(seller, logged["model"])
    for layer, name in (("contract", own), ("list", listed)):
        if name is not None:
            how = {"layer": layer, "how": name.how, "name": name.alias}
            yield (
                _meaning("model", logged["model"], name.model)
                | how
                | {"text": f"model {logged['model']} is {name.model} by the {layer}'s name {name.alias} ({name.how})"}
            )
    if own is None and listed is None:
        yield _meaning("model", logged["model"], None)
        return
    tier = book.names.tier(logged["service_tier"], batch)
    yield _meaning("service_tier", logged["service_tier"], tier) | {"batch": batch}
    yield _meaning("surface", logged["surface"], logged["surface"])
    yield _meaning("region", logged["region"], book.names.region(seller, logged["model"], logged["region"]))


_LOGGED = ("provider", "model", "service_tier", "surface", "region")


def _meaning(step: str, logged: str | None, found: str | None) -> Line:
    text = f"{step.replace('_', ' ')} {logged or 'not stated'} is {found or 'not known'}"
    return {"step": step, "logged": logged, "found": found, "text": text}


def _row(step: str, row: Tariff | None) -> Line:
    if row is None:
        return {"step": step, "sku_price_id": None, "text": "the list has no price in this currency"}
    conditions = {
        "service_tier": row.service_tier,
        "surface": row.surface,
        "region": row.region,
        "window_start": _clock(row.window_start),
        "window_end": _clock(row.window_end),
        "effective_from": _instant(row.effective_from),
        "effective_until": _instant(row.effective_until),
    }
    layer = "list" if row.tenant is None else "contract row" if row.derived_from is None else "contract rules"
    provenance = {name: getattr(row, name) for name in ("source", "source_version", "created_by", "approved_by")}
    provenance["checked_on"] = None if row.checked_on is None else row.checked_on.isoformat()
    derived = {} if row.derived_from is None else {"derived_from": format_sku(row.derived_from)}
    stated = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in conditions.items() if value is not None)
    text = f"{layer} {row.sku_price_text} of {row.seller}/{row.model}: {stated}; {row.source} {row.source_version}".rstrip()
    facts = {"sku_price_id": row.sku_price_text, "layer": layer, "seller": row.seller, "model": row.model}
    return {"step": step, **facts, **conditions, **provenance, **derived, "text": text}


def _threshold(row: Tariff, one: RateInput) -> Line:
    """How many tokens decided, and which threshold they reached."""
    counts = {name: int(column[0]) for name, column in one.quantities.items()}
    total, output = sum(counts.get(name, 0) for name in INPUT_COLUMNS), counts.get("output_tokens", 0)
    by_rule = {"uncached_input": counts.get("uncached_input_tokens", 0), "output": output, "total": total + output}
    tokens = by_rule.get(row.decided_by, total)
    words = row.decided_by.replace("_", " ")
    reached = f"{tokens} tokens of {words}, {row.operator} {row.above_input_tokens}, for the whole request"
    text = reached if min_input(row) else f"{tokens} tokens of total input; the base row holds"
    facts = {"decided_by": row.decided_by, "tokens": tokens, "above_input_tokens": row.above_input_tokens}
    return {"step": "threshold", **facts, "operator": row.operator, "text": text}


def _classes(
    book: PriceBook, list_book: PriceBook, one: RateInput, rated: Rated, rules: Sequence[BoundRule]
) -> Iterator[Line]:
    """Quantity times price of every class. A class that only the list's row tells apart has a line with its list cost alone."""
    row = book.rows[int(rated.sku_index[0])]
    at = _EPOCH + timedelta(microseconds=int(one.occurred_at[0]))
    listed = {part["token_class"]: part for part in _list_components(list_book, one, rated)}
    paid = {part["token_class"]: part for part in components(book, one, rated, 0, list_book)}
    for token_class in dict.fromkeys((*paid, *listed)):
        ours, theirs = paid.get(token_class), listed.get(token_class)
        applied = _rules_about(row, token_class, at, rules) if ours else []
        price = None if ours is None else unit_price_text(row, token_class)
        line = {
            "step": "class",
            "token_class": token_class,
            "quantity": (ours or theirs or {})["quantity"],
            "list_unit_price": None if theirs is None else theirs["effective_unit_price"],
            "contracted_unit_price": price,
            "list_cost": None if theirs is None else theirs["effective_cost"],
            "contracted_cost": None if ours is None else ours["effective_cost"],
            "fallback": None if ours is None else ours.get("fallback"),
            "unrounded": row.price_texts.get(token_class),
            "rules": applied,
        }
        by = f" by {', '.join(applied)}" if applied else ""
        as_if = f", priced as {line['fallback']}" if line["fallback"] else ""
        text = f"{line['quantity']} {token_class} x {price} = {line['contracted_cost']} (list {line['list_unit_price']}{by}{as_if})"
        yield line | {"text": text}


def _list_components(list_book: PriceBook, one: RateInput, rated: Rated) -> list[dict[str, Any]]:
    return components(list_book, one, rate(list_book, one), 0) if rated.list_known[0] else []


def _rules_about(row: Tariff, token_class: str, at: datetime, rules: Sequence[BoundRule]) -> list[str]:
    if row.derived_from is None:
        return []
    used = row.fallbacks.get(token_class, token_class)
    return [
        f"{bound.contract.contract_id}/{bound.rule.rule_id} {bound.rule.kind} {bound.rule.value_text}"
        for bound in rules
        if bound.contract.seller == row.seller
        and bound.covers_tier(row.model, row.service_tier)
        and bound.covers_place(row.surface and row.surface.lower(), row.region and row.region.lower())
        and bound.is_about(used)
        and bound.holds(at)
    ]


def _instant(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")


def _clock(at: time | None) -> str | None:
    return None if at is None else at.isoformat()
