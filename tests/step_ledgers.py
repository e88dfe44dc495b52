"""Step ledgers for tests, in the very form in which the probe's engine writes them."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple

from accounting.selfhosted.imports.read_steps import read_steps
from accounting.selfhosted.step_ledger import StepLedger
from probe.engine.interfaces import PhaseSums, RequestStep, StepRecord
from probe.engine.ledger import LedgerWriter


class Part(NamedTuple):
    """Request, kind, new tokens, tokens in the cache before, KV blocks held, names of its prompt's full blocks."""

    request: str
    kind: Literal["prefill", "decode"]
    new: int
    past: int
    held: float = 1.0
    blocks: tuple[bytes, ...] = ()


Step = tuple[str, int, bool, list[Part]]
"""When it began, nanoseconds measured, whether memory kept a request out, parts."""


def prefill(request: str, new: int, past: int = 0, held: float = 1.0, blocks: str = "") -> Part:
    """`blocks`: a letter for each."""
    return Part(request, "prefill", new, past, held, tuple(one.encode() for one in blocks))


def decode(request: str, past: int, held: float = 1.0) -> Part:
    return Part(request, "decode", 1, past, held)


def write(path: Path, steps: list[Step]) -> Path:
    """A file of these steps; times of day are of 2026-10-01."""
    with LedgerWriter(path, {"model": "llama", "block_size": 100}) as ledger:
        for number, step in enumerate(steps):
            ledger(_record(number, *step))
    return path


def content(steps: list[Step]) -> bytes:
    """The bytes of such a file."""
    with TemporaryDirectory() as folder:
        return write(Path(folder) / "steps.arrow", steps).read_bytes()


def ledger(path: Path, steps: list[Step]) -> StepLedger:
    """The same as it is read."""
    return read_steps(write(path, steps).read_bytes())


def start_ns(moment: str) -> int:
    """A time of day of 2026-10-01, or a whole moment."""
    stamp = datetime.fromisoformat(moment if "T" in moment else f"2026-10-01T{moment}+00:00")
    return int(stamp.replace(microsecond=0).timestamp()) * 10**9 + stamp.microsecond * 1_000


def _record(number: int, began: str, nanoseconds: int, blocked: bool, parts: list[Part]) -> StepRecord:
    numbers: dict[str, Any] = dict.fromkeys(PhaseSums.__dataclass_fields__, 0)
    requests = tuple(
        RequestStep(
            one.request, one.kind, one.new, one.past, 1, 0, 0, 0, 0, one.held, one.past + one.new, 0, one.blocks
        )
        for one in parts
    )
    kinds = {one.kind for one in requests}
    return StepRecord(
        step_id=number,
        kind="mixed" if len(kinds) == 2 else "prefill" if kinds == {"prefill"} else "decode",
        start_ns=start_ns(began),
        duration_ns=nanoseconds,
        model_ns=nanoseconds,
        requests=requests,
        queued=PhaseSums(**numbers),
        num_waiting=0,
        num_running=len(parts),
        preempted=(),
        kv_blocks_total=100,
        kv_blocks_free=0,
        kv_blocks_cached=0,
        kv_blocked=blocked,
        estimated_bytes=0,
        estimated_flops=0,
        experts_touched=None,
    )
