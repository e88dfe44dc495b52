"""What happens in the demo, from an empty database to a margin? `run` is the whole story."""

from __future__ import annotations

import os
import sys
import webbrowser
from dataclasses import dataclass
from datetime import date

import click

from accounting.demo import hosted, pool, show, workload
from accounting.demo.api import connected
from accounting.demo.load import prepare_database, put_plans, send_events
from accounting.demo.server import serving, showing
from accounting.demo.workload import next_month
from accounting.processes import Process, wait_any
from accounting.selfhosted.curve_json import load_curve


@dataclass(frozen=True)
class Settings:
    """Attributes: month: its first day; requests, seed: of the workload; port: None takes 8000, else a free one;
    probe: measures the pool's curve first."""

    month: date
    requests: int
    seed: int
    port: int | None
    oneshot: bool
    probe: bool = False


def run(settings: Settings) -> None:
    """Books a month of an imagined product through the API, prints what it cost and earned, then serves or ends."""
    click.echo(
        f"an imagined product's {settings.month:%B %Y}: {settings.requests} requests, seed {settings.seed}", err=True
    )
    curve_file = pool.measure() if settings.probe else hosted.measured()
    month = workload.make(settings.month, settings.requests, settings.seed, load_curve(curve_file))
    key = prepare_database()
    with serving(settings.port) as server, connected(server.url, key) as api:
        put_plans(api, month)
        pool.prepare(curve_file, settings.month, next_month(settings.month))
        click.echo(f"events: {send_events(api, month)}")
        pool.bill_and_settle(settings.month, next_month(settings.month))
        show.reports(api, settings.month)
        show.check()
        if not settings.oneshot:
            with showing(server.url, key=key) as pages:
                stay(server, pages, key, settings.month)


def stay(server: Process, pages: Process | None, key: str, month: date) -> None:
    """Says where everything is, opens the dashboard where there is a screen, and serves until Ctrl-C, which is the ordinary end."""
    where = pages.url if pages else "not installed: pip install 'tokencogs[dashboard]'"
    click.echo(f"\ndashboard  {where}")
    report = f"{server.url}/v1/reports/cost-of-revenue?from={month}&to={next_month(month)}&format=csv"
    click.echo(f"API   {server.url}\ndocs  {server.url}/docs\nkey   {key}\n")
    click.echo(f"  curl -H 'Authorization: Bearer {key}' '{report}'\n\nCtrl-C ends it.")
    if pages and sys.stdout.isatty() and (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        webbrowser.open(pages.url)
    try:
        wait_any([one for one in (server, pages) if one is not None])
    except KeyboardInterrupt:
        click.echo("stopping", err=True)
