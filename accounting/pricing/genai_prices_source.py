"""What is the list price of every model, as dated rows of our own? Read from the installed `genai-prices` package.

1. every model's conditional prices become cells of time and tier (genai_prices_rows.py)
2. every cell becomes one row for each total-input threshold (genai_prices_keys.py), completed by our overlay
3. exact names become aliases; patterns are never used to match a name that came in a log
4. a seller that sells another's models at that seller's prices (the source says which) gets rows of its own, standard tier only,
   as the source applies no condition there
5. what a region costs more, which the source leaves out, becomes rows of that region (uplifts.py)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version

from genai_prices.data import providers
from genai_prices.types import ClauseEquals, ClauseOr, MatchLogic, ModelInfo, Provider

from accounting.pricing.book import PriceBook
from accounting.pricing.data_files import OverlayPrice, overlay_prices, reviewed_aliases
from accounting.pricing.genai_prices_keys import CLASS_OF_KEY, Findings, class_prices, thresholds
from accounting.pricing.genai_prices_rows import Cell, cells
from accounting.pricing.tariff import Alias, Tariff, fallbacks_for
from accounting.pricing.uplifts import stated_uplifts, uplifted

SOURCE = "genai-prices"


@dataclass(frozen=True)
class ImportSummary:
    """What an import took over and what it left, for a person to read."""

    source: str
    source_version: str
    sellers: int
    models: int
    rows: int
    aliases: int
    findings: Findings


def load_list_tariffs() -> tuple[list[Tariff], list[Alias], ImportSummary]:
    """All list rows, all exact names and a summary; the same on every call and every machine for one package version."""
    findings, overlay = Findings(), overlay_prices()
    rows: list[Tariff] = []
    names: list[Alias] = []
    for provider in sorted(providers, key=lambda one: one.id):
        for model in provider.models:
            rows += _model_rows(provider.id, model.id, model, SOURCE, overlay, findings)
            names += [Alias(provider.id, name, model.id, SOURCE) for name in sorted(_exact_names(model))]
        borrowed_rows, borrowed_names = _borrowed(provider, findings)
        rows, names = rows + borrowed_rows, names + borrowed_names
    rows = uplifted(rows, stated_uplifts())
    names += reviewed_aliases()
    priced = {(row.seller, row.model) for row in rows}
    findings.unpriced_models |= {(name.seller, name.model) for name in names} - priced
    known = {(name.seller, name.model) for name in names}
    summary = ImportSummary(
        SOURCE, _version(), len({one for one, _ in known}), len(known), len(rows), len(names), findings
    )
    return rows, names, summary


@cache
def list_price_book() -> PriceBook:
    """The list price book of the installed package, compiled once a process: what rates events where there is no database."""
    rows, names, _ = load_list_tariffs()
    return PriceBook(rows, names)


def _model_rows(
    seller: str, name: str, model: ModelInfo, source: str, overlay: Sequence[OverlayPrice], findings: Findings
) -> list[Tariff]:
    made = list(cells(seller, model, findings, default_only=source != SOURCE))
    findings.unsupported_keys.update({key for cell in made for key in cell.prices if key not in CLASS_OF_KEY})
    return [row for cell in made for row in _cell_rows(seller, name, cell, source, overlay, findings)]


def _cell_rows(
    seller: str, model: str, cell: Cell, source: str, overlay: Sequence[OverlayPrice], findings: Findings
) -> Iterator[Tariff]:
    begin, end = cell.window or (None, None)
    for threshold in (0, *thresholds(cell.prices)):
        found = class_prices(seller, model, cell.prices, threshold, overlay, findings)
        if not found.prices:
            return
        yield Tariff(
            seller=seller,
            model=model,
            prices=found.prices,
            fallbacks=fallbacks_for(found.prices, found.withheld),
            service_tier=cell.service_tier,
            above_input_tokens=threshold,
            window_start=begin,
            window_end=end,
            effective_from=cell.start,
            effective_until=cell.end,
            price_texts=found.texts,
            source=source,
            source_version=_version(),
        )


def _borrowed(provider: Provider, findings: Findings) -> tuple[list[Tariff], list[Alias]]:
    """Rows and names of models that a seller sells at another seller's prices. Its own entries win, then the order stated."""
    rows: list[Tariff] = []
    names: list[Alias] = []
    owners = [provider]
    taken = {model.id.lower() for model in provider.models}
    for owner_id in provider.fallback_model_providers or []:
        owner = next(one for one in providers if one.id == owner_id)
        for model in owner.models:
            claimed = {name: _claimed(owners, name) for name in sorted(_exact_names(model))}
            own = [
                (name, found) for name, found in claimed.items() if found is not None and owners[0].models.count(found)
            ]
            names += [
                Alias(provider.id, name, found.id, SOURCE) for name, found in own if name not in _exact_names(found)
            ]
            free = [name for name, found in claimed.items() if found is None]
            if not free:
                continue
            source = f"{SOURCE}: price of {owner.id}"
            target = model.id if model.id.lower() not in taken else f"{owner.id}/{model.id}"
            rows += _model_rows(provider.id, target, model, source, (), findings)
            names += [Alias(provider.id, name, target, source) for name in free]
            taken.add(target.lower())
        owners.append(owner)
    return rows, names


def _claimed(owners: Sequence[Provider], name: str) -> ModelInfo | None:
    """The model that the source itself would take for an exact name before looking at the next seller."""
    return next((model for owner in owners for model in owner.models if model.is_match(name)), None)


def _exact_names(model: ModelInfo) -> set[str]:
    return {model.id.lower(), *(name.lower() for name in _equals(model.match))}


def _equals(match: MatchLogic) -> Iterator[str]:
    if isinstance(match, ClauseEquals):
        yield match.equals
    elif isinstance(match, ClauseOr):
        for clause in match.or_:
            yield from _equals(clause)


@cache
def _version() -> str:
    return version("genai_prices")
