"""Where does a weight come from? A seed, or the safetensors files of a folder; one tensor at a time."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Protocol

import torch
from safetensors import safe_open
from torch import Tensor

from probe.engine.errors import ProbeError
from probe.engine.models.config import ModelConfig
from probe.engine.models.shapes import Shape, weight_shapes


class WeightError(ProbeError):
    """A tensor that is missing or has another shape than the configuration says."""


class Weights(Protocol):
    """Gives each tensor by its canonical name (shapes.py)."""

    def get(self, name: str) -> Tensor: ...


class RandomWeights:
    """Seeded weights: a tensor is a function of (seed, name), whatever is asked for before it.

    Matrices are normal with variance 1 / fan-in, so that activations keep their size through any depth and routers don't tie.
    """

    def __init__(
        self, config: ModelConfig, seed: int = 0, dtype: torch.dtype = torch.float32, device: str | torch.device = "cpu"
    ) -> None:
        self.config, self.seed, self.dtype, self.device = config, seed, dtype, torch.device(device)
        self.shapes = weight_shapes(config)

    def get(self, name: str) -> Tensor:
        shape = self.shapes[name]
        digest = hashlib.blake2b(f"{self.seed}/{name}".encode(), digest_size=7).digest()
        generator = torch.Generator(self.device).manual_seed(int.from_bytes(digest, "little"))
        noise = torch.randn(shape, generator=generator, device=self.device, dtype=torch.float32)
        if "norm.weight" in name:
            noise = 1.0 + 0.1 * noise
        elif len(shape) == 1 or name.endswith("_bias"):
            noise *= 0.1
        elif "embed_tokens" not in name:
            noise *= 1.0 / math.sqrt(self._fan_in(name, shape))
        return noise.to(self.dtype)

    def _fan_in(self, name: str, shape: Shape) -> int:
        fused = self.config.moe is not None and self.config.moe.fused_bias and ".experts." in name
        return shape[-2] if fused else shape[-1]


class SafetensorsWeights:
    """The *.safetensors files of a folder, by the names of the hub or of transformers' own state dict."""

    def __init__(
        self, config: ModelConfig, folder: Path, dtype: torch.dtype, device: str | torch.device = "cpu"
    ) -> None:
        self.config, self.dtype, self.device = config, dtype, torch.device(device)
        self.shapes = weight_shapes(config)
        self._file_of = _file_of(folder)

    def get(self, name: str) -> Tensor:
        """Raises WeightError naming the tensor.

        What chooses among experts keeps its precision where the reference keeps it: rounded, it would choose others.
        """
        found = self._read(name) if name in self._file_of else self._stack(name)
        if tuple(found.shape) != self.shapes[name]:
            raise WeightError(f"{name}: shape {tuple(found.shape)}, the configuration says {self.shapes[name]}")
        return found.to(self.device, torch.float32 if self._chooses_precisely(name) else self.dtype)

    def _chooses_precisely(self, name: str) -> bool:
        moe = self.config.moe
        return (
            moe is not None
            and moe.scores_precisely
            and name.endswith((".gate.weight", ".gate.e_score_correction_bias"))
        )

    def _read(self, name: str) -> Tensor:
        if name not in self._file_of:
            raise WeightError(f"{name}: not in the safetensors files")
        with safe_open(self._file_of[name], framework="pt") as file:
            tensor: Tensor = file.get_tensor(name)
            return tensor

    def _stack(self, name: str) -> Tensor:
        """Hub files hold one tensor an expert, and Mixtral calls its parts w1, w3 (gate, up) and w2 (down)."""
        mixtral = self.config.model_type == "mixtral"
        stem, _, part = name.rpartition(".mlp.")
        if mixtral and part == "gate.weight":
            return self._read(f"{stem}.block_sparse_moe.gate.weight")
        if part not in ("experts.gate_up_proj", "experts.down_proj") or self.config.moe is None:
            raise WeightError(f"{name}: not in the safetensors files")
        block = f"{stem}.block_sparse_moe" if mixtral else f"{stem}.mlp"
        gate, up, down = ("w1", "w3", "w2") if mixtral else ("gate_proj", "up_proj", "down_proj")
        parts = (gate, up) if part == "experts.gate_up_proj" else (down,)
        return torch.stack(
            [
                torch.cat([self._read(f"{block}.experts.{expert}.{one}.weight") for one in parts])
                for expert in range(self.config.moe.num_experts)
            ]
        )


def weight_files(folder: Path) -> list[Path]:
    """The safetensors files of a folder, in order; none where its model gets random weights."""
    return sorted(folder.glob("*.safetensors"))


def _file_of(folder: Path) -> dict[str, Path]:
    index = folder / "model.safetensors.index.json"
    if index.exists():
        weight_map = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
        return {name: folder / file for name, file in weight_map.items()}
    found: dict[str, Path] = {}
    for path in weight_files(folder):
        with safe_open(path, framework="pt") as file:
            found |= dict.fromkeys(file.keys(), path)
    if not found:
        raise WeightError(f"{folder}: no *.safetensors file")
    return found
