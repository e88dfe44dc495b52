"""What should stand in the ledger for a contract, and what lines bring it there?

Every settlement works out the whole of what a contract makes of the usage there is, and appends the difference to what it appended
before. So events may arrive in any order, and be voided, revised or re-priced: the sums end up the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection, text

from accounting.ledger.charge_line import NewCharge
from accounting.ledger.settlers.cells import Group
from accounting.money import MINOR_SCALE, from_minor
from accounting.tenant import TenantContext

COSTS = ("list_cost", "contracted_cost", "effective_cost", "billed_cost")
KIND = "contract_month"


class Place(NamedTuple):
    """Where a posting belongs: one line of one part of a contract.

    Attributes:
        subject_id: contract, part and period, with colons between.
        policy: the part: `volume_tier:ID`, `prepaid:ID`, `minimum_spend:ID` or `credit:ID`.
        reason: what the amount is: tier, purchase, drawn, unused, shortfall, credit.
    """

    subject_id: str
    policy: str
    reason: str
    category: str
    seller: str
    currency: str
    group: Group


Amounts = tuple[int, int, int, int]
"""List, contracted, effective and billed cost, 10^-15 currency units."""
NOTHING: Amounts = (0, 0, 0, 0)
Postings = dict[Place, Amounts]


def add(postings: Postings, place: Place, amounts: Amounts) -> None:
    """Adds amounts to what is to stand at a place."""
    held = postings.get(place, NOTHING)
    postings[place] = (
        held[0] + amounts[0],
        held[1] + amounts[1],
        held[2] + amounts[2],
        held[3] + amounts[3],
    )


_BOOKED = text(
    f"""
    SELECT subject_id, policy, reason, category, seller, billing_currency, charge_period_start, coalesce(user_id, '') AS user_id,
           coalesce(account_id, '') AS account_id, purpose, model, count(*) AS lines,
           {", ".join(f"(coalesce(sum({name}), 0) * 1e{MINOR_SCALE})::numeric(60, 0)::text AS {name}" for name in COSTS)}
    FROM charges WHERE tenant = :tenant AND subject_kind = '{KIND}'
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    """
)


@dataclass(frozen=True)
class Booked:
    """What was appended before. Attributes: amounts: by place; lines: how many lines each subject has."""

    amounts: Postings
    lines: dict[str, int]


def read_booked(connection: Connection, context: TenantContext) -> Booked:
    """Every line that contracts of the tenant have made so far."""
    amounts: Postings = {}
    lines: defaultdict[str, int] = defaultdict(int)
    for row in connection.execute(_BOOKED, {"tenant": context.tenant}):
        group = Group(row.charge_period_start, row.user_id, row.account_id, row.purpose, row.model)
        place = Place(row.subject_id, row.policy, row.reason, row.category, row.seller, row.billing_currency, group)
        held = (int(row.list_cost), int(row.contracted_cost), int(row.effective_cost), int(row.billed_cost))
        add(amounts, place, held)
        lines[row.subject_id] += row.lines
    return Booked(amounts, dict(lines))


def lines(target: Postings, booked: Booked) -> Iterator[NewCharge]:
    """The lines that bring what is booked to the target, in the order of their places; ids count the lines of a subject."""
    numbers: defaultdict[str, int] = defaultdict(int, booked.lines)
    places = {*target, *booked.amounts}
    for place in sorted(one for one in places if target.get(one, NOTHING) != booked.amounts.get(one, NOTHING)):
        wanted, held = target.get(place, NOTHING), booked.amounts.get(place, NOTHING)
        numbers[place.subject_id] += 1
        listed, contracted, effective, billed = (from_minor(new - old) for new, old in zip(wanted, held, strict=True))
        yield NewCharge(
            charge_id=f"{place.subject_id}/{numbers[place.subject_id]}",
            subject_kind=KIND,
            subject_id=place.subject_id,
            charge_period_start=place.group.start,
            booking_period=place.group.start.date().replace(day=1),
            category=place.category,
            charge_status="priced",
            seller=place.seller,
            model=place.group.model,
            purpose=place.group.purpose,
            account_id=place.group.account_id or None,
            user_id=place.group.user_id or None,
            billing_currency=place.currency,
            basis="contract",
            policy=place.policy,
            reason=place.reason,
            list_cost=listed,
            contracted_cost=contracted,
            effective_cost=effective,
            billed_cost=billed,
        )
