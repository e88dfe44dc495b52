"""Would each pool's requests be cheaper bought: from how many tokens a day is the pool worth it, and what moves that?"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

from sqlalchemy import Engine

from accounting.pricing.book import PriceBook
from accounting.reports.base import Column, Report, Row
from accounting.reports.pool_facts import PoolFacts, control, outline, pool_facts
from accounting.reports.pool_tariffs import Offer, offers, quotes
from accounting.reports.query import ReportQuery
from accounting.reports.ratios import percent_of, rounded_if_known
from accounting.reports.sections import Section, SectionedReport
from accounting.selfhosted.make_or_buy import Case, MakeOrBuy, Price, Tariffed, make_or_buy, sensitivity
from accounting.selfhosted.workload import Workload
from accounting.storage.tariffs import load_book
from accounting.tenant import TenantContext

NAME = "make-or-buy"
DESCRIPTION = (
    "Each pool, fully loaded, against every tariff for its requests: break-even tokens a day, utilisation, sensitivity"
)
GROUP_BY: tuple[str, ...] = ()
FILTERS = ("pool", "model")
NO_OFFER = "no seller's price of this model is known; name others with filter=model:SELLER/MODEL"
ONE_PHASE = (
    "a pool of {role} alone does a part of each request, and a tariff's price is of the whole: nothing is compared"
)
COLUMNS = (
    Column("row", "text", table=False),
    Column("billing_currency", "text"),
    Column("pool", "text"),
    Column("tariff", "text"),
    Column("bought_cost", "number"),
    Column("bill", "number"),
    Column("bought_per_million", "number"),
    Column("made_per_million", "number"),
    Column("full_per_million", "number"),
    Column("tokens_a_day", "number"),
    Column("token_utilisation", "percent"),
    Column("break_even_tokens_a_day", "number"),
    Column("break_even_utilisation", "percent"),
    Column("behaviour_changing", "text", table=False),
    Column("notes", "text"),
)
_SENSITIVITY = (
    Column("pool", "text"),
    Column("tariff", "text"),
    Column("assumption", "text"),
    Column("bought_per_million", "number"),
    Column("full_per_million", "number"),
    Column("break_even_tokens_a_day", "number"),
    Column("break_even_utilisation", "percent"),
)
_NOTE = (
    "One assumption changed at a time, tariffs rated again on the changed requests. break_even_utilisation above 100: the tariff is "
    "cheaper however full the pool is."
)
_SAME = (
    "Another model counts and answers in other tokens: the same ones are assumed; prices of the period's end; rate limits, latency "
    "and quality are not compared"
)


def make_or_buy_report(engine: Engine, context: TenantContext, query: ReportQuery) -> Report:
    """One row a pool and tariff, the cheapest first: sellers that have a price for the pool's model, and those named by filter `model`
    (seller/model, several with commas).

    bought_cost: the pool's requests at the tariff's (contracted) prices; bill: what the pool cost. full_per_million: the pool at R* all
    day. token_utilisation: tokens a day over the most of this mix that the pool serves a day at R*, as break_even_utilisation is (that
    of `unit-costs` is of the bill). None: not known, the tariff can't serve the requests, or the pool runs one phase of them (`role`
    prefill or decode): its bill is a part of what they cost. Section: sensitivity.
    """
    query.check_group_by(GROUP_BY)
    facts = pool_facts(engine, context, query)
    book = load_book(engine, context.tenant) if facts else None
    changes: list[Row] = []

    def compared(one: PoolFacts) -> list[Row]:
        assert book is not None
        return _compared(one, book, query, changes)

    rows = outline(facts, COLUMNS, compared)
    return SectionedReport(
        NAME,
        query,
        COLUMNS,
        rows,
        [],
        control(engine, context, query, facts),
        sections=(Section("sensitivity", "Sensitivity", _SENSITIVITY, tuple(changes), f"{_NOTE} {_SAME}."),),
    )


def _compared(one: PoolFacts, book: PriceBook, query: ReportQuery, changes: list[Row]) -> list[Row]:
    """The pool's rows; its sensitivity is added to `changes`. A pool of one phase has a row with its bill, and no comparison."""
    if one.settings.role != "mixed":
        return [_row(one, None, None, ONE_PHASE.format(role=one.settings.role))]
    if one.workload is None:
        return [_row(one, None, None, "no request was charged")]
    named = dict(query.filters).get("model")
    models = [part.strip() for part in named.split(",")] if named else []
    known = offers(book, one.settings.model, models, query.until)
    why: dict[str, str] = {}
    price = _price(one, book, known, query.until, why)
    days = Fraction(one.hours, 24)
    found = make_or_buy(one.setup, one.replicas, one.workload, days, price, one.targets)
    told = dict(why)
    cases = _cases(one.workload)
    for case, result in sensitivity(one.setup, one.replicas, one.workload, days, price, cases, one.targets):
        changes += [_change(one, case, result, tariff) for tariff in result.tariffs]
    rows = [_row(one, found, tariff, told.get(tariff.name)) for tariff in found.tariffs]
    return rows or [_row(one, found, None, NO_OFFER)]


def _price(one: PoolFacts, book: PriceBook, known: list[Offer], at: datetime, why: dict[str, str]) -> Price:
    last: list[tuple[Workload, Mapping[str, Fraction | None]]] = []

    def price(work: Workload) -> Mapping[str, Fraction | None]:
        # A changed GPU price leaves the requests as they are: they need no second rating.
        if not last or last[0][0] is not work:
            found = quotes(book, known, work, one.settings.billing_currency, at)
            why.update(found.why)
            last[:] = [(work, found.cost)]
        return last[0][1]

    return price


def _cases(work: Workload) -> list[Case]:
    """GPUs at half and twice the price, prompts half and twice as long, a tenth of the prompts more or less found in the cache."""
    factors = (Fraction(1, 2), Fraction(2))
    hits = (work.hit_share - Fraction(1, 10), work.hit_share + Fraction(1, 10))
    return [
        *(Case("gpu_price", factor) for factor in factors),
        *(Case("context", factor) for factor in factors),
        *(Case("cache_hits", share) for share in hits if 0 <= share <= 1),
    ]


def _row(one: PoolFacts, found: MakeOrBuy | None, tariff: Tariffed | None, why: str | None) -> Row:
    notes = [*(found.notes if found else ()), *one.notes, *([why] if why else [])]
    return {
        "row": "detail",
        "billing_currency": one.settings.billing_currency,
        "pool": one.settings.pool_id,
        "tariff": tariff.name if tariff else None,
        "bought_cost": rounded_if_known(tariff.cost, 15) if tariff else None,
        "bill": one.amount,
        "bought_per_million": rounded_if_known(tariff.per_million) if tariff else None,
        "made_per_million": rounded_if_known(found.made_per_million) if found else None,
        "full_per_million": rounded_if_known(found.full_per_million) if found else None,
        "tokens_a_day": rounded_if_known(found.tokens_day, 0) if found else None,
        "token_utilisation": _share(found.utilisation) if found else None,
        "break_even_tokens_a_day": rounded_if_known(tariff.break_even, 0) if tariff else None,
        "break_even_utilisation": _share(tariff.turns_at) if tariff else None,
        "behaviour_changing": None if found is None else "yes" if found.behaviour_changing else "no",
        "notes": "; ".join(dict.fromkeys(notes)) or None,
    }


def _change(one: PoolFacts, case: Case, result: MakeOrBuy, tariff: Tariffed) -> Row:
    said = {
        "gpu_price": f"GPU price x {case.value}",
        "context": f"prompts x {case.value}",
        "cache_hits": f"{float(case.value):.1%} of prompts found in the cache",
    }
    return {
        "pool": one.settings.pool_id,
        "tariff": tariff.name,
        "assumption": said[case.axis],
        "bought_per_million": rounded_if_known(tariff.per_million),
        "full_per_million": rounded_if_known(result.full_per_million),
        "break_even_tokens_a_day": rounded_if_known(tariff.break_even, 0),
        "break_even_utilisation": _share(tariff.turns_at),
    }


def _share(value: float | None) -> Decimal | None:
    return None if value is None else percent_of(Fraction(value))
