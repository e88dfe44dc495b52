"""Is batching nearly free until the KV cache binds?"""

from __future__ import annotations

from typing import Any

from probe.study.frame import Arm, Contrast
from probe.study.lab import BLOCK, Lab, drained, greedy

QUESTION = "is batching nearly free until the KV cache binds?"


def contrasts(lab: Lab) -> list[Contrast]:
    """A token in a full batch against a token alone; then the same requests with room for all and with room for half of them."""
    size, model = lab.size, lab.model()
    alone, together = lab.decode(model, 1, size.short), lab.decode(model, size.many, size.short)
    return [
        Contrast(
            "a token at short contexts",
            "seconds a token",
            Arm(f"batch {size.many}", lambda: together() / size.many),
            Arm("batch 1", alone),
        ),
        Contrast(
            f"{size.many} requests served",
            "seconds",
            Arm("room for all", lambda: _served(lab, size.many)),
            Arm("room for half", lambda: _served(lab, size.many // 2)),
        ),
    ]


def facts(lab: Lab) -> dict[str, Any]:
    """Bytes that keep one more sequence."""
    width = lab.dtype.itemsize
    return {"cache bytes a sequence": (_prompt(lab) + _output(lab)) * lab.size.config.kv_bytes_per_token(width)}


def _prompt(lab: Lab) -> int:
    return BLOCK * max(1, lab.size.short // BLOCK) - 1


def _output(lab: Lab) -> int:
    return 2 * BLOCK


def _served(lab: Lab, room: int) -> float:
    """Seconds of `many` requests where the cache holds `room` of them at their full length."""
    length = -(-(_prompt(lab) + _output(lab)) // BLOCK) * BLOCK
    engine = lab.engine(lab.model(), room * length)
    for number in range(lab.size.many):
        engine.add_request(lab.tokens(_prompt(lab)), greedy(_output(lab)), str(number))
    return drained(engine)
