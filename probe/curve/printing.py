"""How do a curve's answers look as lines of a terminal?"""

from __future__ import annotations

import click

from probe.curve.compare import Row
from probe.curve.schema import Fit
from probe.curve.sides import Side


def print_errors(fit: Fit) -> None:
    """By fold."""
    for name, e in fit.errors.items():
        click.echo(f"{name}: mape {e.mape:.1%}  bias {e.bias:+.1%}  p95 {e.p95:.1%}  max {e.max:.1%}  n {e.n}")


def print_ratios(rows: list[Side]) -> None:
    """B over A; - where one of them can't say."""
    click.echo(f"{'batch':>6} {'context':>8} {'tokens/s':>10} {'ttft':>9} {'$/M out':>9}")
    for row in rows:
        shown = [f"{'-' if one is None else format(one, '.3f'):>9}" for one in (row.ttft, row.dollars)]
        click.echo(f"{row.batch:>6} {row.context:>8} {row.throughput:>10.3f} {' '.join(shown)}")


def print_rows(rows: list[Row]) -> None:
    """One curve's answers."""
    click.echo(f"{'batch':>6} {'context':>8} {'step ms':>9} {'tokens/s':>10} {'ttft ms':>9} {'$/M out':>9}")
    for row in rows:
        ttft = "-" if row.ttft is None else f"{row.ttft * 1e3:.1f}"
        dollars = "-" if row.dollars is None else f"{row.dollars:.4f}"
        line = f"{row.batch:>6} {row.context:>8} {row.step * 1e3:>9.2f} {row.throughput:>10.1f} {ttft:>9} {dollars:>9}"
        click.echo(line + ("  extrapolated" if row.extrapolated else ""))
