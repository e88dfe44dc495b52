"""How do step ledgers look over HTTP?"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from api.schemas import Answer

KINDS = ("application/vnd.apache.arrow.stream", "application/octet-stream")
BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "the Arrow stream that the probe's engine writes, one row a step",
        "content": {kind: {"schema": {"type": "string", "format": "binary"}} for kind in KINDS},
    }
}


class StepsRecorded(Answer):
    """What became of a ledger."""

    written: int = Field(description="hours of the ledger that are news")
    unchanged: int = Field(description="hours that stood there with the same steps")
    steps: int
    requests: int
    starts_at: str = Field(examples=["2026-09-01T05:00:00.1Z"])
    ends_at: str


class StepsHour(Answer):
    """What a ledger has of one hour."""

    hour: str = Field(examples=["2026-09-01T05:00:00Z"])
    replica: str
    source_id: str = Field(description="the name it was sent under")
    steps: int
    requests: int
    measured_seconds: float = Field(description="of its steps together")
    starts_at: str
    ends_at: str
    ledger_hash: str


class StepsList(Answer):
    """Ledgers by hour, replica and time."""

    ledgers: list[StepsHour]


class StepsWithdrawn(Answer):
    withdrawn: int = Field(description="hours")
