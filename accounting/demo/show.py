"""What did the month cost and earn, and does the ledger agree with itself?"""

from __future__ import annotations

from datetime import date

import click

from accounting.demo.api import Api
from accounting.demo.load import TENANT
from accounting.demo.workload import next_month
from accounting.errors import TokencogsError
from accounting.ledger.check import check as compare
from accounting.ledger.check import differences
from accounting.ledger.pool_check import check_pools
from accounting.reports import ReportQuery, run
from accounting.storage.engine import app_engine
from accounting.storage.tenants import context

LEAST_PROFITABLE = 10


def reports(api: Api, month: date) -> None:
    """Prints the cost-of-revenue statement and the least profitable users of the month."""
    _report(api, "cost-of-revenue", month)
    _report(api, "user-margin", month, limit=LEAST_PROFITABLE)


def _report(api: Api, name: str, month: date, limit: int | None = None) -> None:
    """Prints one report as a table, after the API's answer was found to be the same report to the last digit."""
    period = {"from": month.isoformat(), "to": next_month(month).isoformat()}
    answer = api.get(f"/v1/reports/{name}", period | ({} if limit is None else {"limit": str(limit)}))
    engine = app_engine()
    settings = context(engine, TENANT)
    report = run(
        engine, settings, name, ReportQuery.parse(period["from"], period["to"], settings.reporting_tz, limit=limit)
    )
    if answer != report.to_json():
        raise TokencogsError(f"report={name!r}: the API answered other figures than the report has")
    click.echo("\n" + report.to_table(), nl=False)


def check() -> None:
    """Prints that rollups, ledger and components agree in every month; raises TokencogsError with the differences."""
    engine = app_engine()
    lines = compare(engine, context(engine, TENANT))
    found = differences(lines)
    if found:
        raise TokencogsError("check: " + "; ".join(line.describe() for line in found))
    hours = check_pools(engine, context(engine, TENANT))
    apart = [hour.describe() for hour in hours if hour.differs]
    if apart:
        raise TokencogsError("check: " + "; ".join(apart))
    click.echo(f"\ncheck: exact; rollups = ledger = sum of components in all {len(lines)} figures")
    click.echo(f"check: exact; lines = bill in every basis of {len(hours)} pool hours")
