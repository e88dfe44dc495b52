"""From where on must a contract be worked out again, and what was used of its commitments and credits until then?

What a contract makes of usage before an instant depends on earlier usage alone, where no period of a volume tier lies across the
instant. So what was used of each part at such an instant is all that a later run has to know of the time before it. The rows are
worked out from the ledger: without them, or where the contract, the reporting zone or the rules changed, the whole term is.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, time
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from accounting.ledger.settlers.periods import period_of
from accounting.pricing.contract import Contract
from accounting.pricing.contract_json import contract_hash
from accounting.storage.changes import ALWAYS, FAR
from accounting.storage.tables import contract_standings
from accounting.tenant import TenantContext

RULES = 3
"""Raised when settling the same usage under the same contract would give other lines than before."""
_WITHDRAWN = "withdrawn"


@dataclass
class Standing:
    """Where a contract stands while a run works it out.

    Attributes:
        basis: what the rows depend on beside events.
        since: events before it are in `used` and are not read again; ALWAYS: all are read, FAR: none.
        used: part -> 10^-15 currency units that events before `since` used.
        periods: start of a period -> part -> what its events used, of those that this run read.
        starts: moment -> start of its period, as a day has many cells.
    """

    basis: str
    since: datetime
    used: dict[str, int]
    periods: defaultdict[datetime, defaultdict[str, int]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(int))
    )
    starts: dict[datetime, datetime] = field(default_factory=dict)

    def reach(self, contract: Contract, moment: datetime) -> None:
        """Notes that usage at a moment was read, so that the begin of its period can be resumed from."""
        self.periods[self._start(contract, moment)]

    def use(self, contract: Contract, part: str, moment: datetime, amount: int) -> None:
        """Adds what usage at a moment used of a part."""
        self.periods[self._start(contract, moment)][part] += amount

    def _start(self, contract: Contract, moment: datetime) -> datetime:
        if moment not in self.starts:
            self.starts[moment] = period_start(contract, moment)
        return self.starts[moment]

    def rows(self) -> Iterable[tuple[datetime, dict[str, int]]]:
        """(until, used) at the start of every later period that was read, and with all of them in."""
        used = defaultdict(int, self.used)
        for start in sorted(self.periods):
            if start > self.since:
                yield start, dict(used)
            for part, amount in self.periods[start].items():
                used[part] += amount
        yield FAR, dict(used)


def period_start(contract: Contract, moment: datetime) -> datetime:
    """Start of the stretch that is worked out as a whole: a tier's period, a UTC day where there is no tier, else the whole term."""
    starts = {period_of(contract, tier, moment) for tier in contract.volume_tiers}
    if len(starts) > 1 or len({tier.period for tier in contract.volume_tiers}) > 1:
        return ALWAYS
    day = starts.pop() if starts else moment.astimezone(UTC).date().isoformat()
    return datetime.combine(datetime.fromisoformat(day), time(0), UTC)


def resume(
    connection: Connection,
    context: TenantContext,
    contracts: Iterable[Contract],
    every: Iterable[str],
    changed: datetime,
) -> dict[str, Standing]:
    """Contract id -> where to begin, for `every` id ever recorded; `changed`: no event before it changed since the last run."""
    kept: defaultdict[str, list[Any]] = defaultdict(list)
    query = select(contract_standings).where(contract_standings.c.tenant == context.tenant)
    for row in connection.execute(query.order_by(contract_standings.c.until)):
        kept[row.contract_id].append(row)
    basis = dict.fromkeys(every, _WITHDRAWN) | {one.contract_id: _basis(context, one) for one in contracts}
    return {name: _resume(wanted, kept[name], changed) for name, wanted in basis.items()}


def _resume(basis: str, rows: list[Any], changed: datetime) -> Standing:
    usable = [row for row in rows if row.basis == basis and row.until <= changed]
    if not usable:
        return Standing(basis, ALWAYS, {})
    return Standing(basis, usable[-1].until, {part: int(amount) for part, amount in usable[-1].used.items()})


def keep(connection: Connection, context: TenantContext, contract_id: str, standing: Standing) -> None:
    """Writes where the contract stands after the run, in place of what was written of the time after `since`."""
    if standing.since == FAR:
        return
    columns = contract_standings.c
    mine = (columns.tenant == context.tenant) & (columns.contract_id == contract_id)
    connection.execute(delete(contract_standings).where(mine & (columns.until > standing.since)))
    key = {"tenant": context.tenant, "contract_id": contract_id, "basis": standing.basis}
    rows = [
        {**key, "until": until, "used": {part: str(amount) for part, amount in used.items()}}
        for until, used in standing.rows()
    ]
    connection.execute(insert(contract_standings), rows)


def forget(connection: Connection, context: TenantContext) -> None:
    """Lets the next run work out every contract's whole term."""
    connection.execute(delete(contract_standings).where(contract_standings.c.tenant == context.tenant))


def _basis(context: TenantContext, contract: Contract) -> str:
    return json.dumps([RULES, contract_hash(contract), context.reporting_tz])
