"""Who pays for a prefix that one request computed and others found in the cache: the first one, or all of them?

By default the first request to compute it pays and its hits cost r a token. Amortised, the own prefill work of a shared block is split
equally over the request that computed it and those that found it, within one pool hour: what a later hour finds was paid for.
A block evicted and computed again begins anew. Only seconds move between requests; their sum, and so the hour's bill, stays.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from accounting.errors import InvalidInput
from accounting.selfhosted.arrays import PS_PER_SECOND, Bools, Ints
from accounting.selfhosted.curve import Curve
from accounting.selfhosted.lines import Lines


@dataclass(frozen=True)
class Uses:
    """Uses of prefix blocks, one row for each request and block, in order of time (first tokens, ties by request).

    Attributes:
        hour: of the pool hour in which the request's prompt was computed.
        request: its row. block: the block's number, the same where tokens and all that precedes them are.
        start, tokens: where in the prompt the block begins, and its length.
        computed: this request computed it; else it found it.
    """

    hour: Ints
    request: Ints
    block: Ints
    start: Ints
    tokens: Ints
    computed: Bools

    def __post_init__(self) -> None:
        count = self.request.shape
        for name in ("hour", "request", "block", "start", "tokens", "computed"):
            column = getattr(self, name)
            if column.shape != count or column.dtype != (np.bool_ if name == "computed" else np.int64):
                raise InvalidInput(f"uses.{name}", f"{column.dtype} {column.shape}", f"a column of {count} is expected")


def spread(curve: Curve, lines: Lines, uses: Uses, requests: int) -> Lines:
    """Lines with prefixes amortised: own prefill work moves between requests that have a line of the same hour, one each."""
    width = requests + 1
    keys = lines.hour * width + lines.row
    shared = np.isin(uses.hour * width + uses.request, keys)
    kept = Uses(**{one.name: getattr(uses, one.name)[shared] for one in fields(Uses)})
    prefill_seconds, own, share = lines.prefill_seconds.copy(), lines.own_prefill.copy(), lines.share_ps.copy()
    for hour in np.unique(kept.hour).tolist():
        here = Uses(**{one.name: getattr(kept, one.name)[kept.hour == hour] for one in fields(Uses)})
        at = np.flatnonzero(lines.hour == hour)
        moved = amortised(curve, here, requests)[lines.row[at]]
        share[at] += moved
        own[at] += moved / PS_PER_SECOND
        prefill_seconds[at] += moved / PS_PER_SECOND
    return replace(lines, own_prefill=own, prefill_seconds=prefill_seconds, share_ps=share)


def amortised(curve: Curve, uses: Uses, requests: int) -> Ints:
    """Picoseconds that each of `requests` requests takes over (or, negative, is relieved of); they add up to 0 in every hour.

    A block's work is d*n + f*n*(p + n/2) at its place p. What does not divide goes to the smaller rows. Blocks found of which no
    computing is in the same hour move nothing.
    """
    found = np.zeros(requests, np.int64)
    if not uses.request.size:
        return found
    order = np.lexsort((np.arange(uses.request.size), uses.block, uses.hour))
    hour, block, computed = uses.hour[order], uses.block[order], uses.computed[order]
    new_group = np.ones(order.size, np.bool_)
    new_group[1:] = (hour[1:] != hour[:-1]) | (block[1:] != block[:-1]) | computed[1:]
    group = np.cumsum(new_group) - 1
    paid = computed[new_group]
    sizes = np.bincount(group)
    n, p = uses.tokens[order].astype(np.float64), uses.start[order].astype(np.float64)
    work = curve.prefill_seconds(n, p) - curve.prefill_seconds(np.zeros_like(n), p)
    whole = np.where(paid, np.rint(work[new_group] * PS_PER_SECOND), 0.0).astype(np.int64)
    each, left = np.divmod(whole, sizes)
    rank = np.empty(order.size, np.int64)
    by_request = np.lexsort((uses.request[order], group))
    rank[by_request] = np.arange(order.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    takes = each[group] + (rank < left[group])
    gives = np.where(new_group, whole[group], 0)
    np.add.at(found, uses.request[order], takes - gives)
    return found
