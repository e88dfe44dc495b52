"""What does a contract say about prices: which rules, volume tiers, commitments and credits, for whom and from when?

These are statements, checked as they are made and never changed. `contracted.py` makes price rows of the rules, the settlement run
books volume tiers, commitments and credits. Contract rows that stand by themselves are `Tariff` rows with their tenant.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Literal

from accounting.errors import InvalidInput
from accounting.money import PRICE_SCALE, parse_amount, parse_unit_price
from accounting.pricing.currency_codes import currency_code
from accounting.usage.classes import PRICED_CLASSES

RuleKind = Literal["discount", "multiplier", "fixed", "cap", "floor"]
PRICE_KINDS = ("fixed", "cap", "floor")
"""Rules whose value is a price in the contract's currency; the others are factors."""

DEAREST_PRICE = 10**6
"""A price that a contract states stays below this many currency units, so that the price row made of it can be held."""
LARGEST_AMOUNT = 10**12
"""So does the amount of a commitment or a credit, so that its ledger lines can."""


@dataclass(frozen=True)
class Scope:
    """What a statement covers. Each field is a set of names, None for all; an empty set would cover nothing and is refused.

    Attributes:
        models: the price list's names of models, or any exact name or alias of theirs, in any case.
        service_tiers: the price rows' names of tiers (`default`, `batch`, ...).
        token_classes: priced classes (accounting/usage/classes.py).
        surfaces, regions: of the calls, as price rows or logs name them. A statement about a region covers events of that region
            alone.
    """

    models: frozenset[str] | None = None
    service_tiers: frozenset[str] | None = None
    token_classes: frozenset[str] | None = None
    surfaces: frozenset[str] | None = None
    regions: frozenset[str] | None = None

    def __post_init__(self) -> None:
        for name, values in vars(self).items():
            if values is not None and not values:
                raise InvalidInput(f"scope.{name}", [], "an empty set covers nothing; leave it out to cover all")
        if unknown := sorted((self.token_classes or frozenset()) - set(PRICED_CLASSES)):
            raise InvalidInput("scope.token_classes", unknown[0], "no priced class")


@dataclass(frozen=True)
class PriceRule:
    """One rule about unit prices.

    The order is stated and does not depend on the order in which rules are written: the fixed price where there is one, else the
    list price times every multiplier and (1 - discount); then no more than every cap; then no less than every floor; rounded half to
    even once, to 9 decimals. Two fixed prices for the same requests and class are refused.

    Attributes:
        value_text: a discount is a fraction of the list price ("0.10" is 10 %), a multiplier a factor ("1.1" is an uplift of 10 %);
            fixed, cap and floor are prices per million tokens or per thousand units, in the contract's currency.
        effective_from, effective_until: UTC, half-open, within the contract's; None: as the contract.
    """

    rule_id: str
    kind: RuleKind
    scope: Scope
    value_text: str
    effective_from: datetime | None = None
    effective_until: datetime | None = None

    def __post_init__(self) -> None:
        _check_name("rule_id", self.rule_id)
        where = f"rule {self.rule_id}.value"
        if self.kind in PRICE_KINDS:
            _check_price(where, self.value_text)
        elif self.kind == "discount":
            if not 0 < self.value <= 1:
                raise InvalidInput(where, self.value_text, "a discount is a fraction above 0, at most 1 (10 % is 0.10)")
        elif self.kind == "multiplier":
            if not 0 < self.value <= 100:
                raise InvalidInput(where, self.value_text, "a multiplier is a factor above 0, at most 100")
        else:
            raise InvalidInput(f"rule {self.rule_id}.kind", self.kind, "discount, multiplier, fixed, cap or floor")
        _check_span(f"rule {self.rule_id}", self.effective_from, self.effective_until)

    @property
    def value(self) -> Decimal:
        return parse_amount(self.value_text, f"rule {self.rule_id}.value")


@dataclass(frozen=True)
class VolumeStep:
    """The unit price of every counted token or unit beyond a quantity.

    Attributes:
        from_quantity: tokens or units of the period after which the step holds; the part below it keeps its own step's price.
        kind: `price` replaces the unit price (per million tokens or thousand units); `discount` is a fraction off the contracted
            price that each event has without volume tiers.
    """

    from_quantity: int
    kind: Literal["price", "discount"]
    value_text: str


@dataclass(frozen=True)
class VolumeTier:
    """Marginal volume tiers: what is used beyond a step costs that step's price; what is below keeps its own.

    Below the first step the contracted price holds. The quantity that counts starts at 0 each period.

    Attributes:
        scope: whose events count and are priced.
        counted_classes: classes whose quantities are added up; None: all that the scope names.
        steps: ascending by `from_quantity`.
        period: `calendar_month` (UTC) or `contract_month` (from the contract's first day on, the last day of a shorter month).
    """

    tier_id: str
    scope: Scope
    counted_classes: frozenset[str] | None
    steps: tuple[VolumeStep, ...]
    period: Literal["calendar_month", "contract_month"] = "calendar_month"

    def __post_init__(self) -> None:
        _check_name("tier_id", self.tier_id)
        where = f"volume tier {self.tier_id}"
        quantities = [step.from_quantity for step in self.steps]
        if not quantities or quantities[0] < 0 or sorted(set(quantities)) != quantities:
            raise InvalidInput(f"{where}.steps", quantities, "quantities from 0 on, each once and rising")
        for step in self.steps:
            if step.kind == "price":
                _check_price(f"{where}.value", step.value_text)
            elif step.kind != "discount" or not 0 < parse_amount(step.value_text, f"{where}.value") <= 1:
                raise InvalidInput(f"{where}.value", step.value_text, "a price, or a discount above 0, at most 1")
        if self.period not in ("calendar_month", "contract_month"):
            raise InvalidInput(f"{where}.period", self.period, "calendar_month or contract_month")
        if unknown := sorted((self.counted_classes or frozenset()) - set(PRICED_CLASSES)):
            raise InvalidInput(f"{where}.counted_classes", unknown[0], "no priced class")


@dataclass(frozen=True)
class Commitment:
    """Money promised for usage.

    Attributes:
        kind: `prepaid`: paid on the first day and drawn down by usage, what is left at the end is unused; `minimum_spend`: what usage
            in the scope falls short of the amount is charged at the end.
        amount_text: in the contract's currency.
        starts_on, ends_on: UTC days, both inclusive; `since` and `until` are the same as a half-open interval of instants.
    """

    commitment_id: str
    kind: Literal["prepaid", "minimum_spend"]
    amount_text: str
    starts_on: date
    ends_on: date
    scope: Scope = Scope()

    def __post_init__(self) -> None:
        _check_name("commitment_id", self.commitment_id)
        where = f"commitment {self.commitment_id}"
        if self.kind not in ("prepaid", "minimum_spend"):
            raise InvalidInput(f"{where}.kind", self.kind, "prepaid or minimum_spend")
        _check_positive(f"{where}.amount", self.amount_text)
        if self.ends_on < self.starts_on:
            raise InvalidInput(f"{where}.ends_on", self.ends_on, f"before the first day {self.starts_on}")

    @property
    def since(self) -> datetime:
        return datetime.combine(self.starts_on, time(0), UTC)

    @property
    def until(self) -> datetime:
        return datetime.combine(self.ends_on + timedelta(days=1), time(0), UTC)


@dataclass(frozen=True)
class Credit:
    """Money given for usage, applied in the order of `priority` (1 first), then of the earliest end, then of the id.

    Attributes:
        amount_text: in the contract's currency, above 0.
        valid_from, valid_until: UTC, half-open, on event time; `valid_until` None: it does not expire.
    """

    credit_id: str
    amount_text: str
    priority: int
    valid_from: datetime
    valid_until: datetime | None = None
    scope: Scope = Scope()

    def __post_init__(self) -> None:
        _check_name("credit_id", self.credit_id)
        _check_positive(f"credit {self.credit_id}.amount", self.amount_text)
        _check_span(f"credit {self.credit_id}", self.valid_from, self.valid_until)


@dataclass(frozen=True)
class Contract:
    """What one tenant agreed with one seller.

    Attributes:
        contract_id: the same for all versions of a contract; the newest recorded one is what is believed.
        currency: ISO 4217, of every price and amount in it.
        effective_from, effective_until: UTC, half-open, on event time; `effective_until` None: open.
        source: where it is written down. created_by, approved_by: who typed it in, who approved it.
        recorded_at: when it was stored; None before that.
    """

    contract_id: str
    tenant: str
    seller: str
    currency: str
    effective_from: datetime
    effective_until: datetime | None = None
    rules: tuple[PriceRule, ...] = ()
    volume_tiers: tuple[VolumeTier, ...] = ()
    commitments: tuple[Commitment, ...] = ()
    credits: tuple[Credit, ...] = ()
    source: str = ""
    created_by: str | None = None
    approved_by: str | None = None
    recorded_at: datetime | None = None

    def __post_init__(self) -> None:
        for name in ("contract_id", "tenant", "seller"):
            _check_name(name, getattr(self, name))
        currency_code(self.currency)
        _check_span(f"contract {self.contract_id}", self.effective_from, self.effective_until)
        ids = [rule.rule_id for rule in self.rules] + [tier.tier_id for tier in self.volume_tiers]
        ids += [one.commitment_id for one in self.commitments] + [credit.credit_id for credit in self.credits]
        if twice := next((one for one in ids if ids.count(one) > 1), None):
            raise InvalidInput(f"contract {self.contract_id}", twice, "this id stands more than once in the contract")


def _check_name(field: str, value: str) -> None:
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(field, value, "a text is expected")


def _check_price(field: str, text: str) -> None:
    if parse_unit_price(text, field) >= DEAREST_PRICE * 10**PRICE_SCALE:
        raise InvalidInput(field, text, f"a price below {DEAREST_PRICE} is expected")


def _check_positive(field: str, text: str) -> None:
    if not 0 < parse_amount(text, field) < LARGEST_AMOUNT:
        raise InvalidInput(field, text, f"an amount above 0 and below {LARGEST_AMOUNT} is expected")


def _check_span(where: str, start: datetime | None, end: datetime | None) -> None:
    for name, moment in (("effective_from", start), ("effective_until", end)):
        if moment is not None and moment.utcoffset() != timedelta(0):
            raise InvalidInput(f"{where}.{name}", moment, "a UTC instant is expected")
    if start is not None and end is not None and end <= start:
        raise InvalidInput(f"{where}.effective_until", end, f"not after its start {start}")
