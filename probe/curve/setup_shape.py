"""What is the shape of a result's model, how wide are its numbers, and how much cache does its replica hold?"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from probe.curve.architecture import Architecture, Latent
from probe.curve.errors import CurveRefused
from probe.curve.limits import Ceiling
from probe.curve.schema import ResultFile
from probe.engine.models.config import ModelConfig

_BYTES = {
    4.0: ("float32", "fp32"),
    2.0: ("bfloat16", "bf16", "float16", "fp16", "half"),
    1.0: ("int8", "w8a8", "fp8", "fp8_block", "fp8_e4m3", "fp8_e5m2"),
    0.5: ("int4", "w4a16", "fp4", "nvfp4", "mxfp4"),
}
PLAIN = (*_BYTES[4.0], *_BYTES[2.0])
"""Names of dtypes that nothing was quantised to."""
_WIDTH = {name: width for width, names in _BYTES.items() for name in names}
_FIELDS = (
    "num_hidden_layers",
    "hidden_size",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "intermediate_size",
    "vocab_size",
)


_MOST = 1 << 40


@dataclass(frozen=True)
class Shape:
    """As in a result file's model. Attributes: fields: config.json's numbers, experts among them."""

    fields: dict[str, Any] = field(default_factory=dict)
    attention: Literal["mha", "gqa", "mqa", "mla"] | None = None
    sliding_window: int | None = None


def shape_in_file(config: ModelConfig) -> Shape:
    """What a result file says of a model's shape; the attention's name goes by how many query heads share a key head."""
    parts = [asdict(part) for part in (config, config.routed, config.mla) if part is not None]
    numbers = {key: value for part in parts for key, value in part.items() if isinstance(value, int | float | str)}
    if config.routed is not None:
        numbers["dense_layers"] = sum(not has for has in config.routed.layers)
        numbers["dense_intermediate_size"] = config.intermediate_size
    windows = [window for window in config.windows if window is not None]
    if windows:
        numbers["windowed_layers"] = len(windows)
    return Shape(numbers, _attention(config), min(windows) if windows else None)


def _attention(config: ModelConfig) -> Literal["mha", "gqa", "mqa", "mla"]:
    if config.mla is not None:
        return "mla"
    if config.num_key_value_heads == config.num_attention_heads:
        return "mha"
    return "mqa" if config.num_key_value_heads == 1 else "gqa"


def shape_of(result: ResultFile) -> Architecture | None:
    """From the architecture's own fields; None where one is missing."""
    known, window = result.model.architecture, result.model.sliding_window
    if any(not known.get(name) for name in (*_FIELDS, *(["windowed_layers"] if window else []))):
        return None
    latent = _latent(known) if result.model.attention == "mla" else None
    if result.model.attention == "mla" and latent is None:
        return None
    layers, hidden, heads, kv_heads, head_dim, ffn, vocab = (_whole(known, name) for name in _FIELDS)
    return Architecture(
        name=result.model.name,
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        ffn=_whole(known, "moe_intermediate_size") or ffn,
        vocab=vocab,
        experts=_whole(known, "num_experts"),
        experts_per_token=_whole(known, "num_experts_per_tok"),
        tied=bool(known.get("tie_word_embeddings")),
        shared=_whole(known, "n_shared_experts"),
        dense_layers=_whole(known, "dense_layers"),
        dense_ffn=_whole(known, "dense_intermediate_size"),
        latent=latent,
        window=window or 0,
        windowed_layers=_whole(known, "windowed_layers") if window else 0,
    )


def _latent(known: dict[str, Any]) -> Latent | None:
    """None where a field is missing; queries that are not compressed have none of theirs."""
    names = ("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
    if any(not known.get(name) for name in names):
        return None
    kv_rank, nope, rope, value = (_whole(known, name) for name in names)
    return Latent(_whole(known, "q_lora_rank"), kv_rank, nope, rope, value)


def _whole(known: dict[str, Any], name: str) -> int:
    """A number of config.json; 0 where it isn't there."""
    value = known.get(name) or 0
    if not isinstance(value, int) or not 0 <= value < _MOST:
        raise CurveRefused(f"model.architecture.{name}", value, "a whole number is expected")
    return value


def widths(result: ResultFile) -> tuple[float, float] | None:
    """Bytes of a weight and of a cached number; None where the dtype, or what it was quantised to, is not known."""
    quantised = result.model.quantization
    weight = _WIDTH.get((result.model.dtype if quantised in (None, "none") else quantised) or "")
    kv = result.engine.kv_cache_dtype
    cached = _WIDTH.get(result.model.dtype or "") if kv in (None, "auto") else _WIDTH.get(kv)
    return None if weight is None or cached is None else (weight, cached)


def peak_of(result: ResultFile) -> Ceiling | None:
    """Nominal peaks of all devices of the replica; None where their bandwidth is not stated."""
    device = result.device
    if not device.peak_bytes_per_second:
        return None
    flops = device.peak_flops * device.count if device.peak_flops else None
    return Ceiling(device.peak_bytes_per_second * device.count, flops)


def measured_of(result: ResultFile) -> Ceiling | None:
    """What own stream and GEMM tests reached; None where they were not run."""
    device = result.device
    if not device.measured_bytes_per_second or not device.measured_flops:
        return None
    return Ceiling(device.measured_bytes_per_second * device.count, device.measured_flops * device.count)


def memory_of(result: ResultFile) -> dict[str, Any] | None:
    """The curve file's part on the KV cache; None where bytes, blocks, shape or width are not known."""
    shape, width = shape_of(result), widths(result)
    if shape is None or width is None or not result.device.kv_bytes or not result.engine.block_size:
        return None
    parallel = result.engine.tensor_parallel
    layer = {"bytes_per_token": shape.kv_bytes_per_token(width[1]) // shape.layers}
    full = shape.layers - shape.windowed_layers
    groups = [{"layers": full, **layer}] if full else []
    if shape.windowed_layers:
        groups.append({"layers": shape.windowed_layers, **layer, "window": shape.window})
    return {
        "kv_bytes": result.device.kv_bytes,
        "block_size": result.engine.block_size,
        "groups": groups,
        # A latent has no heads to divide: every rank holds all of it.
        "replication": parallel if shape.latent is not None else max(1, parallel // shape.kv_heads),
    }
