"""Which shapes do answers about wire bodies have: what became of them, traces, exceptions and rules of cost?"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from api.schemas import Answer, ConflictRow, RejectedRow

Name = Annotated[str, Field(max_length=256, pattern=r"^[^\x00-\x1f\x7f]*$")]


class ExceptionRow(Answer):
    """A body, or a call of it, that contradicts itself: kept, and booked by a replay once its rule is mended."""

    index: int = Field(description="position in the body, from 0")
    event_id: str = Field(examples=["openai:chatcmpl-2"])
    reason: str = Field(examples=["tokens_do_not_add_up"])
    detail: str = Field(
        examples=["total_tokens 2306 <> prompt_tokens 2006 + completion_tokens 301 = 2307"],
        description="the equation that failed",
    )


class WireAnswer(Answer):
    """What became of the calls: accepted + duplicates + conflicts + rejected + exceptions + aggregates = calls sent."""

    accepted: int
    duplicates: int
    conflicts: list[ConflictRow]
    rejected: list[RejectedRow]
    exceptions: list[ExceptionRow]
    aggregates: int = Field(description="totals that repeat other calls; never booked")

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "example": {
                "accepted": 1,
                "duplicates": 0,
                "conflicts": [],
                "rejected": [],
                "exceptions": [
                    {
                        "index": 1,
                        "event_id": "openai:chatcmpl-2",
                        "reason": "tokens_do_not_add_up",
                        "detail": "total_tokens 2306 <> prompt_tokens 2006 + completion_tokens 301 = 2307",
                    }
                ],
                "aggregates": 0,
            }
        },
    )


class PartialSuccess(Answer):
    """What of an export was not taken; names and types are OTLP's."""

    rejectedSpans: str = Field(examples=["1"], description="an int64, as protobuf's JSON writes it")
    errorMessage: str = Field(examples=["1 rejected, the first for occurred_at: is more than 24 hours ahead"])


class TraceAnswer(Answer):
    """An ExportTraceServiceResponse; empty where all was taken."""

    partialSuccess: PartialSuccess | None = None


class KeptException(Answer):
    """One thing to look at, with the usage part of its body."""

    exception_id: str = Field(examples=["5f0c1b6a9d3e4f7788990011"])
    kind: Literal["conflict", "contradiction", "finding"]
    event_id: str = Field(examples=["openai:chatcmpl-2"])
    format: str = Field(examples=["openai_chat"])
    reason: str = Field(examples=["tokens_do_not_add_up"])
    detail: str
    usage_body: str = Field(description="JSON text", examples=['{"usage":{"total_tokens":2306}}'])
    occurred_at: str | None
    received_at: str = Field(examples=["2026-02-10T09:30:02Z"])
    resolved_at: str | None
    resolution: Literal["replayed", "dismissed"] | None


class ExceptionCount(Answer):
    """How many there are of a kind and reason, and how many of them are open."""

    kind: str
    reason: str
    exceptions: int
    open: int


class ExceptionList(Answer):
    exceptions: list[KeptException]
    counts: list[ExceptionCount]


class ReplayBody(Answer):
    """Which contradictions are read again."""

    exception_ids: list[Name] | None = Field(
        default=None, max_length=10_000, description="default: all that are open", examples=[[]]
    )


class StillOpen(Answer):
    """A contradiction that is still one, or that can't be booked for another reason."""

    exception_id: str
    event_id: str
    reason: str


class Replayed(Answer):
    """What a replay did: replayed = booked + those still open."""

    replayed: int
    booked: int
    still_open: list[StillOpen]


class Dismissed(Answer):
    """How an exception was closed; one that was replayed before stays so."""

    exception_id: str
    resolution: Literal["replayed", "dismissed"]


class CostBasisBody(Answer):
    """Which cost is booked where the provider's bodies state one."""

    provider: Name = Field(min_length=1, examples=["openrouter"])
    surface: Name = Field(default="", description="default: all of the provider")
    basis: Literal["price_list", "reported"] = Field(examples=["reported"])


class CostBasis(Answer):
    provider: str = Field(examples=["openrouter"])
    surface: str = Field(examples=[""])
    basis: Literal["price_list", "reported"] = Field(examples=["reported"])
    since: str = Field(description="events booked from here on follow it", examples=["2026-02-10T09:30:00Z"])


class CostBasisList(Answer):
    rules: list[CostBasis]
