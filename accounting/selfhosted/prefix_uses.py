"""Which prefix blocks did the requests of a step ledger compute, and which did they find in the cache?"""

from __future__ import annotations

import numpy as np

from accounting.selfhosted.arrays import Ints
from accounting.selfhosted.prefix import Uses
from accounting.selfhosted.step_ledger import StepLedger

_APART = 2**40
"""More blocks than a ledger names: those of another ledger are others, as a cache is a replica's own."""


def uses_of(ledger: StepLedger, place: Ints, number: int, hour: int = 0) -> Uses:
    """Uses in order of admission. `place`: of each of `request_ids` among all requests; `number`: of the ledger among those of the hour.

    In the step that admits a request, what lies in the cache before it was found there. Of what it had to compute itself counts
    what its prompt reached in this ledger: the rest belongs to the hour in which it was computed, or to none.
    """
    part, size = ledger.block_part, ledger.block_size
    request = ledger.request[part]
    reached = np.zeros(len(ledger.request_ids), np.int64)
    done = np.where(ledger.prompt, ledger.past_tokens + ledger.new_tokens, 0)
    np.maximum.at(reached, ledger.request, done)
    start = ledger.block_index * size
    found = start + size <= ledger.past_tokens[part]
    computed = (start >= ledger.past_tokens[part]) & (start + size <= reached[request])
    chosen = found | computed
    count = int(chosen.sum())
    return Uses(
        hour=np.full(count, hour),
        request=place[request[chosen]],
        block=ledger.block[chosen] + number * _APART,
        start=start[chosen],
        tokens=np.full(count, size),
        computed=computed[chosen],
    )
