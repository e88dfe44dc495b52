"""How do a curve's answers look as lines of a terminal?"""

from __future__ import annotations

import click

from probe.curve.compare import Row, warnings_of
from probe.curve.limits import use_of
from probe.curve.schema import Fit, Point, ResultFile
from probe.curve.setup_shape import measured_of, peak_of, shape_of, widths
from probe.curve.sides import Side
from probe.fit.beside import Beside


def print_errors(fit: Fit) -> None:
    """By fold."""
    for name, e in fit.errors.items():
        click.echo(f"{name}: mape {e.mape:.1%}  bias {e.bias:+.1%}  p95 {e.p95:.1%}  max {e.max:.1%}  n {e.n}")


def print_setup(result: ResultFile) -> None:
    """What was measured, on what."""
    engine = " ".join(part for part in (result.engine.name, result.engine.version) if part)
    gpus = result.device.gpu if result.device.count == 1 else f"{result.device.count}x {result.device.gpu}"
    click.echo(f"{result.result_id}: {result.model.name} on {engine}, {gpus}")


def print_notes(result: ResultFile) -> None:
    """What a reader must know of it."""
    for line in [*warnings_of(result), *(result.fit.notes if result.fit else [])]:
        click.echo(f"note: {line}")


def print_use(result: ResultFile) -> None:
    """What share of the ceilings (measured ones, else nominal) the smallest and largest decode steps and the longest prompt reach, and
    which of the two binds them; nothing where they are not known."""
    shape, width = shape_of(result), widths(result)
    ceiling, kind = measured_of(result), "measured"
    if ceiling is None:
        ceiling, kind = peak_of(result), "nominal"
    if shape is None or width is None or ceiling is None:
        return
    steps = [one for one in result.points if one.kind == "decode" and one.n > 0]
    prompts = [one for one in result.points if one.kind == "prefill" and one.n > 0]
    ends = [min(steps, key=_size), max(steps, key=_size)] if steps else []
    shown = list({id(one): one for one in [*ends, *([max(prompts, key=_size)] if prompts else [])]}.values())
    for point in shown:
        use = use_of(point, shape, ceiling, *width)
        name = (
            f"prefill of {point.new}" if point.new else f"decode {point.batch}x{round(point.context_sum / point.batch)}"
        )
        operations = "operations not known" if use.operations is None else f"{use.operations:.0%} of operations"
        click.echo(f"{name}: {use.bandwidth:.0%} of the {kind} bandwidth, {operations}: bound by {use.bound}")


def _size(point: Point) -> tuple[int, int, int]:
    return point.batch, point.context_sum, point.new


def print_ratios(rows: list[Side]) -> None:
    """B over A; - where one of them can't say, and marked where one of them did not measure it."""
    click.echo(f"{'batch':>6} {'context':>8} {'tokens/s':>10} {'ttft':>9} {'$/M out':>9}")
    for row in rows:
        shown = [f"{'-' if one is None else format(one, '.3f'):>9}" for one in (row.ttft, row.dollars)]
        line = f"{row.batch:>6.4g} {row.context:>8} {row.throughput:>10.3f} {' '.join(shown)}"
        click.echo(line + _beyond(row))


def print_beside(rows: list[Beside]) -> None:
    """Runs beside a curve; dollars a million tokens: all on output, over input and output alike, and by own prefill."""
    click.echo(
        f"{'requests/s':>10} {'batch':>7} {'served ms':>10} {'explained':>10} {'all on out':>11} {'alike':>9} {'input':>9} "
        f"{'output':>9}"
    )
    for row in rows:
        share = "-" if row.explained is None else f"{row.explained:.0%}"
        cost = row.cost
        dollars = (
            ["-"] * 4 if cost is None else [f"{one:.4f}" for one in (cost.theirs, cost.plain, cost.input, cost.output)]
        )
        rate = f"{row.run.requests_per_second:.3f}"
        first, *rest = dollars
        shown = " ".join(f"{one:>9}" for one in rest)
        click.echo(f"{rate:>10} {row.batch:>7.1f} {row.pace * 1e3:>10.2f} {share:>10} {first:>11} {shown}")


def print_rows(rows: list[Row]) -> None:
    """One curve's answers."""
    click.echo(f"{'batch':>6} {'context':>8} {'step ms':>9} {'tokens/s':>10} {'ttft ms':>9} {'$/M out':>9}")
    for row in rows:
        ttft = "-" if row.ttft is None else f"{row.ttft * 1e3:.1f}"
        dollars = "-" if row.dollars is None else f"{row.dollars:.4f}"
        line = (
            f"{row.batch:>6.4g} {row.context:>8} {row.step * 1e3:>9.2f} {row.throughput:>10.1f} {ttft:>9} {dollars:>9}"
        )
        click.echo(line + _beyond(row))


def _beyond(row: Row | Side) -> str:
    """What of a line was not measured: all of it, or the time to the first token alone, whose prompts go less far than contexts do."""
    if row.extrapolated:
        return "  extrapolated"
    return "  ttft extrapolated" if row.ttft is not None and row.ttft_extrapolated else ""
