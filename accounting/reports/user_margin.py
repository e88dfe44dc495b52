"""Which users earn more than they cost?

Revenue is recognised by day over [from, to); cost is the effective cost of the user's own requests, by reporting day, where the
purpose is production, free or trial. Cost of other purposes (eval, internal, training) is nobody's margin: it stands in a row of its
own, so that the total is the ledger's. Cost without a user stands in a row too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Engine, text

from accounting.errors import InvalidInput
from accounting.money import from_minor
from accounting.reports.base import Column, Footer, Node, Report, Row
from accounting.reports.coverage import coverage
from accounting.reports.exact import ZERO, minus, percent, plus
from accounting.reports.query import ReportQuery, day_start
from accounting.reports.reconcile import incurred
from accounting.reports.statement_lines import FREE_TIER, USER_FACING
from accounting.reports.sums import MEASURES, Sums
from accounting.revenue.plans import running
from accounting.revenue.recognise import Subscription, recognised
from accounting.storage.engine import read_only
from accounting.tenant import TenantContext

NAME = "user-margin"
DESCRIPTION = "Recognised revenue, cost and margin of every user of a period, the least profitable first; free tier in and out"
GROUP_BY: tuple[str, ...] = ()
NO_PLAN = "none"

_SUMS = text(
    f"""
    SELECT CASE WHEN purpose = ANY(:user_facing) THEN user_id ELSE '' END AS user_id, purpose = ANY(:user_facing) AS user_facing,
           purpose = ANY(:free_tier) AS free_tier, charge_status, billing_currency, {MEASURES}
    FROM rollup_user_day WHERE tenant = :tenant AND day >= :first AND day < :until GROUP BY 1, 2, 3, 4, 5
    """
)
_LEDGER = text(
    """
    SELECT billing_currency, sum(effective_cost) AS incurred
    FROM rollup_user_day WHERE tenant = :tenant AND day >= :first AND day < :until GROUP BY 1
    """
)
