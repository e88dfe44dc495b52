"""How does a newcomer see the whole product at work on one machine?"""

from __future__ import annotations

import signal
import sys
from datetime import UTC, datetime

import click

from accounting.cli.group import example
from accounting.demo.run import Settings, run
from accounting.demo.workload import last_full_month

INTERRUPTED = 130


@click.command(
    epilog=example("tokencogs demo --oneshot", "tokencogs demo --month 2026-10 --requests 20000 --port 8080")
)
@click.option("--oneshot", is_flag=True, help="End after printing instead of serving.")
@click.option(
    "--requests", default=200_000, show_default=True, type=click.IntRange(1, 5_000_000), help="Requests of the month."
)
@click.option("--seed", default=1, show_default=True, type=click.IntRange(0), help="Of the random numbers.")
@click.option(
    "--month", metavar="YYYY-MM", type=click.DateTime(["%Y-%m"]), help="Calendar month; default: the last full one."
)
@click.option("--probe", is_flag=True, help="Measure the curve of the product's own pool first; a minute, needs torch.")
@click.option("--port", type=click.IntRange(1, 65535), help="Port of the API; default: 8000, else a free one.")
def demo(oneshot: bool, requests: int, seed: int, month: datetime | None, probe: bool, port: int | None) -> None:
    """Book a month of an imagined LLM product, print what it cost and earned, then serve the API until Ctrl-C.

    Everything belongs to the tenant `demo`. Run again with the same month, size and seed, each event is a duplicate and counts
    once; another workload adds to what is there. 0.2 % of the requests are of a model that no price list has, so that the
    reports show what is not priced. Short requests of the busy hours are served by a pool of the product's own, charged by a curve that
    the probe measured: a CPU measurement of a scaled model.
    """
    first = month.date() if month else last_full_month(datetime.now(UTC).date())
    # SIGINT too: a shell that starts it in the background has it ignored, and then the server would outlive the demo.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:  # under nohup that stays ignored
            signal.signal(number, signal.default_int_handler)
    try:
        run(Settings(month=first, requests=requests, seed=seed, port=port, oneshot=oneshot, probe=probe))
    except KeyboardInterrupt:
        click.echo("stopped", err=True)
        sys.exit(INTERRUPTED)
