"""`tokencogs probe study NAME`: a ready-made experiment with its verdict and interval."""

from __future__ import annotations

from pathlib import Path

import click

from probe.refusals import refusals, writable
from probe.study.names import NAMES

_EPILOG = """\b
Example:
  tokencogs probe study batching --rounds 9 --out batching.json"""


@click.command("study", epilog=_EPILOG)
@click.argument("name", type=click.Choice(NAMES))
@click.option(
    "--rounds", default=7, show_default=True, type=click.IntRange(min=2), help="Paired measurements of each claim."
)
@click.option(
    "--size",
    default=None,
    type=click.Choice(["cpu", "gpu", "tiny"]),
    help="Of models and contexts. Default: the device's.",
)
@click.option("--device", default=None, help="cpu or cuda. Default: cuda where there is one.")
@click.option("--seed", default=0, show_default=True, help="Of weights, prompts and acceptance.")
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), help="Also write the report with its raw rounds as JSON."
)
def study_command(
    name: str, rounds: int, size: str | None, device: str | None, seed: int, out: Path | None
) -> None:  # fmt: skip
    """Measure whether a rule of thumb about serving holds on this machine.

    Two arms are measured one after the other in every round, so that a slow minute hits both; a claim holds where the 95 % interval of
    their ratio lies wholly on its side.
    """
    writable("out", out)
    with refusals():
        import torch  # noqa: PLC0415 (an extra)

        from probe.study.studies import run_study  # noqa: PLC0415 (needs torch)

        on = device or ("cuda" if torch.cuda.is_available() else "cpu")
        report = run_study(name, size or ("cpu" if on == "cpu" else "gpu"), rounds, device=on, seed=seed, say=_progress)
    click.echo(report.text())
    if out is not None:
        out.write_text(report.json(), encoding="utf-8")
        click.echo(f"wrote {out}")


def _progress(line: str) -> None:
    click.echo(line, err=True)
