"""Which shapes do answers and bodies about prices have? Unit prices are plain decimals per million tokens, per thousand counted things."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from api.schemas import Answer, UnitPrice

Id = Annotated[str, Field(pattern="^[0-9a-f]{16}$", examples=["0f3a5c7788990011"])]
Moment = Annotated[str | None, Field(examples=["2026-07-30T00:00:00Z"])]


class PriceRow(Answer):
    """One dated price row. `own`: of this tenant alone; `derived_from`: the list row that a contract's rules made it from."""

    sku_price_id: Id
    seller: str = Field(examples=["openai"])
    model: str = Field(examples=["gpt-4o"])
    service_tier: str = Field(examples=["default"])
    surface: str | None
    region: str | None
    above_input_tokens: int
    operator: str = Field(examples=[">"])
    decided_by: str = Field(examples=["total_input"])
    window_start: str | None
    window_end: str | None
    effective_from: Moment
    effective_until: Moment
    currency: str = Field(examples=["USD"])
    prices: dict[str, UnitPrice] = Field(examples=[{"uncached_input": "2.5", "output": "10"}])
    fallbacks: dict[str, str] = Field(examples=[{"cache_write": "uncached_input"}])
    own: bool
    derived_from: str | None
    source: str = Field(examples=["genai-prices"])
    source_version: str = Field(examples=["0.2.3"])
    checked_on: str | None
    created_by: str | None
    approved_by: str | None


class PriceList(Answer):
    prices: list[PriceRow]


class SaidRow(PriceRow):
    """A price row with what its source is believed to say of it; `in_force`: whether the book holds it."""

    list_source: str = Field(examples=["litellm"])
    state: str = Field(description="stated, proposed or refused", examples=["stated"])
    in_force: bool


class PriceHistory(Answer):
    rows: list[SaidRow]


class Difference(Answer):
    """A class for which another row states another price while both hold."""

    token_class: str = Field(examples=["output"])
    unit_price: UnitPrice
    other_source: str = Field(examples=["genai-prices"])
    other_model: str = Field(examples=["gpt-4o"])
    other_sku_price_id: Id
    other_unit_price: UnitPrice
    holds_from: Moment
    holds_until: Moment


class LostPrice(Answer):
    """A class that loses its own price once the row is approved."""

    token_class: str = Field(examples=["cache_read"])
    priced_as: str | None = Field(
        description="the class whose price it takes then; null: it has no price", examples=["uncached_input"]
    )


class Proposal(PriceRow):
    """A price row that waits for a decision, with what other sources state otherwise, and what would lose its price."""

    list_source: str
    state: str
    disagreements: list[Difference]
    loses: list[LostPrice] = Field(description="classes that rows it contradicts price by themselves and it does not")


class ProposalList(Answer):
    proposals: list[Proposal]


class Disagreement(Difference):
    """The same with the row that disagrees."""

    sku_price_id: Id
    seller: str
    model: str
    service_tier: str
    above_input_tokens: int
    list_source: str


class DisagreementList(Answer):
    disagreements: list[Disagreement]


class PriceDiff(Answer):
    """Rows of one book and not of the other; a row with another end is in both lists."""

    gone: list[PriceRow]
    new: list[PriceRow]


class PriceBody(Answer):
    """Price rows as fields of text: conditions, and a price for each class; `tokencogs prices template csv` names the fields."""

    rows: list[dict[str, str]] = Field(
        min_length=1,
        max_length=1_000,
        examples=[
            [
                {
                    "seller": "acme",
                    "model": "acme-chat-2",
                    "uncached_input": "2",
                    "output": "6",
                    "effective_from": "2026-01-01T00:00:00Z",
                }
            ]
        ],
    )


class ImportBody(Answer):
    """A price file as text."""

    source: str = Field(description="csv, yaml, litellm or langfuse", examples=["csv"])
    content: str = Field(
        description="the file", examples=["seller,model,uncached_input,output\nacme,acme-chat-2,2,6\n"]
    )
    as_of: str | None = Field(
        default=None, description="day from which undated prices hold; default: today", examples=["2026-01-01"]
    )
    source_version: str = Field(default="api", examples=["2026-01"])


class Imported(Answer):
    """What was recorded; `repeated`: this file as of this day had been before, and nothing changed."""

    import_id: int
    repeated: bool
    counts: dict[str, int]
    findings: dict[str, Any] = Field(description="what could not be taken over as it is, by name")


class ImportEntry(Answer):
    import_id: int
    own: bool
    source: str
    source_version: str
    as_of: str | None
    recorded_at: str
    created_by: str
    counts: dict[str, int]


class ImportList(Answer):
    imports: list[ImportEntry]


class DecisionBody(Answer):
    """Ids of proposed rows; all of them are decided or none."""

    sku_price_ids: list[str] = Field(min_length=1, max_length=10_000, examples=[["0f3a5c7788990011"]])


class DecidedRow(PriceRow):
    list_source: str
    state: str


class Decided(Answer):
    rows: list[DecidedRow]


class AssignBody(Answer):
    """What an unpriced model costs: as another one, recorded at once for calls to come. `apply` also prices what is booked without a
    price; else that is only counted."""

    model: str = Field(pattern=r"^[^\x00]*$", examples=["gpt-4o-corp"])
    like: str = Field(description="SELLER/MODEL", pattern=r"^[^\x00]*$", examples=["openai/gpt-4o"])
    seller: str | None = Field(
        default=None, pattern=r"^[^\x00]*$", description="of the unpriced events; default: the only one there is"
    )
    apply: bool = Field(default=False, description="price what is booked; false: only count it")


class Assigned(Answer):
    """What the name means now, and what pricing its backlog does."""

    seller: str
    model: str
    like: str
    rows: int = Field(
        description="rows of the tenant's own that were made; 0 where it became a name of the same seller's model"
    )
    repriced: int = Field(description="events that get a price")
    applied: bool


class Unpriced(Answer):
    """A model without a price and what is at stake; what it would cost is not guessed."""

    seller: str
    model: str
    reason: str | None
    events: int
    input_tokens: int
    output_tokens: int
    days: int
    users: int
    first_seen: str
    last_seen: str


class UnpricedList(Answer):
    unpriced: list[Unpriced]


class HookBody(Answer):
    url: str = Field(examples=["https://hooks.example/finance"])


class Hook(Answer):
    """Where alerts go; null: nowhere."""

    url: str | None


class ContractList(Answer):
    """Contracts as `PUT /v1/prices/contracts/{contract_id}` takes them."""

    contracts: list[dict[str, Any]]


class ContractRecorded(Answer):
    contract_id: str
    recorded: bool = Field(description="false: it was recorded already, word for word")
    unmet: list[str] = Field(description="rules about models that the price list does not have")


class ContractWithdrawn(Answer):
    contract_id: str
    withdrawn: bool


class Act(Answer):
    """One change: who, when, for whom (`all`: by the operator), what, and what was before and after."""

    at: str
    actor: str
    for_: str = Field(alias="for")
    action: str
    subject: str
    before: Any
    after: Any


class AuditLog(Answer):
    acts: list[Act]
