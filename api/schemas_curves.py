"""How do measured curves look over HTTP?"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from api.schemas import Answer


class CurveRow(Answer):
    """One curve without its numbers."""

    curve_id: str = Field(examples=["qwen3-8b-h200"])
    form: Literal["step", "table"] = Field(description="additive terms, or served points with equal shares")
    model: str
    engine: str
    gpu: str
    measured_at: str = Field(examples=["2026-10-01"])
    floor: bool = Field(description="composed from kernel times: never a price by itself")
    behaviour_changing: bool = Field(description="the setup changes answers: evaluate the workload again")
    recorded_at: datetime
    shared: bool = Field(description="of all tenants, kept by the operator")


class CurveRecorded(CurveRow):
    """A curve that was sent."""

    created: bool = Field(description="false: the same file was there")


class CurveList(Answer):
    """Own and shared curves by id."""

    curves: list[CurveRow]


class CurveFile(Answer):
    """The file as it was sent."""

    curve: dict[str, Any]


class CurveCell(Answer):
    """One point of a curve's grid; throughput of one replica, times in seconds."""

    batch: int = Field(examples=[16])
    context: int = Field(description="tokens of each sequence", examples=[4096])
    step_seconds: float = Field(description="one decode step of the batch")
    tokens_per_second: float = Field(description="output, with the measured residual: what prices use")
    fitted_tokens_per_second: float = Field(description="by the curve's own terms")
    ttft_seconds: float | None = Field(
        description="prefill of the context beside batch - 1 decoding sequences; null where the curve can't say"
    )
    measured_tokens_per_second: float | None = Field(description="null where nothing was measured")
    fits: bool | None = Field(description="into the KV cache; null where the curve states no memory")
    extrapolated: bool = Field(
        description="beyond the measured range, or a batch that no run of a table had at that context"
    )
    ttft_extrapolated: bool = Field(description="a prompt as long as the context was not measured, whatever the step")


class CurveEvaluation(Answer):
    """A curve over a grid of batch and context, with what it was made of."""

    curve_id: str
    form: Literal["step", "table"]
    model: str
    engine: str
    gpu: str
    dtype: str
    measured_at: str
    floor: bool
    behaviour_changing: bool
    kl_divergence: float | None
    errors: dict[str, float] = Field(
        description="held-out error of the fit: relative, `bias` signed", examples=[{"mape": 0.03}]
    )
    cells: list[CurveCell]
