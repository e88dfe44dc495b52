"""Which price row applies to an event? Compiled tariffs and names; no SQL, no clock, no environment.

(seller, model, tier) -> group      (group, time) -> base position      (base position, total input) -> position -> prices
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from accounting.errors import PriceBookError
from accounting.pricing import reasons
from accounting.pricing.chains import EVER, Span, spans
from accounting.pricing.data_files import seller_names, tier_names
from accounting.pricing.layout import DAY_US, Ints, calendar, lay_out, lay_out_prices
from accounting.pricing.marginal import marginal_prices
from accounting.pricing.names import Names
from accounting.pricing.tariff import Alias, Tariff

_MEMO_LIMIT = 100_000


class PriceBook:
    """Compiled tariffs and names. Immutable but for a memo of names already looked up.

    Args:
        tariffs: list rows, tenant and surface None; rows that overlap raise PriceBookError.
        aliases: exact names of models.
        sellers, tiers: further names, by default those of data/sellers.csv and data/service_tiers.csv.

    Attributes:
        rows: the tariffs, in the order given.
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
    ) -> None:
        self.rows = tuple(tariffs)
        names = tuple(aliases)
        self.names = Names(
            names, seller_names() if sellers is None else sellers, tier_names() if tiers is None else tiers
        )
        self.currencies = tuple(sorted({row.currency for row in self.rows}))
        laid = {key: spans(self.rows, numbers) for key, numbers in _groups(self.rows).items()}
        every = [span for group in laid.values() for span in group]
        self.positions, self.calendar = lay_out(self.rows, every), calendar(every)
        row_at = self.positions.row_at
        self.prices, self.missing = lay_out_prices(self.rows, row_at)
        self.sku_price_ids: Ints = np.append(_ids(self.rows), 0)[row_at]
        self.currency_at = np.array([self.currencies.index(row.currency) for row in self.rows] + [0], np.int8)[row_at]
        self.marginal = marginal_prices(self.prices, self.missing, self.positions)
        self._listed = {(row.seller, row.model) for row in self.rows}
        self._memo: dict[tuple[str | None, str | None, str | None, bool], int] = {}
        self._compile_plan(laid)

    def group(self, provider: str | None, model: str | None, service_tier: str | None, batch: bool) -> int:
        """Group of a logged seller, model and tier; groups that stand for a reason lead to that reason's position."""
        key = (provider, model, service_tier, batch)
        found = self._memo.get(key)
        if found is None:
            if len(self._memo) >= _MEMO_LIMIT:
                self._memo.clear()
            found = self._memo[key] = self._find_group(provider, model, service_tier, batch)
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

    def _find_group(self, provider: str | None, model: str | None, service_tier: str | None, batch: bool) -> int:
        seller = self.names.seller(provider)
        if seller is None:
            return reasons.UNKNOWN_SELLER
        target = self.names.model(seller, model)
        if target is None:
            return reasons.UNKNOWN_MODEL
        if (seller, target) not in self._listed:
            return reasons.NO_TOKEN_PRICE
        return self._number.get((seller, target, self.names.tier(service_tier, batch)), reasons.NO_PRICE_FOR_TIER)

    def _compile_plan(self, laid: Mapping[tuple[str, str, str], Sequence[Span]]) -> None:
        borders = self.calendar.borders
        self.bins = len(borders) + 1
        self._number = {key: reasons.MATCH_REASONS + at for at, key in enumerate(laid)}
        plan = np.full((reasons.MATCH_REASONS + len(laid), self.bins), reasons.NO_PRICE_IN_FORCE)
        plan[: reasons.MATCH_REASONS] = np.arange(reasons.MATCH_REASONS)[:, None]
        for key, group in laid.items():
            for span in group:
                low = np.searchsorted(borders, span.start, side="right")
                high = np.searchsorted(borders, span.end, side="right") if span.end < EVER else self.bins
                plan[self._number[key], low:high] = self.positions.of(span)
        self.plan: Ints = plan.reshape(-1)
        if self.plan.size > np.iinfo(np.int32).max:
            raise PriceBookError(f"{len(laid)} groups at {self.bins} dates are too many for one book")


def _groups(rows: Sequence[Tariff]) -> dict[tuple[str, str, str], list[int]]:
    found: dict[tuple[str, str, str], list[int]] = {}
    for number, row in enumerate(rows):
        if row.tenant is not None or row.surface is not None:
            raise PriceBookError(
                f"{row.sku_price_text}: a list price has no tenant ({row.tenant}) and no surface ({row.surface})"
            )
        found.setdefault((row.seller, row.model, row.service_tier), []).append(number)
    return found


def _ids(rows: Sequence[Tariff]) -> Ints:
    ids = [row.sku_price_id for row in rows]
    if len(set(ids)) != len(ids) or 0 in ids:
        twice = next(one for one in ids if ids.count(one) > 1 or one == 0)
        raise PriceBookError(f"price row {twice:016x} stands more than once")
    return np.array(ids, np.int64)
