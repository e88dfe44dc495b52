"""What do TensorRT-LLM's published static-batch tables say of bandwidth, operations and room?

A run prefills a batch of prompts and decodes all of them to the end. Its time is bytes moved over an effective bandwidth plus operations
over an effective rate; both are fitted, relative-weighted and not negative. Achievable batch: 95 % of the device's memory less the
weights, over the cache of one sequence at its full length; of a GPU whose memory is not known here nothing is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from probe.curve.architecture import Architecture
from probe.curve.errors import CurveRefused
from probe.curve.grid import Floats
from probe.curve.schema import Error
from probe.fit.errors import error_of
from probe.fit.nnls import relative_nnls
from probe.imports.common import positive, read_rows, whole

MODELS = {
    "llama-7b": Architecture("llama-7b", 32, 4096, 32, 32, 128, 11008, 32000),
    "gpt-j-6b": Architecture("gpt-j-6b", 28, 4096, 16, 16, 256, 16384, 50400, gated=False),
}
_WIDTH = {"fp16": 2, "bf16": 2, "fp8": 1}
_USABLE = 0.95
# Bytes of one GPU, from NVIDIA's data sheets: A100 80 GB, H100 SXM, H200, L40S. A published A100 is one of 80 GB, by its batches.
_MEMORY = {"a100": 80 * 10**9, "h100": 80 * 10**9, "h200": 141 * 10**9, "l40s": 48 * 10**9}
# A row that uses less than this share of the room was not run at capacity.
_AT_CAPACITY = 0.70
_COLUMNS = ("gpu", "model", "batch", "tensor_parallel", "input_tokens", "output_tokens", "output_tokens_per_s")


@dataclass(frozen=True)
class StaticRun:
    """One published row, and what it moved. Attributes: width: bytes a number, of weights and cache. throughput: output tokens a second."""

    gpu: str
    model: str
    batch: int
    input_tokens: int
    output_tokens: int
    width: int
    throughput: float

    @property
    def seconds(self) -> float:
        """Of the whole batch."""
        return self.batch * self.output_tokens / self.throughput

    @property
    def achievable_batch(self) -> int | None:
        """Sequences of full length that fit the device; None where its memory is not known."""
        shape, memory = MODELS[self.model], _MEMORY.get(self.gpu.rpartition("_")[0].lower())
        if memory is None:
            return None
        room = _USABLE * memory - shape.parameters * self.width
        return int(room // (shape.kv_bytes_per_token(self.width) * (self.input_tokens + self.output_tokens)))

    @property
    def at_capacity(self) -> bool | None:
        """Whether the published batch filled the room; None where that is not known."""
        room = self.achievable_batch
        return None if room is None else self.batch >= _AT_CAPACITY * room

    @property
    def work(self) -> tuple[float, float]:
        """(bytes, operations) of the whole run; the prompts' pass is bound by its operations."""
        shape, steps, b, n = MODELS[self.model], self.output_tokens, self.batch, self.input_tokens
        attended = b * (n + (steps + 1) / 2)
        step = shape.streamed(b) * self.width + shape.kv_bytes_per_token(self.width) * attended
        return steps * step, shape.flops(b * n, b * n * n / 2, b) + steps * shape.flops(b, attended, b)


@dataclass(frozen=True)
class Ceilings:
    """Effective bytes and operations a second of one GPU, and how far off each row is when left out of the fit."""

    bytes_per_second: float
    operations_per_second: float
    left_out: list[float]

    @property
    def error(self) -> Error:
        predicted = np.array(self.left_out) + 1.0
        return error_of(predicted, np.ones_like(predicted))


def read_runs(path: Path) -> list[StaticRun]:
    """Rows of the CSV: gpu, model, batch, tensor_parallel, input_tokens, output_tokens, output_tokens_per_s."""
    runs = []
    for count, row in enumerate(read_rows(path, *_COLUMNS), 2):
        if row["model"] not in MODELS:
            raise CurveRefused(f"line {count} model", row["model"], f"one of {', '.join(MODELS)}")
        dtype = row["gpu"].rpartition("_")[2]
        if dtype not in _WIDTH or row["tensor_parallel"] != "1":
            raise CurveRefused(f"line {count} gpu", row["gpu"], "fp16, bf16 or fp8 on one GPU is expected")
        pace = positive(row, "output_tokens_per_s")
        batch, output, new = (_counted(row, name, count) for name in ("batch", "output_tokens", "input_tokens"))
        runs.append(StaticRun(row["gpu"], row["model"], batch, new, output, _WIDTH[dtype], pace))
    return runs


def _counted(row: Mapping[str, str], name: str, count: int) -> int:
    positive(row, name)
    return whole(row, name, f"line {count}") or 0


def ceilings(runs: list[StaticRun]) -> Ceilings:
    """Fit of one GPU's rows. Raises CurveRefused with fewer than three."""
    if len(runs) < 3 or len({run.gpu for run in runs}) != 1:
        raise CurveRefused("rows", [run.gpu for run in runs], "at least three rows of one GPU are needed")
    work, seconds = np.array([run.work for run in runs]), np.array([run.seconds for run in runs])
    byte, operation = relative_nnls(work, seconds)
    if byte == 0 or operation == 0:
        raise CurveRefused("rows", len(runs), "bandwidth and operations can't be told apart")
    left_out = [_left_out(work, seconds, index) for index in range(len(runs))]
    return Ceilings(float(1 / byte), float(1 / operation), left_out)


def _left_out(work: Floats, seconds: Floats, index: int) -> float:
    rest = np.arange(len(seconds)) != index
    return float(work[index] @ relative_nnls(work[rest], seconds[rest]) / seconds[index] - 1.0)
