"""`tokencogs probe serve`: how does the engine run as an OpenAI-compatible server?"""

from __future__ import annotations

import signal
import socket
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import click
import uvicorn

from probe.refusals import refusals
from probe.server.memory_options import memory_options
from probe.server.options import DTYPES, KV_CACHE_DTYPES, POLICIES, QUANTIZATIONS, ServeOptions

_EPILOG = """\b
Example:
  tokencogs probe serve Llama-3.1-8B --scale 0.05 --dtype float32 --port 8001

\b
Then:
  curl -s http://127.0.0.1:8001/v1/completions -H 'content-type: application/json' \\
       -d '{"prompt": [1, 2, 3], "max_tokens": 4, "temperature": 0, "ignore_eos": true}'"""
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_COUNT = click.IntRange(min=1)


@click.command(epilog=_EPILOG)
@click.argument("model")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", default=8001, show_default=True, type=click.IntRange(0, 65535), help="Port; 0 takes a free one."
)
@click.option("--served-model-name", default=None, help="The model's name in requests. Default: MODEL.")
@click.option(
    "--scale", default=1.0, show_default=True, help="Shrinks every width by this factor; random weights only."
)
@click.option("--seed", default=0, show_default=True, help="Of random weights and of sampling.")
@click.option(
    "--dtype",
    default="bfloat16",
    show_default=True,
    type=click.Choice(DTYPES),
    help="Of weights and KV.",
)
@click.option("--device", default=None, help="cpu or cuda. Default: cuda where there is one.")
@click.option(
    "--quantization",
    default="none",
    show_default=True,
    type=click.Choice(QUANTIZATIONS),
    help="Of weights; the answers change with it.",
)
@click.option(
    "--kv-cache-dtype",
    default="auto",
    show_default=True,
    type=click.Choice(KV_CACHE_DTYPES),
    help="Of the KV cache; auto: that of the weights.",
)
@click.option("--block-size", default=16, show_default=True, type=_COUNT, help="Tokens a KV block.")
@memory_options
@click.option("--max-model-len", default=4096, show_default=True, type=_COUNT, help="Prompt and output at most.")
@click.option("--max-num-seqs", default=64, show_default=True, type=_COUNT, help="Requests running at once at most.")
@click.option("--max-num-batched-tokens", default=2048, show_default=True, type=_COUNT, help="Tokens a step at most.")
@click.option(
    "--policy",
    default="decode_first",
    show_default=True,
    type=click.Choice(POLICIES),
    help="Who takes a step's tokens first.",
)
@click.option("--no-enable-prefix-caching", is_flag=True, help="Compute every prompt anew.")
@click.option(
    "--speculative-method",
    default="none",
    show_default=True,
    type=click.Choice(["none", "ngram", "draft_model", "random"]),
    help="Who proposes tokens; random: for timing, with --synthetic-acceptance.",
)
@click.option("--speculative-model", default=None, help="The draft model: a preset or a folder.")
@click.option("--num-speculative-tokens", default=4, show_default=True, type=_COUNT, help="Tokens proposed a step.")
@click.option(
    "--synthetic-acceptance",
    default=None,
    help="Keep drafts at these rates (0.8,0.6,...: by position), whatever the models say. The output means nothing.",
)
@click.option(
    "--tokenizer", default=None, type=_FILE, help="A tokenizer.json. Default: that of MODEL's folder, if any."
)
@click.option(
    "--ledger", default=None, type=click.Path(path_type=Path), help="Arrow file for the step ledger; a new one."
)
def serve(**values: Any) -> None:
    """Serve MODEL over an OpenAI-compatible HTTP API until Ctrl-C.

    MODEL is a folder with config.json (and safetensors, else random weights), or the name of a public architecture, which gets
    seeded random weights: nothing is downloaded. Routes: /v1/completions, /v1/chat/completions, /v1/models, /metrics, /health.
    Prompts of token ids need no tokenizer.
    """
    # uvicorn drains, then raises the signal again for the handler that was there before: this one ends with 0.
    signal.signal(signal.SIGTERM, _leave)
    host, port = values.pop("host"), values.pop("port")
    with refusals():
        options = ServeOptions.of(values)
        from probe.server.build import build  # noqa: PLC0415 (needs torch)

        app = build(options)
    server = _Server(uvicorn.Config(app, host=host, port=port, log_config=None, access_log=False))
    try:
        server.run()
    except KeyboardInterrupt:
        sys.exit(0)
    if not server.started:
        sys.exit(1)


class _Server(uvicorn.Server):
    """Says where it listens once it does."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for server in self.servers if self.started else []:
            for listener in server.sockets:
                host, port = listener.getsockname()[:2]
                shown = f"[{host}]" if ":" in host else host
                click.echo(f"tokencogs probe serves http://{shown}:{port} (API docs: http://{shown}:{port}/docs)")


def _leave(_signal: int, _frame: FrameType | None) -> None:
    sys.exit(0)
