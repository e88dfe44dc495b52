"""What do a contract's rules make of a list price?

Fixed price, else list price times multipliers and (1 - discount); then caps; then floors; rounded half to even once. The unrounded
text is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from accounting.errors import PriceBookError
from accounting.money import PRICE_SCALE, exact_product, format_plain, format_scaled, parse_amount, round_unit_price
from accounting.pricing.contract import PRICE_KINDS, Contract, PriceRule
from accounting.pricing.tariff import Tariff
from accounting.usage.classes import PRICED_CLASSES, UNIT_CLASSES


@dataclass(frozen=True)
class BoundRule:
    """A rule of one contract with its dates and models resolved.

    Attributes:
        models: names of the price list's models; None: all.
        since, until: within both the rule's and the contract's validity; None: open.
    """

    contract: Contract
    rule: PriceRule
    models: frozenset[str] | None
    since: datetime
    until: datetime | None

    def covers_tier(self, model: str, service_tier: str) -> bool:
        """Whether it is about some requests to this model at this tier."""
        tiers = self.rule.scope.service_tiers
        return (self.models is None or model in self.models) and (tiers is None or service_tier in tiers)

    def covers_place(self, surface: str | None, region: str | None) -> bool:
        """Whether it is about this surface and region (lower case). A rule that names some is about no other."""
        scope = self.rule.scope
        in_surface = scope.surfaces is None or surface in lowered(scope.surfaces)
        return in_surface and (scope.regions is None or region in lowered(scope.regions))

    def names_class(self, token_class: str) -> bool:
        """Whether it names the class, instead of being about all of them."""
        return token_class in (self.rule.scope.token_classes or ())

    def is_about(self, token_class: str) -> bool:
        return self.rule.scope.token_classes is None or self.names_class(token_class)

    def holds(self, since: datetime | None) -> bool:
        """Whether it holds in a span that begins at `since` (None: long ago) and that no border of its own divides."""
        return since is not None and self.since <= since and (self.until is None or since < self.until)


def lowered(names: frozenset[str] | None) -> frozenset[str]:
    return frozenset(name.lower() for name in names or ())


def contracted_row(row: Tariff, rules: Sequence[BoundRule], derived_from: int) -> Tariff:
    """The row at contract prices, made from the list row `derived_from`.

    A class that takes the price of another takes that class's contracted price, unless a rule names it; a fixed price may give a
    price to a class that the list leaves without one.
    """
    prices, texts, fallbacks = dict(row.prices), dict(row.price_texts), dict(row.fallbacks)
    for token_class in PRICED_CLASSES:
        about = [bound for bound in rules if bound.is_about(token_class)]
        fallback = row.fallbacks.get(token_class)
        stated = row.prices.get(fallback or token_class)
        named = [bound for bound in about if bound.names_class(token_class)]
        if not about or (fallback is not None and not named):
            continue
        if stated is None and not any(bound.rule.kind == "fixed" for bound in named):
            continue
        price, text = contracted_price(token_class, stated, row, about)
        prices[token_class], texts[token_class] = price, text
        fallbacks.pop(token_class, None)
    contracts = sorted({bound.contract.contract_id: bound.contract for bound in rules}.items())
    return replace(
        row,
        prices=prices,
        fallbacks=fallbacks,
        price_texts=texts,
        tenant=contracts[0][1].tenant,
        derived_from=derived_from,
        source="contract " + ", ".join(contract_id for contract_id, _ in contracts),
        source_version="",
        checked_on=None,
        created_by=_names(contract.created_by for _, contract in contracts),
        approved_by=_names(contract.approved_by for _, contract in contracts),
    )


def contracted_price(token_class: str, stated: int | None, row: Tariff, about: Sequence[BoundRule]) -> tuple[int, str]:
    """Price in `Tariff` units and its unrounded text, of a class whose list price is `stated`, by the rules about it."""
    step, scale = (1_000, PRICE_SCALE + 3) if token_class in UNIT_CLASSES else (1, PRICE_SCALE)
    for bound in about:
        if bound.rule.kind in PRICE_KINDS and bound.contract.currency != row.currency:
            raise PriceBookError(
                f"contract {bound.contract.contract_id}, rule {bound.rule.rule_id}: a price in {bound.contract.currency} can't "
                f"be applied to {row.seller}/{row.model}, priced in {row.currency}; state the row itself instead"
            )
    fixed = [bound for bound in about if bound.rule.kind == "fixed"]
    if len(fixed) > 1:
        raise PriceBookError(
            f"{fixed[0].rule.rule_id} and {fixed[1].rule.rule_id} both fix the price of {token_class} of {row.seller}/{row.model}"
        )
    if fixed:
        price = fixed[0].rule.value
    else:
        assert stated is not None
        listed = parse_amount(format_scaled(stated, scale))
        price = exact_product([listed, *(_factor(bound.rule) for bound in about)])
    price = min([price, *(bound.rule.value for bound in about if bound.rule.kind == "cap")])
    price = max([price, *(bound.rule.value for bound in about if bound.rule.kind == "floor")])
    return round_unit_price(price, token_class) * step, format_plain(price)


def _factor(rule: PriceRule) -> Decimal:
    if rule.kind == "discount":
        return 1 - rule.value
    return rule.value if rule.kind == "multiplier" else Decimal(1)


def _names(people: Iterable[str | None]) -> str | None:
    found = sorted({person for person in people if person is not None})
    return ", ".join(found) or None
