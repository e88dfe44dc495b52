"""Tiny rigs: a model folder of 60k parameters, one thread."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from probe.measure.rig import Rig, build_rig
from probe.server.options import ServeOptions
from tests.probe.engine.models.small import SMALL

MODELS = {**SMALL, "mla without routed layers": {**SMALL["deepseek_v2"], "first_k_dense_replace": 2}}


def folder(path: Path, name: str = "llama") -> Path:
    """A model's folder with config.json; weights are drawn from the seed."""
    path.mkdir(exist_ok=True)
    (path / "config.json").write_text(json.dumps(MODELS[name]), encoding="utf-8")
    return path


def rig(path: Path, name: str = "llama", **more: Any) -> Rig:
    options: dict[str, Any] = {
        "model": str(folder(path, name)),
        "dtype": "float32",
        "device": "cpu",
        "block_size": 4,
        "kv_cache_memory_bytes": 1 << 20,
        "max_model_len": 256,
        "max_num_seqs": 16,
        "max_num_batched_tokens": 128,
        "enable_prefix_caching": False,
    }
    return build_rig(ServeOptions(**{**options, **more}), threads=1)
