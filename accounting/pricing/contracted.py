"""What is a tenant's contracted price list? Its own rows, list rows as the contracts' rules change them, and the list itself.

The three are layers of one book (groups.py): a list row keeps its id, and holds again before a contract starts and after it ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from itertools import pairwise

from accounting.errors import PriceBookError
from accounting.pricing.chains import EVER, spans
from accounting.pricing.contract import Contract
from accounting.pricing.data_files import region_names, region_prefixes
from accounting.pricing.groups import Kinds, Where, kinds_of
from accounting.pricing.names import Names
from accounting.pricing.rules import BoundRule, contracted_row, lowered
from accounting.pricing.tariff import Alias, Tariff

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def contracted_rows(
    list_rows: Sequence[Tariff],
    aliases: Sequence[Alias],
    contracts: Sequence[Contract],
    own_rows: Sequence[Tariff] = (),
) -> tuple[list[Tariff], list[Alias]]:
    """Rows and names for `PriceBook` of one tenant: the list's, the tenant's own, and what its contracts make of the list's.

    Args:
        aliases: the list's names, and such of the tenant as there are.
        contracts: as believed at one moment, of one tenant; they may overlap, as their rules are applied together.
        own_rows: rows that the tenant's contracts state by themselves. Each is known by its model's name without an alias.

    Raises PriceBookError for statements of several tenants, two fixed prices for the same requests, or a price in another currency
    than the list row it would change.
    """
    tenants = {contract.tenant for contract in contracts} | {row.tenant for row in own_rows}
    if len(tenants) > 1 or None in tenants:
        raise PriceBookError(f"contracts and rows of one tenant are expected, not of {sorted(map(str, tenants))}")
    if foreign := next((row for row in list_rows if row.tenant is not None), None):
        raise PriceBookError(f"{foreign.sku_price_text} is a row of {foreign.tenant}, not of the list")
    derived = _derived(list_rows, aliases, contracts)
    taken = {(alias.seller, alias.alias.lower()) for alias in aliases if alias.tenant is not None}
    own = dict.fromkeys((row.seller, row.model.lower(), row.model, row.tenant) for row in own_rows)
    named = [
        Alias(seller, name, model, "contract", tenant=tenant)
        for seller, name, model, tenant in own
        if (seller, name) not in taken
    ]
    return [*list_rows, *own_rows, *derived], [*aliases, *named]


def bound_rules(contracts: Iterable[Contract], aliases: Sequence[Alias]) -> list[BoundRule]:
    """Every rule with its dates, and its models as the price list names them. A name the list does not know stays as it is."""
    names = Names([alias for alias in aliases if alias.tenant is None], {}, {}, region_names(), region_prefixes())
    found: list[BoundRule] = []
    for contract in contracts:
        for rule in contract.rules:
            models = rule.scope.models
            if models is not None:
                models = frozenset(names.model(contract.seller, name) or name for name in models)
            since = max(contract.effective_from, rule.effective_from or contract.effective_from)
            until = _earliest(contract.effective_until, rule.effective_until)
            if until is None or since < until:
                found.append(BoundRule(contract, rule, models, since, until))
    return found


def unmet_rules(contracts: Sequence[Contract], list_rows: Sequence[Tariff], aliases: Sequence[Alias]) -> list[str]:
    """Rules that name a model of which the list has no row, as sentences for whoever approves the contract."""
    known = {(row.seller, row.model) for row in list_rows}
    return [
        f"rule {bound.rule.rule_id} of {bound.contract.contract_id}: {bound.contract.seller} lists no model {model!r}"
        for bound in bound_rules(contracts, aliases)
        for model in sorted(bound.models or ())
        if (bound.contract.seller, model) not in known
    ]


def _derived(rows: Sequence[Tariff], aliases: Sequence[Alias], contracts: Sequence[Contract]) -> list[Tariff]:
    rules = bound_rules(contracts, aliases)
    sellers = {bound.contract.seller for bound in rules}
    models = {(row.seller, None, row.model) for row in rows if row.seller in sellers}
    found: list[Tariff] = []
    for ((seller, _, model), tier), kinds in kinds_of(rows, models).items():
        assert model is not None
        of_tier = [bound for bound in rules if bound.contract.seller == seller and bound.covers_tier(model, tier)]
        made: list[Tariff] = []
        changed = False
        for where, named in _places(kinds, of_tier):
            layers = kinds.layers[kinds.where(*where)]
            about = [bound for bound in of_tier if bound.covers_place(*where)]
            if about and layers:
                pieces = _pieces(rows, where, layers) if named else _own_rows(rows, where, layers[0])
                for piece, row in pieces:
                    contracted = list(_at_contract_prices(piece, row, about))
                    changed |= any((one.prices, one.fallbacks) != (row.prices, row.fallbacks) for one in contracted)
                    made += contracted
        # All or none: a threshold or a region that the rules leave as it is must still come before the others that they change.
        found += made if changed else []
    return found


def _places(kinds: Kinds, rules: Sequence[BoundRule]) -> Iterator[tuple[Where, bool]]:
    """Surfaces and regions that list rows or rules name, and whether a rule names one of the two."""
    surfaces = frozenset(one for bound in rules for one in lowered(bound.rule.scope.surfaces))
    regions = frozenset(one for bound in rules for one in lowered(bound.rule.scope.regions))
    for surface in (None, *sorted(kinds.surfaces | surfaces)):
        for region in (None, *sorted(kinds.regions | regions)):
            yield (surface, region), surface in surfaces or region in regions


def _own_rows(rows: Sequence[Tariff], where: Where, layer: Sequence[int]) -> Iterator[tuple[Tariff, Tariff]]:
    """The rows stated for exactly this place. Where it has none, it is covered by the contracted rows of a wider one."""
    for number in layer:
        row = rows[number]
        if (row.surface and row.surface.lower(), row.region and row.region.lower()) == where:
            yield row, row


def _pieces(rows: Sequence[Tariff], where: Where, layers: Sequence[Sequence[int]]) -> Iterator[tuple[Tariff, Tariff]]:
    """The list rows that hold in a place, moment by moment, as rows of that place, each with the row it is a piece of."""
    for span in spans(rows, layers):
        starts = [start for start, _ in span.windows]
        for at, (start, chain) in enumerate(span.windows):
            end = starts[(at + 1) % len(starts)]
            window = (_of_day(start), _of_day(end)) if len(starts) > 1 else (None, None)
            for number in chain:
                piece = replace(
                    rows[number],
                    surface=where[0],
                    region=where[1],
                    effective_from=_instant(span.start),
                    effective_until=_instant(span.end),
                    window_start=window[0],
                    window_end=window[1],
                )
                yield piece, rows[number]


def _at_contract_prices(piece: Tariff, row: Tariff, about: Sequence[BoundRule]) -> Iterator[Tariff]:
    """One row for each span between two borders of contracts in which rules hold."""
    borders = {border for bound in about for border in (bound.since, bound.until) if border is not None}
    inside = {border for border in borders if _inside(border, piece)}
    limits = [piece.effective_from, *sorted(inside), piece.effective_until]
    for since, until in pairwise(limits):
        holding = [bound for bound in about if bound.holds(since)]
        if holding:
            made = contracted_row(piece, holding, row.sku_price_id)
            yield replace(made, effective_from=since, effective_until=until)


def _inside(border: datetime, row: Tariff) -> bool:
    after_start = row.effective_from is None or row.effective_from < border
    return after_start and (row.effective_until is None or border < row.effective_until)


def _earliest(*moments: datetime | None) -> datetime | None:
    return min((moment for moment in moments if moment is not None), default=None)


def _instant(microseconds: int) -> datetime | None:
    return None if abs(microseconds) >= EVER else _EPOCH + timedelta(microseconds=microseconds)


def _of_day(microseconds: int) -> time:
    return (_EPOCH + timedelta(microseconds=microseconds)).time()
