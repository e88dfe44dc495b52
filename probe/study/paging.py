"""What does reserving the longest length waste against paging?"""

from __future__ import annotations

import random
from typing import Any

from probe.study.frame import Arm, Contrast
from probe.study.lab import BLOCK, Lab, drained, greedy

QUESTION = "do pages serve more requests at once than contiguous reservations of the longest length?"
REQUESTS, ROOM = 12, 3


def contrasts(lab: Lab) -> list[Contrast]:
    """The same requests in the same bytes: blocks of 16 tokens, or one block a sequence as long as the longest may be."""
    return [
        Contrast(
            f"{REQUESTS} requests served",
            "seconds",
            Arm("paged", lambda: _served(lab, BLOCK)),
            Arm("reserved", lambda: _served(lab, longest(lab))),
        )
    ]


def facts(lab: Lab) -> dict[str, Any]:
    """Slots that stay empty when every request holds its full length."""
    lengths = [prompt + output for prompt, output in requests(lab)]
    return {
        "slots wasted, paged": round(wasted(lengths, BLOCK), 3),
        "slots wasted, reserved": round(wasted(lengths, longest(lab)), 3),
    }


def wasted(lengths: list[int], block: int) -> float:
    """Share of the slots held that no token lies in."""
    held = sum(-(-length // block) * block for length in lengths)
    return 1 - sum(lengths) / held


def longest(lab: Lab) -> int:
    """Tokens that a request may have at most, in whole blocks."""
    return max(8, lab.size.long // BLOCK // 2) * BLOCK


def requests(lab: Lab) -> list[tuple[int, int]]:
    """(prompt, output) tokens: most requests are far shorter than the longest."""
    drawn, most = random.Random(lab.seed), longest(lab)
    return [(drawn.randint(2, most // 6), drawn.randint(4, max(4, most // 16))) for _ in range(REQUESTS)]


def _served(lab: Lab, block: int) -> float:
    engine = lab.engine(lab.model(), ROOM * longest(lab), block_size=block)
    for number, (prompt, output) in enumerate(requests(lab)):
        engine.add_request(lab.tokens(prompt), greedy(output), str(number))
    return drained(engine)
