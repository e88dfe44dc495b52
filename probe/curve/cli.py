"""`tokencogs curve`: which curves are there, what does one say, how do two compare, and what do other tools' results make?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from probe.curve.compare import common_points, differing, rows_of, warnings_of
from probe.curve.curve import CurveDocument
from probe.curve.errors import CurveRefused
from probe.curve.operating import achievable_batch, best_batch, unmeasured
from probe.curve.printing import (
    print_beside,
    print_errors,
    print_notes,
    print_ratios,
    print_rows,
    print_setup,
    print_use,
)
from probe.curve.remote import fetched, listed
from probe.curve.schema import ResultFile, dump_result, json_schema, read_result, undated
from probe.curve.sides import room_and_quality, sides
from probe.engine.errors import ProbeError
from probe.fit.beside import beside, gap_note
from probe.fit.result import with_curve
from probe.imports.common import Given
from probe.imports.formats import FORMATS, read_foreign
from probe.refusals import Finite, writable

_HTML = click.option("--html", type=click.Path(path_type=Path), help="Also write a report with charts (needs plotly).")
_API = click.option("--api", help="Where `tokencogs serve` listens: curves are the API's, by id, not files.")
_KEY = click.option("--key", envvar="TOKENCOGS_API_KEY", help="A viewer's key, with --api; or TOKENCOGS_API_KEY.")


_PRICE = click.option("--gpu-price", type=Finite(min=0, min_open=True), help="Dollars an hour of one GPU.")


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
    epilog=_epilog("tokencogs curve import vllm-bench-serve runs/ --gpu H200 --gpus 1 --out curves"),
)
@click.argument("format", type=click.Choice(sorted(FORMATS)))
@click.argument("file", type=click.Path(exists=False, path_type=Path))
@click.option("--model", help="The model's name, where the file has none; for op-tables the architecture.")
@click.option("--gpu", help="The GPU's name, where the file has none.")
@click.option("--gpus", type=click.IntRange(min=1), help="GPUs of a replica, where the file has none.")
@click.option("--engine", help="The engine's name, where the file has none.")
@click.option("--dtype", help="Of the weights, where the file has none.")
@click.option("--measured-at", help="ISO 8601, where the file has none.")
@click.option("--input-tokens", type=Finite(min=0, min_open=True), help="Tokens of a prompt, where the file has none.")
@click.option(
    "--output-tokens", type=Finite(min=0, min_open=True), help="Tokens of an answer, where the file has none."
)
@click.option(
    "--out", default=Path("curves"), show_default=True, type=click.Path(path_type=Path), help="Folder to write to."
)
def import_(format: str, file: Path, out: Path, **given: Any) -> None:
    """Read FILE of another tool and write one result file a setup, with its curve."""
    if out.exists() and not out.is_dir():
        raise CurveRefused("out", str(out), "is no folder")
    results = read_foreign(format, file, Given(**given))
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as closed:
        raise CurveRefused("out", str(out), closed.strerror or "can't be made") from closed
    for result in results:
        try:
            fitted, said = with_curve(result), "curve"
        except CurveRefused as refused:
            fitted, said = result, f"no curve: {refused}"
        if undated(result):
            said += ", date not stated: give --measured-at"
        path = out / f"{result.result_id.replace('/', '_')}.json"
        path.write_bytes(dump_result(fitted))
        click.echo(f"{path}: {len(result.points)} points, {len(result.served)} runs, {said}")


@curve.command("list", cls=_Refusing, epilog=_epilog("tokencogs curve list curves"))
@click.argument("folder", default=Path("curves"), type=click.Path(file_okay=False, path_type=Path))
@_API
@_KEY
def list_(folder: Path, api: str | None, key: str | None) -> None:
    """One line for each result file of FOLDER, or for each curve that the API knows."""
    if api is not None:
        if click.get_current_context().get_parameter_source("folder") is not ParameterSource.DEFAULT:
            raise CurveRefused("folder", str(folder), "with --api the curves are the API's: give one or the other")
        for row in listed(api, _key(key)):
            marks = [name for name in ("floor", "behaviour_changing", "shared") if row[name]]
            click.echo("  ".join([row["curve_id"], row["model"], row["gpu"], row["form"], row["measured_at"], *marks]))
        return
    if not folder.is_dir():
        raise CurveRefused("folder", str(folder), "there is no such folder; give one, or --api")
    for path in sorted(folder.glob("*.json")):
        try:
            result = read_result(path)
        except CurveRefused as refused:  # A grid, a study's report: what else lies there is no reason to show nothing.
            click.echo(f"{path.name}: no result file: {refused}", err=True)
            continue
        file = result.curve or {}
        marks = [name for name in ("floor", "behaviour_changing") if file.get(name)]
        marks += ["date not stated"] if undated(result) else []
        held = file.get("errors", {}).get("mape")
        error = "error not known" if held is None else f"held-out error {held:.1%}"
        shown = [result.result_id, result.model.name, result.device.gpu, file.get("form", "no curve"), error, *marks]
        click.echo("  ".join(shown))


@curve.command(cls=_Refusing, epilog=_epilog("tokencogs curve show curves/floor-Qwen3-8B-h200_sxm-bfloat16.json"))
@click.argument("file")
@_API
@_KEY
@_PRICE
@click.option("--context", type=click.IntRange(min=1), help="Tokens a sequence: say which batch is best there.")
@click.option("--ttft", type=Finite(min=0, min_open=True), help="Target of the first token, seconds.")
@click.option("--itl", type=Finite(min=0, min_open=True), help="Target between tokens, seconds.")
@_HTML
def show(
    file: str,
    api: str | None,
    key: str | None,
    gpu_price: float | None,
    context: int | None,
    ttft: float | None,
    itl: float | None,
    html: Path | None,
) -> None:
    """What the curve of FILE (with --api: of that id) answers, its errors, and what its points could not tell."""
    writable("html", html)
    for name, target in (("ttft", ttft), ("itl", itl)):
        if target is not None and context is None:
            raise CurveRefused(name, target, "a target goes with --context")
    result = _result(file, api, key)
    print_setup(result)
    if result.fit is not None:
        click.echo(f"model: {result.fit.chosen}")
        print_errors(result.fit)
        for name, why in result.fit.not_identified.items():
            click.echo(f"not identified: {name}: {why}")
    if result.curve is None:
        print_notes(result)
        click.echo("no curve: what was measured is not enough for one")
        if html is not None:
            raise CurveRefused("html", str(html), "a report needs a curve")
        return
    document = CurveDocument.of(result.curve)
    budget = result.engine.max_num_batched_tokens
    print_rows(rows_of(document, common_points([document]), gpu_price, result.device.count, budget))
    if context is not None:
        best, room = best_batch(document, context, ttft, itl, budget), achievable_batch(document, context)
        fits = "cache not stated" if room is None else f"{room} fit the cache"
        beyond = "  extrapolated" if unmeasured(document, context, best, ttft, budget) else ""
        click.echo(f"best batch at {context}: {'none holds the targets' if best is None else best} ({fits}){beyond}")
    print_use(result)
    print_notes(result)
    _write_html([(result, document)], html, gpu_price)


@curve.command(cls=_Refusing, epilog=_epilog("tokencogs curve compare curves/a.json curves/b.json --gpu-price 2.49"))
@click.argument("a")
@click.argument("b")
@_API
@_KEY
@_PRICE
@_HTML
def compare(a: str, b: str, api: str | None, key: str | None, gpu_price: float | None, html: Path | None) -> None:
    """A and B at the points that both measured: pace, dollars, room and quality, and B over A."""
    writable("html", html)
    pairs = [_read(a, api, key), _read(b, api, key)]
    points = common_points([document for _, document in pairs])
    contexts = sorted({context for _, context in points})
    tables = [
        rows_of(document, points, gpu_price, result.device.count, result.engine.max_num_batched_tokens)
        for result, document in pairs
    ]
    for (result, document), rows in zip(pairs, tables, strict=True):
        click.echo(result.result_id)
        print_rows(rows)
        for line in room_and_quality(result, document, contexts):
            click.echo(f"  {line}")
    click.echo(f"{pairs[1][0].result_id} over {pairs[0][0].result_id}")
    print_ratios(sides(*tables))
    for line in [
        *differing(*(result for result, _ in pairs)),
        *(f"{result.result_id}: date not stated" for result, _ in pairs if undated(result)),
        *(x for result, _ in pairs for x in warnings_of(result)),
    ]:
        click.echo(f"note: {line}")
    _write_html(pairs, html, gpu_price)


@curve.command(
    cls=_Refusing, epilog=_epilog("tokencogs curve served curves/served-C1.json curves/floor.json --gpu-price 6.98")
)
@click.argument("runs")
@click.argument("curve")
@_API
@_KEY
@_PRICE
def served(runs: str, curve: str, api: str | None, key: str | None, gpu_price: float | None) -> None:
    """How much of a served token's time CURVE explains, run by run of RUNS, and what its tokens cost: all on output, and shared.

    CURVE is of steps, and of the same setup: composed, or measured.
    """
    result, (other, document) = _result(runs, api, key), _read(curve, api, key)
    if result.device.count != other.device.count:
        raise CurveRefused(
            "gpus", other.device.count, f"the runs are of {result.device.count} GPUs: not the same setup"
        )
    price = None if gpu_price is None else gpu_price * result.device.count
    rows = beside(document, result.served, price)
    click.echo(f"{result.result_id} beside {other.result_id}")
    print_beside(rows)
    click.echo(f"note: {gap_note(rows)}")
    for line in differing(result, other):
        click.echo(f"note: {line}: not the same setup, so what the curve explains says little")
    if document.floor and price is not None:
        click.echo("note: prefill is a floor's, so input's part of the bill is rather too low and output's too high")


@curve.command(epilog=_epilog("tokencogs curve schema > result.schema.json"))
def schema() -> None:
    """The JSON Schema of result files."""
    click.echo(json.dumps(json_schema(), indent=1))


def _result(name: str, api: str | None, key: str | None) -> ResultFile:
    """A file's, or the API's by id."""
    if api is None and not Path(name).is_file():
        raise CurveRefused("file", name, "there is no such file; with --api a curve's id is expected")
    return read_result(Path(name)) if api is None else fetched(api, _key(key), name)


def _read(name: str, api: str | None, key: str | None) -> tuple[ResultFile, CurveDocument]:
    result = _result(name, api, key)
    if result.curve is None:
        raise CurveRefused("curve", None, f"{name} has samples but no curve")
    return result, CurveDocument.of(result.curve)


def _key(key: str | None) -> str:
    if not key:
        raise CurveRefused("key", key, "the API needs one: give --key or TOKENCOGS_API_KEY")
    return key


def _write_html(pairs: list[tuple[ResultFile, CurveDocument]], html: Path | None, gpu_price: float | None) -> None:
    if html is not None:
        from probe.curve.report import write_report  # noqa: PLC0415 (needs plotly)

        write_report(pairs, html, gpu_price)
        click.echo(f"wrote {html}")
