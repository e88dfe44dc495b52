"""`tokencogs probe http`: what does a server behind a URL take, measured from outside?"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

import click

from probe.curve.printing import print_errors
from probe.curve.schema import dump_result
from probe.engine.errors import ProbeError
from probe.http.dialects import DIALECTS
from probe.http.plan import Plan, Setup
from probe.http.sweep import probe_http
from probe.refusals import Finite

_EPILOG = """\b
Example:
  tokencogs probe http http://127.0.0.1:8001 --gpu "NVIDIA H200" --concurrency 1,4,16 --input-tokens 256,1024 --out http.json"""


class _Numbers(click.ParamType[Any]):
    """Numbers with commas between them."""

    name = "numbers"

    def __init__(self, kind: type[int] | type[float]) -> None:
        self.kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[Any, ...]:
        if isinstance(value, tuple):
            return value
        try:
            return tuple(self.kind(part) for part in str(value).split(",") if part.strip())
        except ValueError:
            self.fail(f"{value!r} is no list of numbers with commas between them", param, ctx)


def _writable(out: Path) -> None:
    """Said before minutes of measuring, not after."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as closed:
        raise click.ClickException(f"out={str(out)!r}: {closed.strerror}") from closed
    if not os.access(out if out.exists() else out.parent, os.W_OK):
        raise click.ClickException(f"out={str(out)!r}: can't be written")


@click.command("http", epilog=_EPILOG)
@click.argument("url")
@click.option("--gpu", required=True, help="The device's name: a server does not say it.")
@click.option("--gpus", default=1, show_default=True, type=click.IntRange(min=1), help="Devices of the replica.")
@click.option("--dtype", help="Of the weights, for the result file.")
@click.option("--quantization", help="Of the weights, for the result file.")
@click.option("--kv-cache-dtype", help="Of the KV cache, for the result file.")
@click.option(
    "--server",
    default="auto",
    show_default=True,
    type=click.Choice(["auto", *DIALECTS]),
    help="Which dialect it speaks.",
)
@click.option("--model", help="The model's name in requests. Default: the first that the server lists.")
@click.option(
    "--architecture",
    help="A public architecture's name or a config.json: for experts, cache and ceilings, which a server does not state.",
)
@click.option("--key", envvar="OPENAI_API_KEY", help="Sent as a bearer token; or OPENAI_API_KEY.")
@click.option(
    "--concurrency",
    default="1,2,4,8,16",
    show_default=True,
    type=_Numbers(int),
    help="Requests kept in flight; 1 is always measured.",
)
@click.option(
    "--input-tokens", default="128,512,1024", show_default=True, type=_Numbers(int), help="Lengths of prompts."
)
@click.option("--output-tokens", default=32, show_default=True, type=click.IntRange(min=4), help="Of every request.")
@click.option(
    "--requests",
    "each",
    default=2,
    show_default=True,
    type=click.IntRange(min=1),
    help="Of each user in each round, beside the one that warms up.",
)
@click.option(
    "--rounds", default=3, show_default=True, type=click.IntRange(min=1), help="How often the grid is gone through."
)
@click.option(
    "--rate", "rates", default=(), type=_Numbers(float), help="Also arrivals by chance, so many a second (Poisson)."
)
@click.option(
    "--duration",
    default=30.0,
    show_default=True,
    type=Finite(min=0, min_open=True),
    help="Seconds of each rate.",
)
@click.option(
    "--vocabulary",
    default=1000,
    show_default=True,
    type=click.IntRange(min=16),
    help="Token ids of prompts are below it.",
)
@click.option(
    "--seed",
    default=lambda: secrets.randbelow(2**31),
    show_default="drawn anew",
    type=click.IntRange(min=0),
    help="Of prompts and arrivals. The same again finds its prompts in the server's cache.",
)
@click.option(
    "--out",
    default=Path("http.json"),
    show_default=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="The result file.",
)
def http_command(
    url: str, out: Path, gpu: str, gpus: int, dtype: str | None, quantization: str | None, kv_cache_dtype: str | None,
    server: str, architecture: str | None, model: str | None, key: str | None, **asked: Any,
) -> None:  # fmt: skip
    """Measure the server at URL (http://HOST:PORT, with or without /v1) from outside and fit a curve to it.

    Works with this project's server, vLLM, SGLang, llama.cpp, llama-cpp-python, TGI and others that speak OpenAI's completions. Every
    prompt is new, every output of the same length; what a cache held, outputs of another length and a client that was too slow are
    counted, marked and left out.
    """
    _writable(out)
    setup = Setup(gpu, gpus, dtype, quantization, kv_cache_dtype, server, model, architecture)
    try:
        result = probe_http(url, Plan(**asked), setup, key=key, say=lambda line: click.echo(line, err=True))
    except ProbeError as refused:
        raise click.ClickException(" ".join(str(refused).split())) from refused
    out.write_bytes(dump_result(result))
    assert result.fit is not None
    print_errors(result.fit)
    for line in result.fit.notes:
        click.echo(f"note: {line}")
    said = "with its curve" if result.curve is not None else "without a curve"
    click.echo(f"{out}: {len(result.points)} points, {len(result.served)} loads, {said}")
