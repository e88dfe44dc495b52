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
