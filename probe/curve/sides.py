"""How does one curve stand against another at the same points, and what else must be compared: room and quality?"""

from __future__ import annotations

from dataclasses import dataclass

from probe.curve.compare import Row, quality_text
from probe.curve.curve import CurveDocument
from probe.curve.operating import achievable_batch
from probe.curve.schema import ResultFile


@dataclass(frozen=True)
class Side:
    """B over A at one point; 1 is alike. None where one of them can't say. Attributes: throughput: above 1, B does more; the others:
    below 1, B takes less; extrapolated, ttft_extrapolated: beyond what one of them measured."""

    batch: float
    context: int
    throughput: float
    ttft: float | None
    dollars: float | None
    extrapolated: bool = False
    ttft_extrapolated: bool = False


def sides(a: list[Row], b: list[Row]) -> list[Side]:
    """Rows of the same points, one after another."""
    return [
        Side(
            one.batch,
            one.context,
            other.throughput / one.throughput,
            _over(other.ttft, one.ttft),
            _over(other.dollars, one.dollars),
            one.extrapolated or other.extrapolated,
            one.ttft_extrapolated or other.ttft_extrapolated,
        )
        for one, other in zip(a, b, strict=True)
    ]


def room_and_quality(result: ResultFile, curve: CurveDocument, contexts: list[int]) -> list[str]:
    """Sequences that fit the cache at each context, and how far answers moved; both unknown where they were not measured."""
    rooms = {context: achievable_batch(curve, context) for context in contexts}
    known = [f"{room} at {context}" for context, room in rooms.items() if room is not None]
    kept = curve.file.get("memory")
    memory = "not stated"
    if kept is not None:
        bytes_each = sum(group["layers"] * group["bytes_per_token"] for group in kept["groups"])
        memory = f"{bytes_each * kept.get('replication', 1)} bytes a token; sequences that fit: {', '.join(known)}"
    return [f"cache: {memory}", f"quality: {quality_text(result.quality, result.model.random_weights)}"]


def _over(b: float | None, a: float | None) -> float | None:
    return None if a is None or b is None else b / a
