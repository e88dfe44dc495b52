"""What should stand in the ledger for a contract, and what lines bring it there?

Every settlement works out the whole of what a contract makes of the usage from an instant on (`standing.py`), and appends the difference
to what was appended of that time before. So events may arrive in any order, and be voided, revised or re-priced: the sums end up the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, text

from accounting.ledger.charge_line import NewCharge
from accounting.ledger.settlers.cells import Group
from accounting.money import MINOR_SCALE, from_minor
from accounting.storage.changes import FAR
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


OWN = ("purchase", "unused", "shortfall")
"""Reasons of what a commitment costs beside usage: worked out in every run."""
# A subject is contract:part:period for a volume tier, else contract:part, and the policy names the part.
_CONTRACT = (
    "left(c.subject_id, length(c.subject_id) - length(substr(c.policy, strpos(c.policy, ':'))) "
    f"- CASE WHEN c.policy LIKE 'volume\\_tier:%' THEN {len(':2026-07-01')} ELSE 0 END)"
)
_BOOKED = text(
    f"""
    SELECT c.subject_id, c.policy, c.reason, c.category, c.seller, c.billing_currency, c.charge_period_start,
           coalesce(c.user_id, '') AS user_id, coalesce(c.account_id, '') AS account_id, c.purpose, c.model,
           {", ".join(f"(coalesce(sum(c.{name}), 0) * 1e{MINOR_SCALE})::numeric(60, 0)::text AS {name}" for name in COSTS)}
    FROM charges c
    JOIN unnest(CAST(:contracts AS text[]), CAST(:since AS timestamptz[])) AS asked (contract_id, since)
      ON asked.contract_id = {_CONTRACT}
    WHERE c.tenant = :tenant AND c.subject_kind = '{KIND}'
      AND (c.charge_period_start >= :earliest OR c.charge_period_start = ANY(CAST(:moments AS timestamptz[])))
      AND (c.charge_period_start >= asked.since OR c.reason = ANY(:own))
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    """
)
_NUMBERS = text(
    f"SELECT subject_id, count(*) AS lines FROM charges WHERE tenant = :tenant AND subject_kind = '{KIND}' "
    "AND subject_id = ANY(:subjects) GROUP BY 1"
)


def read_booked(
    connection: Connection, context: TenantContext, since: Mapping[str, datetime], moments: Iterable[datetime]
) -> Postings:
    """What contracts have made so far of usage from an instant of their own on, and of themselves.

    Args: since: contract id -> instant. moments: quarter hours in which contracts can have lines that are about no usage.
    """
    asked = {
        "tenant": context.tenant,
        "contracts": list(since),
        "since": list(since.values()),
        "earliest": min(since.values(), default=FAR),
        "moments": sorted(set(moments)),
        "own": list(OWN),
    }
    amounts: Postings = {}
    for row in connection.execute(_BOOKED, asked):
        group = Group(row.charge_period_start, row.user_id, row.account_id, row.purpose, row.model)
        place = Place(row.subject_id, row.policy, row.reason, row.category, row.seller, row.billing_currency, group)
        held = (int(row.list_cost), int(row.contracted_cost), int(row.effective_cost), int(row.billed_cost))
        add(amounts, place, held)
    return amounts


def lines(connection: Connection, context: TenantContext, target: Postings, booked: Postings) -> Iterator[NewCharge]:
    """The lines that bring what is booked to the target, in the order of their places; ids count the lines of a subject."""
    places = sorted(one for one in {*target, *booked} if target.get(one, NOTHING) != booked.get(one, NOTHING))
    subjects = {"tenant": context.tenant, "subjects": sorted({place.subject_id for place in places})}
    numbers = {row.subject_id: row.lines for row in connection.execute(_NUMBERS, subjects)}
    for place in places:
        wanted, held = target.get(place, NOTHING), booked.get(place, NOTHING)
        numbers[place.subject_id] = numbers.get(place.subject_id, 0) + 1
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
