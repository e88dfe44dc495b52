"""Which list rows are in force when several sources state prices? The first source rules, the next ones fill in, a person decides.

1. The first source of data/price_sources.csv rules every model it prices, from its first start date on.
2. What it does not know, and what lies before that date, comes from the next source in the stated order that does.
3. A row of a later source that a person approved stands in place of the row it replaces, for as long as it is in force.
4. A row that is only proposed, or refused, never counts: the row before it stays in force until a decision says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time

from accounting.pricing.chains import min_input
from accounting.pricing.data_files import price_sources, seller_names, tier_names
from accounting.pricing.hours import hours_left
from accounting.pricing.names import Names
from accounting.pricing.tariff import Alias, Tariff

STATED, PROPOSED, REFUSED, WITHDRAWN = "stated", "proposed", "refused", "withdrawn"

_EARLIEST = datetime(1, 1, 1, tzinfo=UTC)
_LATEST = datetime(9999, 12, 31, tzinfo=UTC)
Listed = tuple[list[Tariff], list[Alias]]
Condition = tuple[str, str, str, str | None, str | None, str, int]
Series = tuple[Condition, time | None, time | None]
Model = tuple[str, str]


@dataclass(frozen=True)
class HeldRow:
    """What a source says of a price row, as believed at one moment.

    Attributes:
        tariff: the row, with the end of validity, the source and the approval of its newest record.
        list_source: the source's short name.
        state: `stated`, `proposed` (a person has not decided), `refused` or `withdrawn`.
        record: orders the statements; the higher one is the later.
    """

    tariff: Tariff
    list_source: str
    state: str = STATED
    record: int = 0


@dataclass(frozen=True)
class HeldName:
    """An exact name as one source states it."""

    alias: Alias
    list_source: str


def in_force(held: Iterable[HeldRow], names: Iterable[HeldName]) -> Listed:
    """The list rows and names of a price book, ordered by id and by name; rows of tenants are left out."""
    layers: dict[int, list[HeldRow]] = {}
    for one in held:
        if one.tariff.tenant is None and one.state != WITHDRAWN:
            layers.setdefault(rank(one.list_source), []).append(one)
    spoken: dict[int, list[Alias]] = {}
    for name in names:
        if name.alias.tenant is None:
            spoken.setdefault(rank(name.list_source), []).append(name.alias)
    rows = [one.tariff for one in layers.get(0, []) if one.state == STATED]
    aliases = list(spoken.get(0, []))
    known = known_names(aliases)
    first: dict[Model, datetime] = _first_starts(rows)
    approved: list[tuple[int, Tariff]] = []
    for number in sorted(layers.keys() - {0}):
        settled, decided = _settled(layers[number])
        others = _other_names(spoken.get(number, []))
        served = _served(settled, known, others, first)
        rows += served
        approved += [(record, _renamed(row, known, others)) for record, row in decided]
        aliases += _own_names(spoken.get(number, []), [*served, *(row for _, row in approved)], aliases)
        known = known_names(aliases)
        for model, start in _first_starts(served).items():
            first[model] = min(start, first.get(model, _LATEST))
    for _, row in sorted(approved, key=lambda one: one[0]):
        rows = [piece for other in rows for piece in _cut(other, row)]
        rows.append(row)
    return sorted(rows, key=lambda row: row.sku_price_id), sorted(aliases, key=lambda one: (one.seller, one.alias))


def rank(list_source: str) -> int:
    """Place of a source in the stated order; one that stands nowhere is a list of its own beside the first."""
    order = price_sources()
    return order.index(list_source) if list_source in order else 0


def known_names(aliases: Iterable[Alias]) -> Names:
    """The names of a list, to look other sources' names up in."""
    return Names(aliases, seller_names(), tier_names())


def condition(row: Tariff) -> Condition:
    """What a row has in common with the row that replaces it: all but dates, hours and prices."""
    least = min_input(row)
    return (row.seller, row.model, row.service_tier, row.surface, row.region, row.decided_by, least)


def series_of(row: Tariff) -> Series:
    """What a row and its successor have in common."""
    return condition(row), row.window_start, row.window_end


def _settled(layer: Sequence[HeldRow]) -> tuple[list[Tariff], list[tuple[int, Tariff]]]:
    """Rows of one source that count: those that only it states, and those a person approved, with the record of the approval.

    A row whose successor is not decided, or was refused, stays in force through the successor's time.
    """
    starts = {(series_of(one.tariff), one.tariff.effective_from): one for one in layer if one.state != STATED}
    plain: list[Tariff] = []
    approved: list[tuple[int, Tariff]] = []
    for one in layer:
        if one.state != STATED:
            continue
        row = one.tariff
        while row.effective_until is not None and (after := starts.get((series_of(row), row.effective_until))):
            row = replace(row, effective_until=after.tariff.effective_until)
        if row.approved_by is None:
            plain.append(row)
        else:
            approved.append((one.record, row))
    return plain, approved


def _other_names(names: Sequence[Alias]) -> dict[Model, list[str]]:
    found: dict[Model, list[str]] = {}
    for alias in names:
        found.setdefault((alias.seller, alias.model), []).append(alias.alias)
    return found


def _served(
    rows: Sequence[Tariff], known: Names, others: Mapping[Model, Sequence[str]], first: Mapping[Model, datetime]
) -> list[Tariff]:
    """The rows of a later source that fill in, under the names that the sources before it use."""
    models = {(row.seller, row.model) for row in rows}
    meant = {one: meaning(known, *one, others.get(one, ())) for one in models}
    chosen: dict[Model, str] = {}
    for seller, model in sorted(models, key=lambda one: (len(one[1]), one[1])):
        target = meant[seller, model]
        if target is not None and (target == model or (seller, target) not in chosen):
            chosen[seller, target] = model
    made: list[Tariff] = []
    for row in rows:
        target = meant[row.seller, row.model]
        if target is None:
            made.append(row)
            continue
        border = first.get((row.seller, target), _LATEST)
        if chosen[row.seller, target] != row.model or (row.effective_from or _EARLIEST) >= border:
            continue
        until = min(row.effective_until or _LATEST, border)
        made.append(replace(row, model=target, effective_until=None if until == _LATEST else until))
    return made


def meaning(known: Names, seller: str, model: str, names: Iterable[str] = ()) -> str | None:
    """The model of a list that another source's model is, by its name or one of its other names; None: the list has none."""
    candidates = (model, *sorted(names))
    return next((found for name in candidates if (found := known.model(seller, name)) is not None), None)


def _renamed(row: Tariff, known: Names, others: Mapping[Model, Sequence[str]]) -> Tariff:
    target = meaning(known, row.seller, row.model, others.get((row.seller, row.model), ()))
    return row if target is None or target == row.model else replace(row, model=target)


def _own_names(names: Sequence[Alias], served: Sequence[Tariff], taken: Sequence[Alias]) -> list[Alias]:
    """Names of a later source for the models that it serves, where no source before it uses them."""
    models = {(row.seller, row.model) for row in served}
    used = {(alias.seller, alias.alias.lower()) for alias in taken}
    return [
        alias
        for alias in names
        if (alias.seller, alias.model) in models and (alias.seller, alias.alias.lower()) not in used
    ]


def _first_starts(rows: Iterable[Tariff]) -> dict[Model, datetime]:
    found: dict[Model, datetime] = {}
    for row in rows:
        start = row.effective_from or _EARLIEST
        found[row.seller, row.model] = min(start, found.get((row.seller, row.model), _LATEST))
    return found


def _cut(row: Tariff, by: Tariff) -> list[Tariff]:
    """What is left of a row where another takes the same requests: before it, and under ids of their own the hours of the day that the
    other does not take, and after it."""
    if condition(row) != condition(by):
        return [row]
    start, end = row.effective_from or _EARLIEST, row.effective_until or _LATEST
    low, high = by.effective_from or _EARLIEST, by.effective_until or _LATEST
    if high <= start or end <= low:
        return [row]
    hours = hours_left((row.window_start, row.window_end), (by.window_start, by.window_end))
    if hours == [(row.window_start, row.window_end)]:
        return [row]
    before = [replace(row, effective_until=low)] if start < low else []
    after = [replace(row, effective_from=high)] if high < end else []
    within = replace(row, effective_from=low) if before else row
    within = replace(within, effective_until=high) if after else within
    return before + [replace(within, window_start=begins, window_end=ends) for begins, ends in hours] + after
