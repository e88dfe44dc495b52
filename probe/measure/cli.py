"""`tokencogs probe run` and `tokencogs probe drift`: measure a setup, and measure it again."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from tqdm import tqdm

from probe.curve.printing import print_errors
from probe.curve.schema import ResultFile, read_result
from probe.refusals import Finite, refusals
from probe.server.memory_options import memory_options
from probe.server.options import DTYPES, KV_CACHE_DTYPES, QUANTIZATIONS

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_OUT = click.Path(dir_okay=False, path_type=Path)
_ABOVE, _SHARE = Finite(min=0, min_open=True), Finite(0, 1, min_open=True)
_QUIET = "Others may take so much of the machine before a sample is out."
_PACE = "So much slower than beside its quicker visits may the machine itself be before one is out; 0: its pace isn't asked."
_COUNT = click.IntRange(min=1)
_RUN = """\b
Example:
  tokencogs probe run --model Llama-248M --scale 0.5 --grid auto --budget 10 --out curves/llama.json
  tokencogs curve show curves/llama.json
  tokencogs probe push curves/llama.json

\b
A grid file: {"batch": [1, 4, 16], "context": [64, 256, 1024], "ragged": [[4, 256]],
  "prefill_new": [16, 256], "prefill_cached": [0, 256], "mixed": [[4, 256, 128, 0]]}"""


@click.command("run", epilog=_RUN)
@click.option("--model", required=True, help="A folder with config.json, or the name of a public architecture.")
@click.option("--engine", default="builtin", type=click.Choice(["builtin"]), help="Whose loop is timed.")
@click.option("--grid", default="auto", show_default=True, help="auto, or a JSON file of what to measure.")
@click.option("--budget", default=10.0, show_default=True, type=_ABOVE, help="Minutes of measuring.")
@click.option("--target", default=0.05, show_default=True, type=_SHARE, help="Held-out error to stop at.")
@click.option("--rounds", default=3, show_default=True, type=_COUNT, help="Interleaved rounds of each stage.")
@click.option(
    "--retries",
    default=2,
    show_default=True,
    type=click.IntRange(min=0),
    help="Of a contaminated visit, after its stage's others.",
)
@click.option("--steps", default=9, show_default=True, type=_COUNT, help="Timed steps a visit, an odd number.")
@click.option("--warm-up", default=2, show_default=True, type=_COUNT, help="Untimed steps before them, each visit.")
@click.option(
    "--quiet-share",
    default=0.05,
    show_default=True,
    type=_SHARE,
    help=_QUIET,
)
@click.option("--pace-share", default=0.1, show_default=True, type=Finite(min=0), help=_PACE)
@click.option(
    "--keep-contaminated",
    is_flag=True,
    help="On a busy machine: a shape that was never measured alone has a point of its disturbed samples, marked as such.",
)
@click.option(
    "--replay",
    "replay_seconds",
    default=10.0,
    show_default=True,
    type=Finite(min=0),
    help="Seconds of each end-to-end replay; 0: none.",
)
@click.option("--replay-list", default=None, type=_FILE, help="JSON list of [seconds, input, output tokens] to replay.")
@click.option("--scale", default=1.0, show_default=True, help="Shrinks every width; random weights only.")
@click.option("--seed", default=0, show_default=True, help="Of weights, prompts and the order of visits.")
@click.option("--dtype", default="bfloat16", show_default=True, type=click.Choice(DTYPES))
@click.option("--device", default=None, help="cpu or cuda. Default: cuda where there is one.")
@click.option("--threads", default=None, type=_COUNT, help="Of torch on a CPU. Default: torch's own.")
@click.option(
    "--quantization",
    default="none",
    show_default=True,
    type=click.Choice(QUANTIZATIONS),
    help="Of weights; the answers change with it.",
)
@click.option(
    "--kv-cache-dtype", default="auto", show_default=True, type=click.Choice(KV_CACHE_DTYPES), help="Of the KV."
)
@click.option("--block-size", default=16, show_default=True, type=_COUNT, help="Tokens a KV block.")
@memory_options
@click.option("--max-model-len", default=4096, show_default=True, type=_COUNT, help="Prompt and output at most.")
@click.option("--max-num-seqs", default=64, show_default=True, type=_COUNT, help="Requests running at once at most.")
@click.option("--max-num-batched-tokens", default=2048, show_default=True, type=_COUNT, help="Tokens a step at most.")
@click.option("--out", default=Path("curve.json"), show_default=True, type=_OUT, help="Result file.")
def run_command(out: Path, **values: Any) -> None:
    """Sweep a model on the probe's own engine, fit a curve to it, and write the result file.

    A journal beside the result file has every visit on disk before the next begins: a run that was killed goes on when the same
    command is given again. Ctrl-C writes what has been measured.
    """
    with refusals():
        from probe.measure.job import run_job  # noqa: PLC0415 (needs torch)

        result = run_job(values, out, _bar())
    _show(result)
    click.echo(f"wrote {out}")


@click.command("drift", epilog="\b\nExample:\n  tokencogs probe drift curves/llama.json --rounds 5")
@click.argument("file", type=_FILE)
@click.option("--rounds", default=5, show_default=True, type=click.IntRange(min=2), help="Interleaved rounds.")
@click.option("--tolerance", default=0.02, show_default=True, type=_SHARE, help="Changes below it are no drift.")
@click.option("--seed", default=1, show_default=True, help="Of prompts, order and the interval.")
@click.option("--quiet-share", default=0.05, show_default=True, type=_SHARE, help=_QUIET)
@click.option("--pace-share", default=0.1, show_default=True, type=Finite(min=0), help=_PACE)
@click.option("--other-device", is_flag=True, help="Compare although this device isn't the one of the curve.")
def drift_command(file: Path, **values: Any) -> None:
    """Measure the reference points of the curve in FILE again: has its cost moved, and by how much?

    Exit code 1: it moved.
    """
    with refusals():
        from probe.measure.drift import Again, check  # noqa: PLC0415 (needs torch)

        found = check(read_result(file), Again(**values))
    for line in found.lines():
        click.echo(line)
    if found.moved:
        sys.exit(1)


def _bar() -> Callable[[Any], None]:
    """Progress of each stage on stderr."""
    bar: dict[int, tqdm[Any]] = {}

    def say(step: Any) -> None:
        if step.stage not in bar:
            for old in bar.values():
                old.close()
            bar[step.stage] = tqdm(total=step.planned, desc=f"stage {step.stage}", unit="visit", file=sys.stderr)
        now = bar[step.stage]
        now.update(step.done - now.n)
        now.set_postfix_str(step.shape.name)

    return say


def _show(result: ResultFile) -> None:
    click.echo(f"{result.result_id}: {result.model.name} on {result.device.gpu}")
    if result.fit is None:
        return
    click.echo(f"{len(result.points)} shapes, {len(result.samples)} samples, model {result.fit.chosen}")
    print_errors(result.fit)
    for name, why in result.fit.not_identified.items():
        click.echo(f"not identified: {name}: {why}")
    for note in result.fit.notes:
        click.echo(f"note: {note}")
