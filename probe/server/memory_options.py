"""Which options say what a GPU holds and how its steps run? `probe serve` and `probe run` have the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from probe.server.options import ATTENTION_BACKENDS

_OPTIONS = (
    click.option(
        "--kv-cache-memory-bytes",
        default=None,
        type=click.IntRange(min=1),
        help="Budget of the KV cache. Default: on a GPU what --gpu-memory-utilization leaves, on a CPU 1 GiB.",
    ),
    click.option(
        "--gpu-memory-utilization",
        default=None,
        type=float,
        help="Share of a GPU's memory that weights and KV cache may take. Default: 0.9 of a GPU; refused on a CPU.",
    ),
    click.option(
        "--attention-backend",
        default="auto",
        show_default=True,
        type=click.Choice(ATTENTION_BACKENDS),
        help="auto: torch's on a CPU; on a GPU FlashInfer's where it is installed and can run the model, else Triton's.",
    ),
    click.option(
        "--cuda-graphs",
        is_flag=True,
        help="Replay decode steps from CUDA graphs; models without experts, on a GPU alone. Not measured yet.",
    ),
)


def memory_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with these options, in this order."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
