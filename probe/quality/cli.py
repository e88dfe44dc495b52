"""`tokencogs probe quality`: how far do quantised weights or cache move a model's answers?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec

from probe.curve.compare import quality_text
from probe.curve.schema import Quality, ResultFile, dump_result, read_result
from probe.refusals import refusals
from probe.server.options import DTYPES, KV_CACHE_DTYPES, QUANTIZATIONS, ServeOptions

_EPILOG = """\b
Example:
  tokencogs probe quality models/llama-1b --quantization int8 --result curves/llama-1b-int8.json"""
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("quality", epilog=_EPILOG)
@click.argument("model")
@click.option(
    "--quantization",
    default="none",
    show_default=True,
    type=click.Choice(QUANTIZATIONS),
    help="Of weights.",
)
@click.option(
    "--kv-cache-dtype",
    default="auto",
    show_default=True,
    type=click.Choice(KV_CACHE_DTYPES),
    help="Of the cache.",
)
@click.option(
    "--dtype",
    default="bfloat16",
    show_default=True,
    type=click.Choice(DTYPES),
    help="Of the unquantised model.",
)
@click.option("--device", default=None, help="cpu or cuda. Default: cuda where there is one.")
@click.option("--tokens", type=_FILE, help="A JSON list of lists of token ids. Default: this package's own text.")
@click.option("--result", type=_FILE, help="A result file of that setup, to write the figures into.")
def quality_command(model: str, tokens: Path | None, result: Path | None, **options: Any) -> None:
    """Compare MODEL, quantised, with itself unquantised on a fixed set of tokens.

    KL divergence (mean, 99th percentile), how often the likeliest token is another one, and the ratio of perplexities. MODEL is a folder
    with config.json and safetensors; random weights have no answers to move, and nothing is said of them. A small KL is no proof
    that a workload's answers are as good: evaluate it.
    """
    with refusals():
        if result is not None:
            _same_setup(read_result(result), options)
        found = _measured(model, tokens, options)
        if result is not None:
            result.write_bytes(dump_result(_with_quality(read_result(result), found)))
    random_weights = found.kl_mean is None
    where = "" if random_weights else f" (KL in nats, {found.tokens} tokens of {found.token_set})"
    click.echo(quality_text(found, random_weights) + where)
    if result is not None:
        click.echo(f"wrote {result}")


def _measured(model: str, tokens: Path | None, options: dict[str, Any]) -> Quality:
    from probe.quality.compare import compare, has_real_weights  # noqa: PLC0415 (needs torch)
    from probe.quality.errors import QualityRefused  # noqa: PLC0415
    from probe.quality.tokens import TokenSet, from_file, own_prose  # noqa: PLC0415

    tokenizer = Path(model) / "tokenizer.json"
    if tokens is not None:
        chosen = from_file(tokens)
    elif tokenizer.exists():
        chosen = own_prose(tokenizer)
    elif has_real_weights(model):
        raise QualityRefused("tokens", None, f"{tokenizer} is not there: give --tokens")
    else:
        chosen = TokenSet("none", [])
    return compare(ServeOptions(model, **options), chosen)


def _same_setup(result: ResultFile, options: dict[str, Any]) -> None:
    """Figures of int8 weights are none of another setup's."""
    from probe.quality.errors import QualityRefused  # noqa: PLC0415 (needs torch)

    stated = {
        "quantization": result.model.quantization or "none",
        "kv_cache_dtype": result.engine.kv_cache_dtype or "auto",
    }
    for name, value in stated.items():
        if options[name] != value:
            raise QualityRefused(name, options[name], f"{result.result_id} is of {value}")


def _with_quality(result: ResultFile, found: Quality) -> ResultFile:
    """The file with the figures; a curve that it had carries them too."""
    changed = msgspec.structs.replace(result, quality=found)
    if result.curve is None:
        return changed
    return msgspec.structs.replace(changed, curve={**result.curve, "kl_divergence": found.kl_mean})
