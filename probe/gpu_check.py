"""`python -m probe.gpu_check`: is the engine right on this GPU, and how fast is a decode step of an 8B-shaped model on it?

Written for one H200 and under ten minutes: correctness of every backend, then the decode grid with and without CUDA graphs beside a
measured copy and beside a curve composed from kernel tables; FlashInfer last, for it may compile its kernels first. Prints one JSON object
at the end, and each part on stderr once it is known; a part that crashes is a finding. Exit code 1 where something is wrong.

    python -m probe.gpu_check > h200.json
    TRITON_INTERPRET=1 python -m probe.gpu_check --device cpu --tiny
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import torch

from probe.engine.attention.choose import attention_backend
from probe.engine.attention.dense import DenseAttention
from probe.engine.errors import ProbeError
from probe.engine.interfaces import AttentionBackend
from probe.engine.linear import linear_factory
from probe.engine.models.config import ModelConfig
from probe.engine.models.hf_config import parse_config
from probe.engine.models.model import Model
from probe.engine.models.presets import PRESETS
from probe.engine.models.weights import RandomWeights
from probe.engine.runner import Forward
from probe.gpu.correctness import check_attention, check_linears
from probe.gpu.decode_grid import measure_grid, streamed_bytes
from probe.gpu.device import about, copy_bandwidth
from probe.gpu.replay import check_replay

MODEL = "Qwen3-8B"
TINY = {
    "num_hidden_layers": 2,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "intermediate_size": 192,
    "vocab_size": 512,
}
# Step of Qwen3-8B in bf16 on an H200, in ms: t_w + a * batch + c * batch * context, composed from aiconfigurator's kernel tables
# (vLLM 0.24). A floor: no norms, no sampling, no launch gaps.
FLOOR_MS = (4.93, 0.0094, 3.41e-5)
KEPT_FREE = 0.08  # of the device's memory: activations, graphs, fragmentation


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    device = torch.device(options.device)
    dtype = torch.float32 if device.type == "cpu" else torch.bfloat16
    deadline = time.monotonic() + options.seconds
    result: dict[str, Any] = {}

    def note(part: str, found: Any) -> Any:
        result[part] = found
        print(json.dumps({part: found}), file=sys.stderr, flush=True)
        return found

    note("about", about(device) | {"model": MODEL, "tiny": options.tiny, "dtype": str(dtype)})
    copied = note("copy_gb_s", copy_bandwidth(device, 16 << 20 if options.tiny else 4 << 30))
    note("attention", check_attention(_backends(device, dtype), device, dtype, small=options.tiny))
    note("graphs", [_replay(device, dtype)])
    note("linears", check_linears(device, torch.bfloat16))
    model = _model(parse_config(PRESETS[MODEL] | (TINY if options.tiny else {})), device, dtype)
    note("streamed_bytes", streamed_bytes(model))
    grid = measure_grid(model, _ways(model), options.batches, options.contexts, _kv_budget(model), deadline)
    note("decode", [row | _beside(row, copied, None if options.tiny else FLOOR_MS) for row in grid])
    flashinfer = (
        {"flashinfer": lambda: attention_backend("flashinfer", dtype, device)} if time.monotonic() < deadline else {}
    )
    note("flashinfer", check_attention(flashinfer, device, dtype, small=options.tiny))
    print(json.dumps(result, indent=2))
    findings = [one for part in ("attention", "graphs", "linears", "decode", "flashinfer") for one in result[part]]
    wrong = [finding for finding in findings if finding.get("ok") is False]
    for finding in wrong:
        print(f"wrong: {finding}", file=sys.stderr)
    return 1 if wrong else 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m probe.gpu_check", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--tiny", action="store_true", help="a model of 2 layers in fp32, for a machine without a GPU")
    parser.add_argument("--batches", type=_numbers, default=None, help="default 1,8,32,128; tiny: 1,2")
    parser.add_argument("--contexts", type=_numbers, default=None, help="default 512,2048,8192; tiny: 16,40")
    parser.add_argument("--seconds", type=float, default=420.0, help="no cell of the grid begins later than this")
    options = parser.parse_args(arguments)
    options.batches = options.batches or ([1, 2] if options.tiny else [1, 8, 32, 128])
    options.contexts = options.contexts or ([16, 40] if options.tiny else [512, 2048, 8192])
    return options


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _backends(device: torch.device, dtype: torch.dtype) -> dict[str, Callable[[], AttentionBackend]]:
    """Our own backends; one that can't run here says why when it is made."""
    made: dict[str, Callable[[], AttentionBackend]] = {
        "dense": DenseAttention,
        "triton": lambda: attention_backend("triton", dtype, device),
    }
    return made if device.type == "cuda" else {**made, "torch": lambda: attention_backend("torch", dtype, device)}


def _replay(device: torch.device, dtype: torch.dtype) -> dict[str, Any]:
    """On a model of two layers; on a CPU nothing is recorded, the graph's buffers are computed on."""
    try:
        backend = attention_backend("triton", dtype, device)
    except ProbeError as refused:
        return {"backend": "graphs", "refused": str(refused)}
    config = parse_config(PRESETS[MODEL] | TINY)
    weights = RandomWeights(config, 0, dtype, device)
    return check_replay(Model(config, weights, linear_factory("none", device), backend, dtype=dtype, device=device))


def _model(config: ModelConfig, device: torch.device, dtype: torch.dtype) -> Model:
    """Random weights; the Triton backend on a GPU, torch's on a CPU."""
    backend = attention_backend("triton" if device.type == "cuda" else "torch", dtype, device)
    weights = RandomWeights(config, 0, dtype, device)
    return Model(
        config, weights, linear_factory("none", device), backend, dtype=dtype, device=device, max_model_len=16384
    )


def _ways(model: Model) -> dict[str, Forward]:
    if model.device.type != "cuda":
        return {"launched": model.forward}
    from probe.engine.graphs import GraphedModel  # noqa: PLC0415

    return {"launched": model.forward, "graphs": GraphedModel(model).forward}


def _kv_budget(model: Model) -> int:
    """Bytes that weights and what is kept free leave."""
    if model.device.type != "cuda":
        return 1 << 28
    torch.cuda.empty_cache()  # what the allocator keeps of the loading is free, and would be counted as in use
    free, total = torch.cuda.mem_get_info(model.device)
    return int(free - KEPT_FREE * total)


def _beside(row: dict[str, Any], copied: float, floor: tuple[float, float, float] | None) -> dict[str, Any]:
    """The row's bandwidth as a share of the copy's, and its time as a multiple of the composed floor."""
    if "achieved_gb_s" not in row:
        return {}
    result = {"of_copy": row["achieved_gb_s"] / copied}
    if floor is not None:
        fixed, each, context = floor
        result["floor_ms"] = fixed + each * row["batch"] + context * row["batch"] * row["ctx"]
        result["of_floor"] = row["step_ms_median"] / result["floor_ms"]
    return result


if __name__ == "__main__":
    sys.exit(main())
