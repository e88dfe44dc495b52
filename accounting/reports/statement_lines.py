"""Which line of the statement does a purpose belong to on a given day? A dated policy; a tenant's own rows come before the default."""

from __future__ import annotations

from datetime import date

from sqlalchemy import Connection, select

from accounting.storage.purposes import POOL_PURPOSES
from accounting.storage.tables import purpose_policies

UNMAPPED = "unmapped"
"""Line of a purpose that no policy row covers on the day: shown, so that the total still is all spend."""

USER_FACING = ("production", "free", "trial")
"""Purposes whose cost is caused by users' requests."""
FREE_TIER = ("free", "trial")
SERVING = (*USER_FACING, *POOL_PURPOSES)
"""Purposes of what serving users costs: their requests, and what pools cost beside them."""


class PurposePolicy:
    """The tenant's policy, read once for a report.

    Attributes: starts: days on which any row takes effect.
    """

    def __init__(self, own: list[tuple[str, date, str]], default: list[tuple[str, date, str]]) -> None:
        self._layers = [sorted(rows, key=lambda row: row[1], reverse=True) for rows in (own, default)]
        self.starts = sorted({row[1] for rows in self._layers for row in rows})

    def line(self, purpose: str, day: date) -> str:
        """Line in force: of the tenant's rows the latest that has begun, else of the default rows."""
        for rows in self._layers:
            for named, effective_from, line in rows:
                if named == purpose and effective_from <= day:
                    return line
        return UNMAPPED


def read_policy(connection: Connection) -> PurposePolicy:
    """The policy rows that the connection's tenant sees: its own and the default ones."""
    table = purpose_policies.c
    rows = connection.execute(select(table.tenant, table.purpose, table.effective_from, table.statement_line)).all()
    own = [(row.purpose, row.effective_from, row.statement_line) for row in rows if row.tenant is not None]
    default = [(row.purpose, row.effective_from, row.statement_line) for row in rows if row.tenant is None]
    return PurposePolicy(own, default)
