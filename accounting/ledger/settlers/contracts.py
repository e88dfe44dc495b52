"""What do the contracts of a tenant make of its usage: volume tiers, then commitments, then credits?

1. cells: priced usage by day, or part of one where a credit begins or ends within it, user, account, purpose, model and price row
   (`cells.py`)
2. volume tiers change what usage costs (`volume.py`): list stays, contracted, effective and billed move
3. a prepaid commitment is bought (billed, effective 0) and drawn (effective stays, billed 0); what is left after its last day is
   unused (effective, billed 0). A minimum spend is charged for what usage falls short of, after its last day
4. credits, in the order of priority, then expiry, then id, take off what is still to be paid: effective and billed
5. the difference to what is booked becomes lines (`postings.py`)

All of that is worked out from the period on in which the charges of an event changed since the last run, the whole term where the
contract is new, changed or withdrawn (`standing.py`). A part of a contract that is no longer in force is worked back to nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby

from sqlalchemy import Connection

from accounting.ledger.charge_line import NewCharge
from accounting.ledger.settlers.cells import Cell, Group, read_cells
from accounting.ledger.settlers.drawing import draw
from accounting.ledger.settlers.periods import period_of
from accounting.ledger.settlers.postings import Amounts, Place, Postings, add, lines, read_booked
from accounting.ledger.settlers.scopes import as_listed, list_names, scopes_of
from accounting.ledger.settlers.standing import Standing, keep, resume
from accounting.ledger.settlers.volume import apply_tier
from accounting.money import to_minor
from accounting.pricing.contract import Commitment, Contract, Credit, VolumeTier
from accounting.pricing.names import Names
from accounting.storage.changes import FAR, take
from accounting.storage.contracts import ids_ever, in_force
from accounting.tenant import TenantContext

PURPOSE = "commitment"
"""Purpose of what a contract costs beside usage; the policy of purposes says where it stands in the statement."""


def settle_contracts(connection: Connection, context: TenantContext) -> Iterable[NewCharge]:
    """The lines that bring a tenant's contracts up to now."""
    now = datetime.now(UTC)
    changed = take(connection) or FAR
    stated = in_force(connection)
    names = list_names(connection, (one.seller for one in stated if any(scopes_of(one))))
    contracts = [as_listed(one, names) for one in stated]
    standings = resume(connection, context, contracts, ids_ever(connection), changed)
    target: Postings = {}
    for contract in contracts:
        standing = standings[contract.contract_id]
        settle_contract(contract, _cells(connection, context, contract, standing, names), standing, now, target)
    for contract_id, standing in standings.items():
        keep(connection, context, contract_id, standing)
    since = {contract_id: standing.since for contract_id, standing in standings.items()}
    moments = (day for one in contracts for part in one.commitments for day in (part.since, _last_day(part)))
    return lines(connection, context, target, read_booked(connection, context, since, moments))


def _cells(
    connection: Connection, context: TenantContext, contract: Contract, standing: Standing, names: Names
) -> list[Cell]:
    if not (contract.volume_tiers or contract.commitments or contract.credits):
        return []
    return read_cells(connection, context, contract, standing.since, names)


def settle_contract(
    contract: Contract, cells: Sequence[Cell], standing: Standing, now: datetime, target: Postings
) -> None:
    """Adds what one contract makes of its cells from `standing.since` on, in the order of their days, to the target and its standing."""
    for tier in contract.volume_tiers:
        _volume(contract, tier, cells, target)
    for cell in cells:
        standing.reach(contract, cell.since)
    for commitment in sorted(contract.commitments, key=lambda one: (one.starts_on, one.ends_on, one.commitment_id)):
        _commitment(contract, commitment, cells, standing, now, target)
    for credit in sorted(contract.credits, key=_credit_order):
        _credit(contract, credit, cells, standing, target)


def _volume(contract: Contract, tier: VolumeTier, cells: Sequence[Cell], target: Postings) -> None:
    periods: defaultdict[str, list[Cell]] = defaultdict(list)
    for since, of_day in groupby(cells, key=lambda cell: cell.since):
        periods[period_of(contract, tier, since)] += of_day
    for period, within in periods.items():
        subject = f"{contract.contract_id}:{tier.tier_id}:{period}"
        for cell, part in apply_tier(tier, within):
            place = _place(contract, subject, f"volume_tier:{tier.tier_id}", "tier", "Usage", cell.group)
            add(target, place, (0, part, part, part))


def _commitment(
    contract: Contract,
    commitment: Commitment,
    cells: Sequence[Cell],
    standing: Standing,
    now: datetime,
    target: Postings,
) -> None:
    amount = to_minor(commitment.amount_text, f"commitment {commitment.commitment_id}.amount")
    subject = f"{contract.contract_id}:{commitment.commitment_id}"
    policy = f"{commitment.kind}:{commitment.commitment_id}"
    name = f"commitment {commitment.commitment_id}"
    within = [cell for cell in cells if _covers(commitment, cell)]
    ended = commitment.until <= now
    last = Group(_last_day(commitment), "", "", PURPOSE, name)
    before = standing.used.get(commitment.commitment_id, 0)

    def post(reason: str, category: str, group: Group, amounts: Amounts) -> None:
        add(target, _place(contract, subject, policy, reason, category, group), amounts)

    if commitment.kind == "minimum_spend":
        spent = before
        for cell in within:
            cost = cell.cost_of(commitment.scope.token_classes)
            standing.use(contract, commitment.commitment_id, cell.since, cost)
            spent += cost
        if ended and spent < amount:
            short = amount - spent
            post("shortfall", "Purchase", last, (short, short, short, short))
        return
    if commitment.since <= now:
        post("purchase", "Purchase", Group(commitment.since, "", "", PURPOSE, name), (amount, amount, 0, amount))
    classes = commitment.scope.token_classes
    drawn = draw(amount - before, within, [cell.payable(classes) for cell in within])
    for cell, part in zip(within, drawn, strict=True):
        if part:
            standing.use(contract, commitment.commitment_id, cell.since, part)
            cell.pay(part, classes)
            post("drawn", "Usage", cell.group, (0, 0, 0, -part))
    left = amount - before - sum(drawn)
    if ended and left:
        post("unused", "Usage", last, (0, 0, left, 0))


def _credit(contract: Contract, credit: Credit, cells: Sequence[Cell], standing: Standing, target: Postings) -> None:
    left = to_minor(credit.amount_text, f"credit {credit.credit_id}.amount") - standing.used.get(credit.credit_id, 0)
    subject, policy = f"{contract.contract_id}:{credit.credit_id}", f"credit:{credit.credit_id}"
    until = credit.valid_until or FAR
    within = [cell for cell in cells if credit.valid_from <= cell.since < until and cell.covered(credit.scope)]
    classes = credit.scope.token_classes
    drawn = draw(left, within, [cell.payable(classes) for cell in within])
    for cell, part in zip(within, drawn, strict=True):
        if part:
            standing.use(contract, credit.credit_id, cell.since, part)
            cell.pay(part, classes)
            place = _place(contract, subject, policy, "credit", "Credit", cell.group)
            add(target, place, (0, 0, -part, -part))


def _last_day(commitment: Commitment) -> datetime:
    return commitment.until - timedelta(days=1)


def _covers(commitment: Commitment, cell: Cell) -> bool:
    return commitment.since <= cell.since < commitment.until and cell.covered(commitment.scope)


def _credit_order(credit: Credit) -> tuple[int, datetime, str]:
    return credit.priority, credit.valid_until or FAR, credit.credit_id


def _place(contract: Contract, subject: str, policy: str, reason: str, category: str, group: Group) -> Place:
    return Place(subject, policy, reason, category, contract.seller, contract.currency, group)
