"""How does a curve reach the books? `POST /v1/curves`, the rest of the result file beside it as its source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec

from probe.curve.remote import answered
from probe.curve.schema import ResultFile, read_result
from probe.engine.errors import ProbeError
from probe.fit.result import with_curve


def body_of(result: ResultFile) -> dict[str, Any]:
    """The curve file with what it was made from under `source`; samples one by one stay at home. Fitted first where it isn't."""
    fitted = result if result.curve is not None else with_curve(result)
    source = msgspec.to_builtins(msgspec.structs.replace(fitted, curve=None, samples=[]))
    return {**(fitted.curve or {}), "source": source}


def push(result: ResultFile, url: str, key: str) -> dict[str, Any]:
    """Sends it and returns the answer. Raises CurveRefused with the server's own words."""
    return answered("POST", url, key, "/v1/curves", json=body_of(result))


@click.command(
    "push", epilog="\b\nExample:\n  tokencogs probe push curves/qwen3-8b-h200.json --url http://127.0.0.1:8000"
)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--url", default="http://127.0.0.1:8000", show_default=True, help="Where `tokencogs serve` listens.")
@click.option("--key", envvar="TOKENCOGS_API_KEY", required=True, help="An admin key; or TOKENCOGS_API_KEY.")
def push_command(file: Path, url: str, key: str) -> None:
    """Send the curve of the result file FILE to the API."""
    try:
        answer = push(read_result(file), url, key)
    except ProbeError as refused:
        raise click.ClickException(" ".join(str(refused).split())) from refused
    click.echo(f"{answer['curve_id']}: {'recorded' if answer['created'] else 'was there already'}")
