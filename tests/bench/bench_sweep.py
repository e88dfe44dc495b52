"""How well does a curve follow a swept model, and a replay the curve, by architecture?

Small models of random weights in bf16: dense with a key head for each query head (MHA), the same with grouped keys (GQA) and with one key
head (MQA), latent attention (MLA), routed experts (MoE). Each is swept in rounds until its minutes are over, fitted, and replayed at
half and at 80 % of predicted capacity. Contaminated samples count nowhere; `clean` says how many were left; a replay off
the pace at which the curve was measured holds no bar. The bar is the dense models': in sample, by the plain terms, at most 5 %,
leave-one-batch at most 8 %, bias at most 2 %, replay figures within 15 %.

TOKENCOGS_BENCH_MODELS ("gqa moe") and TOKENCOGS_BENCH_MINUTES narrow a run; TOKENCOGS_BENCH_OUT keeps the result files in a
folder; TOKENCOGS_BENCH_THREADS and TOKENCOGS_BENCH_QUIET set torch's threads and the share of the machine that others may take,
TOKENCOGS_BENCH_PACE how much slower the machine itself may be beside a visit (0: its pace is not asked, and a replay goes by the wall).
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from probe.curve.schema import Error, ResultFile

_COMMON: dict[str, Any] = {
    "vocab_size": 16000,
    "hidden_size": 512,
    "num_hidden_layers": 6,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "intermediate_size": 2048,
    "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
}
_LATENT = {
    "q_lora_rank": 256,
    "kv_lora_rank": 128,
    "qk_nope_head_dim": 64,
    "qk_rope_head_dim": 32,
    "v_head_dim": 64,
    "n_routed_experts": 8,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 256,
    "first_k_dense_replace": 6,
    "n_shared_experts": 0,
    "num_key_value_heads": 8,
}
_ROUTED = {"num_experts": 16, "num_experts_per_tok": 2, "moe_intermediate_size": 512, "norm_topk_prob": True}
MODELS: dict[str, dict[str, Any]] = {
    "mha": {**_COMMON, "model_type": "llama", "num_key_value_heads": 8},
    "gqa": {**_COMMON, "model_type": "llama"},
    "mqa": {**_COMMON, "model_type": "llama", "num_key_value_heads": 1},
    "mla": {**_COMMON, "model_type": "deepseek_v2", **_LATENT},
    "moe": {**_COMMON, "model_type": "qwen3_moe", "head_dim": 64, **_ROUTED},
}
BAR = {"in_sample": 0.05, "leave_one_batch": 0.08, "bias": 0.02, "replay_max": 0.15}


def run() -> dict[str, object]:
    """Figures by model, and whether each holds the bar."""
    names = os.environ.get("TOKENCOGS_BENCH_MODELS", " ".join(MODELS)).split()
    minutes = float(os.environ.get("TOKENCOGS_BENCH_MINUTES", "1.7"))
    kept = os.environ.get("TOKENCOGS_BENCH_OUT")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(kept or folder)
        found = {name: _figures(_sweep(name, out, minutes)) for name in names}
    return {"bar": BAR, "models": found}


def _sweep(name: str, out: Path, minutes: float) -> ResultFile:
    from probe.measure.job import run_job  # noqa: PLC0415 (the other benches need no torch)
    from probe.measure.sweep import Step  # noqa: PLC0415

    model = out / f"{name}-sweep"
    model.mkdir(parents=True, exist_ok=True)
    (model / "config.json").write_text(json.dumps(MODELS[name]), encoding="utf-8")
    options = {
        "model": str(model),
        "dtype": "bfloat16",
        "device": "cpu",
        "threads": int(os.environ["TOKENCOGS_BENCH_THREADS"]) if "TOKENCOGS_BENCH_THREADS" in os.environ else None,
        "kv_cache_memory_bytes": 400_000_000,
        "max_model_len": 2048,
        "grid": "auto",
        "budget": minutes,
        "target": 0.02,
        "rounds": 4,
        "retries": 2,
        "steps": 5,
        "warm_up": 2,
        "quiet_share": float(os.environ.get("TOKENCOGS_BENCH_QUIET", "0.05")),
        "pace_share": float(os.environ.get("TOKENCOGS_BENCH_PACE", "0.1")),
        "replay_seconds": 8.0,
        "seed": 0,
    }

    def say(step: Step) -> None:
        if step.done == 0:
            print(f"sweep {name}: stage {step.stage}, {step.planned} visits", file=sys.stderr)

    return run_job(options, out / f"{name}.json", say)


def _figures(result: ResultFile) -> dict[str, object]:
    clean = sum(not one.contaminated for one in result.samples)
    figures: dict[str, object] = {
        "parameters": result.model.parameters,
        "shapes": sum(point.n > 0 for point in result.points),
        "clean": f"{clean} of {len(result.samples)} samples",
        "drift": result.run.drift,
    }
    if result.fit is None or result.curve is None:
        return figures | {"curve": None}
    errors = _errors(result)
    figures |= {"form": result.fit.chosen}
    figures |= {
        name: {"mape": round(e.mape, 4), "bias": round(e.bias, 4), "max": round(e.max, 4)} for name, e in errors.items()
    }
    figures["notes"] = [
        note for note in result.fit.notes if note.startswith(("replay", "stage", "the ", "without", "beside"))
    ]
    return figures | {"contaminated": result.fit.contaminated, "bar_held": _held(result)}


def _errors(result: ResultFile) -> dict[str, Error]:
    """By fold, and in_sample_plain: of the terms without a correction, whose own in-sample error is 0 by construction."""
    from probe.fit.folds import held_out  # noqa: PLC0415
    from probe.fit.result import experts_of  # noqa: PLC0415

    assert result.fit is not None
    used = [point for point in result.points if point.kind != "idle" and point.n > 0]
    plain = held_out(used, experts_of(result), "parametric")
    return {"in_sample_plain": plain["in_sample"], **result.fit.errors}


def _held(result: ResultFile) -> bool:
    errors = _errors(result)
    assert result.fit is not None
    if not {"leave_one_batch", "replay"} <= set(errors) or "replay" in result.fit.contaminated:
        return False
    return (
        errors["in_sample_plain"].mape <= BAR["in_sample"]
        and errors["leave_one_batch"].mape <= BAR["leave_one_batch"]
        and abs(errors["leave_one_batch"].bias) <= BAR["bias"]
        and errors["replay"].max <= BAR["replay_max"]
    )


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
