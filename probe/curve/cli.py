"""`tokencogs curve`: which curves are there, what does one say, how do two compare, and what do other tools' results make?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from probe.curve.compare import Row, common_points, rows_of, warnings
from probe.curve.curve import CurveDocument
from probe.curve.errors import CurveRefused
from probe.curve.operating import achievable_batch, best_batch
from probe.curve.schema import ResultFile, dump_result, json_schema, read_result
from probe.engine.errors import ProbeError
from probe.fit.result import with_curve
from probe.imports.common import Given
from probe.imports.formats import FORMATS, read_foreign

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_PRICE = click.option("--gpu-price", type=click.FloatRange(min=0, min_open=True), help="Dollars an hour of one GPU.")


class _Refusing(click.Command):
    """A command whose refusals are one line on stderr, exit code 2."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ProbeError as refused:
            raise click.UsageError(" ".join(str(refused).split())) from refused


def _epilog(*lines: str) -> str:
    return "\n".join(["\b", "Example:", *(f"  {line}" for line in lines)])


@click.group(epilog=_epilog("tokencogs curve list curves"))
def curve() -> None:
    """Curves of serving setups: step times over batch and context."""


@curve.command(
    "import",
    cls=_Refusing,
    epilog=_epilog("tokencogs curve import vllm-bench-serve runs/ --gpu H200 --measured-at 2026-10-01 --out curves"),
)
@click.argument("format", type=click.Choice(sorted(FORMATS)))
@click.argument("file", type=click.Path(exists=False, path_type=Path))
@click.option("--model", help="The model's name, where the file has none; for op-tables the architecture.")
@click.option("--gpu", help="The GPU's name, where the file has none.")
@click.option("--gpus", type=click.IntRange(min=1), help="GPUs of a replica, where the file has none.")
@click.option("--engine", help="The engine's name, where the file has none.")
@click.option("--dtype", help="Of the weights, where the file has none.")
@click.option("--measured-at", help="Date, where the file has none.")
@click.option("--input-tokens", type=float, help="Tokens of a prompt, where the file has none.")
@click.option("--output-tokens", type=float, help="Tokens of an answer, where the file has none.")
@click.option(
    "--out", default=Path("curves"), show_default=True, type=click.Path(path_type=Path), help="Folder to write to."
)
def import_(format: str, file: Path, out: Path, **given: Any) -> None:
    """Read FILE of another tool and write one result file a setup, with its curve."""
    results = read_foreign(format, file, Given(**given))
    out.mkdir(parents=True, exist_ok=True)
    for result in results:
        try:
            fitted, said = with_curve(result), "curve"
        except CurveRefused as refused:
            fitted, said = result, f"no curve: {refused}"
        path = out / f"{result.result_id.replace('/', '_')}.json"
        path.write_bytes(dump_result(fitted))
        click.echo(f"{path}: {len(result.points)} points, {len(result.served)} runs, {said}")


@curve.command("list", cls=_Refusing, epilog=_epilog("tokencogs curve list curves"))
@click.argument("folder", default=Path("curves"), type=click.Path(exists=True, file_okay=False, path_type=Path))
def list_(folder: Path) -> None:
    """One line for each result file of FOLDER."""
    for path in sorted(folder.glob("*.json")):
        result = read_result(path)
        file = result.curve or {}
        marks = [name for name in ("floor", "behaviour_changing") if file.get(name)]
        held = file.get("errors", {}).get("mape")
        error = "error not known" if held is None else f"held-out error {held:.1%}"
        shown = [result.result_id, result.model.name, result.device.gpu, file.get("form", "no curve"), error, *marks]
        click.echo("  ".join(shown))


@curve.command(cls=_Refusing, epilog=_epilog("tokencogs curve show curves/floor-Qwen3-8B-h200_sxm-bfloat16.json"))
@click.argument("file", type=_FILE)
@_PRICE
@click.option("--context", type=click.IntRange(min=1), help="Tokens a sequence: say which batch is best there.")
@click.option("--ttft", type=click.FloatRange(min=0, min_open=True), help="Target of the first token, seconds.")
@click.option("--itl", type=click.FloatRange(min=0, min_open=True), help="Target between tokens, seconds.")
@click.option("--html", type=click.Path(path_type=Path), help="Also write a report with charts (needs plotly).")
def show(
    file: Path, gpu_price: float | None, context: int | None, ttft: float | None, itl: float | None, html: Path | None
) -> None:
    """What the curve of FILE answers, its errors, and what its points could not tell."""
    result, document = _read(file)
    click.echo(f"{result.result_id}: {result.model.name} on {document.file['engine']}, {document.file['gpu']}")
    if result.fit is not None:
        click.echo(f"model: {result.fit.chosen}")
        for name, e in result.fit.errors.items():
            click.echo(f"{name}: mape {e.mape:.1%}  bias {e.bias:+.1%}  p95 {e.p95:.1%}  max {e.max:.1%}  n {e.n}")
        for name, why in result.fit.not_identified.items():
            click.echo(f"not identified: {name}: {why}")
    _table(rows_of(document, common_points([document]), gpu_price, result.device.count))
    if context is not None:
        best, room = best_batch(document, context, ttft, itl), achievable_batch(document, context)
        fits = "cache not stated" if room is None else f"{room} fit the cache"
        click.echo(f"best batch at {context}: {'none holds the targets' if best is None else best} ({fits})")
    for line in [*warnings(result, result)[:1], *(result.fit.notes if result.fit else [])]:
        click.echo(f"note: {line}")
    if html is not None:
        from probe.curve.report import write_report  # noqa: PLC0415 (needs plotly)

        write_report(result, document, html, gpu_price)
        click.echo(f"wrote {html}")


@curve.command(cls=_Refusing, epilog=_epilog("tokencogs curve compare curves/a.json curves/b.json --gpu-price 2.49"))
@click.argument("a", type=_FILE)
@click.argument("b", type=_FILE)
@_PRICE
def compare(a: Path, b: Path, gpu_price: float | None) -> None:
    """A and B at the points that both measured."""
    pairs = [_read(a), _read(b)]
    points = common_points([document for _, document in pairs])
    for result, document in pairs:
        click.echo(result.result_id)
        _table(rows_of(document, points, gpu_price, result.device.count))
    for line in warnings(pairs[0][0], pairs[1][0]):
        click.echo(f"note: {line}")


@curve.command(epilog=_epilog("tokencogs curve schema > result.schema.json"))
def schema() -> None:
    """The JSON Schema of result files."""
    click.echo(json.dumps(json_schema(), indent=1))


def _read(path: Path) -> tuple[ResultFile, CurveDocument]:
    result = read_result(path)
    if result.curve is None:
        raise CurveRefused("curve", None, f"{path} has samples but no curve")
    return result, CurveDocument.of(result.curve)


def _table(rows: list[Row]) -> None:
    click.echo(f"{'batch':>6} {'context':>8} {'step ms':>9} {'tokens/s':>10} {'ttft ms':>9} {'$/M out':>9}")
    for row in rows:
        ttft = "-" if row.ttft is None else f"{row.ttft * 1e3:.1f}"
        dollars = "-" if row.dollars is None else f"{row.dollars:.4f}"
        line = f"{row.batch:>6} {row.context:>8} {row.step * 1e3:>9.2f} {row.throughput:>10.1f} {ttft:>9} {dollars:>9}"
        click.echo(line + ("  extrapolated" if row.extrapolated else ""))
