"""Which price row applies to an event? Compiled tariffs and names; no SQL, no clock, no environment.

names, surface, region -> group      (group, time) -> base position      (base position, deciding tokens) -> position -> prices
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from accounting.errors import PriceBookError
from accounting.pricing import reasons
from accounting.pricing.chains import EVER, Span, spans
from accounting.pricing.data_files import region_names, region_prefixes, seller_names, tier_names
from accounting.pricing.groups import Models, Where, kinds_of
from accounting.pricing.layout import DAY_US, Flags, Ints, calendar, lay_out, lay_out_prices
from accounting.pricing.marginal import marginal_prices
from accounting.pricing.names import Names
from accounting.pricing.tariff import Alias, Tariff

_MEMO_LIMIT = 100_000

Places = tuple[Where, ...]
Ints32 = npt.NDArray[np.int32]


class PriceBook:
    """Compiled tariffs and names. Immutable but for a memo of names already looked up.

    Args:
        tariffs: list rows, and with them the rows of at most one tenant, which come before them (groups.py). Rows that overlap
            raise PriceBookError.
        aliases: exact names of models, of the list and of that tenant.
        sellers, tiers: further names, by default those of data/sellers.csv and data/service_tiers.csv.
        regions, prefixes: names of regions, by default those of data/regions.csv and data/region_prefixes.csv.

    Attributes:
        rows: the tariffs, in the order given.
        tenant: whose contract rows and names are in it; None: list prices alone.
        surfaces, regions: surfaces that decide, and regions as logs may write them; every other one counts as none.
        sku_price_ids: int64 by position, 0 where there is no row.
        positions, calendar, prices, missing: see layout.py; marginal: see marginal.py.
        plan: base position by group * bins + bin; the first groups stand for the match reasons of reasons.py.
        currencies: texts of the codes in `currency_at`, by position.
    """

    def __init__(
        self,
        tariffs: Iterable[Tariff],
        aliases: Iterable[Alias],
        sellers: Mapping[str, str] | None = None,
        tiers: Mapping[str, str] | None = None,
        regions: Mapping[tuple[str, str], str] | None = None,
        prefixes: Mapping[tuple[str, str], str] | None = None,
    ) -> None:
        self.rows = tuple(tariffs)
        names = tuple(aliases)
        self.tenant = _tenant({row.tenant for row in self.rows} | {name.tenant for name in names})
        self.names = Names(
            names,
            seller_names() if sellers is None else sellers,
            tier_names() if tiers is None else tiers,
            region_names() if regions is None else regions,
            region_prefixes() if prefixes is None else prefixes,
        )
        self.currencies = tuple(sorted({row.currency for row in self.rows}))
        self._kinds = kinds_of(self.rows, self._models())
        self.surfaces = frozenset(one for kinds in self._kinds.values() for one in kinds.surfaces)
        self.regions = self._regions()
        laid = [
            (models, tier, where, spans(self.rows, layers))
            for (models, tier), kinds in self._kinds.items()
            for where, layers in kinds.layers.items()
            if layers
        ]
        every = [span for *_, group in laid for span in group]
        self.positions, self.calendar = lay_out(self.rows, every), calendar(every)
        row_at = self.positions.row_at
        self.prices, self.missing = lay_out_prices(self.rows, row_at)
        self.sku_price_ids: Ints = np.append(_ids(self.rows), 0)[row_at]
        self.currency_at = np.array([self.currencies.index(row.currency) for row in self.rows] + [0], np.int8)[row_at]
        self.marginal = marginal_prices(self.prices, self.missing, self.positions)
        self._listed = {(row.seller, row.model) for row in self.rows}
        self._memo: dict[Places, dict[tuple[str | None, str | None, str | None, bool], Ints32]] = {}
        self._in_list: WeakKeyDictionary[PriceBook, Ints32] = WeakKeyDictionary()
        self._compile_plan(laid)

    def groups(
        self, provider: str | None, model: str | None, service_tier: str | None, batch: bool, places: Places
    ) -> Ints32:
        """Group of what was logged, for each of some surfaces and regions; those that stand for a reason lead to its position."""
        memo, key = self._memo.setdefault(places, {}), (provider, model, service_tier, batch)
        found = memo.get(key)
        if found is None:
            if len(memo) >= _MEMO_LIMIT:
                memo.clear()
            found = memo[key] = np.array(self._find_groups(*key, places), np.int32)
        return found

    def resolve_windows(self, position: Ints, occurred_at: Ints) -> None:
        """Replaces placeholders by the base position of the window that the time of day falls in, in place."""
        if np.maximum.reduce(position) < self.positions.first_window:
            return
        (at,) = (position >= self.positions.first_window).nonzero()
        time_of_day = occurred_at[at] % DAY_US
        placeholder = position[at]
        for number in np.unique(placeholder).tolist():
            windows = self.positions.windows[number - self.positions.first_window]
            here = placeholder == number
            # Slot -1, before the first start, is the window that wraps midnight.
            slot = np.searchsorted(windows.starts, time_of_day[here], side="right") - 1
            position[at[here]] = windows.positions[slot]

    def row_of(self, sku_price_id: int) -> Tariff | None:
        """The row of an id; None: the book has none."""
        number = self._row_numbers.get(sku_price_id)
        return None if number is None else self.rows[number]

    @cached_property
    def _row_numbers(self) -> dict[int, int]:
        return {row.sku_price_id: number for number, row in enumerate(self.rows)}

    @cached_property
    def list_fingerprint(self) -> int:
        """Equal for two books of one process that hold the same list rows, ends of validity included, and the same list names."""
        listed = frozenset((row.sku_price_id, row.effective_until) for row in self.rows if row.tenant is None)
        return hash((listed, self.names.list_fingerprint()))

    def groups_in(self, list_book: PriceBook) -> Ints32:
        """For each group of this book the group of another that its list prices are in; both hold the same list."""
        known = self._in_list.get(list_book)
        if known is not None:
            return known
        found = np.arange(len(self._number) + reasons.MATCH_REASONS, dtype=np.int32)
        for ((seller, _, listed), tier, where), number in self._number.items():
            found[number] = list_book._group_at(seller, None, listed, tier, *where)
        self._in_list[list_book] = found
        return found

    @cached_property
    def is_own(self) -> Flags:
        """For each row whether it is the tenant's; False at the end, so that place -1, no row, is nobody's."""
        return np.array([*(row.tenant is not None for row in self.rows), False], np.bool_)

    def _find_groups(
        self, provider: str | None, model: str | None, service_tier: str | None, batch: bool, places: Places
    ) -> list[int]:
        seller = self.names.seller(provider)
        if seller is None:
            return [reasons.UNKNOWN_SELLER] * len(places)
        own, listed = (None if one is None else one.model for one in self.names.models(seller, model))
        tier = self.names.tier(service_tier, batch)
        regions = {region: self.names.region(seller, model, region) for _, region in places}
        return [self._group_at(seller, own, listed, tier, surface, regions[region]) for surface, region in places]

    def _group_at(
        self, seller: str, own: str | None, listed: str | None, tier: str, surface: str | None, region: str | None
    ) -> int:
        if own is None and listed is None:
            return reasons.UNKNOWN_MODEL
        if not {(seller, own), (seller, listed)} & self._listed:
            return reasons.NO_TOKEN_PRICE
        models = (seller, own, listed)
        kinds = self._kinds.get((models, tier))
        if kinds is None:
            return reasons.NO_PRICE_FOR_TIER
        where = kinds.where(surface, region)
        return self._number[models, tier, where] if kinds.layers[where] else kinds.reason(where)

    def _models(self) -> set[Models]:
        """All models that a name may mean, with and without the other layer's, and those of rows that no name leads to."""
        pairs = self.names.pairs()
        alone = {(seller, own, None) for seller, own, _ in pairs} | {
            (seller, None, listed) for seller, _, listed in pairs
        }
        return pairs | alone | {(row.seller, None, row.model) for row in self.rows}

    def _regions(self) -> frozenset[str]:
        priced = {one for kinds in self._kinds.values() for one in kinds.regions}
        written = self.names.written_regions()
        return frozenset(priced.union(*(written.get(one, set()) for one in priced)))

    def _compile_plan(self, laid: Sequence[tuple[Models, str, Where, Sequence[Span]]]) -> None:
        borders = self.calendar.borders
        self.bins = len(borders) + 1
        self._number = {
            (models, tier, where): reasons.MATCH_REASONS + at for at, (models, tier, where, _) in enumerate(laid)
        }
        plan = np.full((reasons.MATCH_REASONS + len(laid), self.bins), reasons.NO_PRICE_IN_FORCE)
        plan[: reasons.MATCH_REASONS] = np.arange(reasons.MATCH_REASONS)[:, None]
        for number, (*_, group) in enumerate(laid, reasons.MATCH_REASONS):
            for span in group:
                low = np.searchsorted(borders, span.start, side="right")
                high = np.searchsorted(borders, span.end, side="right") if span.end < EVER else self.bins
                plan[number, low:high] = self.positions.of(span)
        self.plan: Ints = plan.reshape(-1)
        if self.plan.size > np.iinfo(np.int32).max:
            raise PriceBookError(f"{len(laid)} groups at {self.bins} dates are too many for one book")


def _tenant(tenants: set[str | None]) -> str | None:
    named = sorted(one for one in tenants if one is not None)
    if len(named) > 1:
        raise PriceBookError(f"a price book is of one tenant, not of {' and '.join(named[:2])}")
    return named[0] if named else None


def _ids(rows: Sequence[Tariff]) -> Ints:
    ids = [row.sku_price_id for row in rows]
    if len(set(ids)) != len(ids) or 0 in ids:
        twice = next(one for one in ids if ids.count(one) > 1 or one == 0)
        raise PriceBookError(f"price row {twice:016x} stands more than once")
    return np.array(ids, np.int64)
