"""Which prices are asked about: announced rows, proposed ones, those of a file? One book in which they hold at any time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from sqlalchemy import Engine

from accounting.pricing.book import PriceBook
from accounting.pricing.contracted import contracted_rows
from accounting.pricing.layering import PROPOSED, in_force
from accounting.pricing.tariff import Alias, Tariff
from accounting.storage import contracts
from accounting.storage.engine import read_only
from accounting.storage.price_records import believed, spoken
from accounting.tenant import TenantContext

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


def asked_book(
    engine: Engine,
    context: TenantContext,
    *,
    proposed: bool = False,
    rows: Sequence[Tariff] | None = None,
    names: Sequence[Alias] = (),
    now: datetime | None = None,
) -> PriceBook:
    """The contracted book of the rows asked about, and of nothing else: announced ones, those that wait for a decision, or `rows`.

    Announced rows are list rows whose start lies ahead. Rules of the tenant's contracts apply to them as they do to the list.
    """
    moment = now or datetime.now(UTC)
    with read_only(engine, context.tenant) as connection:
        held, said = believed(connection), spoken(connection)
        signed = contracts.in_force(connection)
    listed, aliases = in_force(held, said)
    if rows is not None:
        chosen = list(rows)
    elif proposed:
        chosen = [one.tariff for one in held if one.state == PROPOSED and one.tariff.tenant is None]
    else:
        chosen = [row for row in listed if row.effective_from is not None and row.effective_from > moment]
    return PriceBook(*contracted_rows(timeless(chosen), _names(chosen, [*aliases, *names]), signed))


def timeless(rows: Iterable[Tariff]) -> list[Tariff]:
    """Rows as if they held at any time; of several for the same requests the one that starts last."""
    newest: dict[tuple[object, ...], Tariff] = {}
    for row in sorted(rows, key=lambda row: row.effective_from or _LONG_AGO):
        conditions = (row.seller, row.model, row.service_tier, row.surface, row.region, row.above_input_tokens)
        newest[(*conditions, row.window_start, row.window_end)] = row
    return [replace(row, effective_from=None, effective_until=None) for row in newest.values()]


def _names(rows: Sequence[Tariff], aliases: Iterable[Alias]) -> list[Alias]:
    """Every name of the rows' models, each once; those of the list count first."""
    models = {(row.seller, row.model) for row in rows}
    found: dict[tuple[str, str], Alias] = {}
    for alias in aliases:
        if alias.tenant is None and (alias.seller, alias.model) in models:
            found.setdefault((alias.seller, alias.alias), alias)
    for seller, model in sorted(models):
        found.setdefault((seller, model.lower()), Alias(seller, model.lower(), model, "its own name"))
    return list(found.values())
