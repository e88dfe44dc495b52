"""`python -m tests.bench.real_runs [agentic|mooncake]`: what real request logs cost on GPUs, by request, user, context and policy.

Tables in Markdown, of the data sets beside the checkout; accounting/selfhosted/README.md explains the columns.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

import numpy as np

from tests.accounting.selfhosted import agentic_runs, mooncake

DOLLAR = 1e15


def main(names: Sequence[str]) -> None:
    tables = {"agentic": agentic, "mooncake": conversations}
    unknown = [name for name in names if name not in tables]
    if unknown:
        sys.exit(f"unknown log {unknown}; there are {', '.join(tables)}")
    for name in names or tables:
        print("\n".join(tables[name]()), end="\n\n")


def agentic() -> Iterable[str]:
    """Costs by policy, then the log's totals beside the server's."""
    runs = sorted(agentic_runs.runs(), key=lambda one: (one.gpus, one.users, one.name))
    yield f"DeepSeek-R1 FP4 on B200, {agentic_runs.gpu_hour()} dollars a GPU-hour; form=table; fully loaded, `equal` / `switch`"
    yield from _head(
        "GPUs", "users", "offload", "bill", "idle %", "gap %", "request p50", "request p95", "user p50", "dearest user"
    )
    for one in runs:
        by_policy = [agentic_runs.settle(one, policy)[1] for policy in ("equal", "switch")]
        first = by_policy[0]
        cells: list[str] = [
            f"{first.bill / DOLLAR:.2f}",
            f"{first.idle / first.bill:.0%}",
            f"{first.gap / first.bill:.0%}",
        ]
        requests = [settled.fully_loaded_cost / DOLLAR for settled in by_policy]
        users = [np.array(list(agentic_runs.by_user(one, settled).values())) / DOLLAR for settled in by_policy]
        for columns, at in ((requests, 0.5), (requests, 0.95), (users, 0.5), (users, 1.0)):
            cells.append(" / ".join(f"{np.quantile(column, at):.3f}" for column in columns))
        yield _row(*_named(one), *cells)
    yield ""
    yield "Input tokens (thousands), output tokens (thousands), requests and cache hits: the log beside the server"
    yield from _head("GPUs", "users", "offload", "in: succeeded", "failed", "server", "server less succeeded", "out: log", "server",
                     "requests: log (failed)", "server", "hits: log", "server")  # fmt: skip
    for one in runs:
        good, bad = (int(one.input_tokens[flags].sum()) for flags in (one.success, ~one.success))
        hits = one.requests.cached_tokens.sum() / one.requests.context_tokens.sum()
        given = int(one.requests.output_tokens.sum())
        counts = (
            good,
            bad,
            one.server_prompt_tokens,
            one.server_prompt_tokens - good,
            given,
            one.server_generation_tokens,
        )
        served = f"{len(one.success)} ({int((~one.success).sum())})"
        shares = f"{hits:.0%}", f"{float(one.hit_share):.0%}"
        yield _row(*_named(one), *(f"{count / 1e3:,.0f}" for count in counts), served, one.server_requests, *shares)


def conversations() -> Iterable[str]:
    """Cost by context band, in an hour with too few replicas and one with enough."""
    rows = mooncake.trace()
    for replicas in (16, 28):
        served = mooncake.serve(rows, replicas)
        requests, band = served.requests, mooncake.band_of(served.requests.context_tokens)
        found = requests.cached_tokens.sum() / requests.context_tokens.sum()
        first = (requests.first_token_at - requests.received_at) / 1e6
        yield (
            f"Mooncake conversations {mooncake.SPEED} times as fast, {replicas} H200s at {mooncake.GPU_HOUR} for "
            f"{served.end_us / 1e6:.0f} s: {served.bill / DOLLAR:.2f} dollars; {found:.1%} of input found in the cache; first token "
            f"{np.quantile(first, 0.5):.1f} s p50, {np.quantile(first, 0.95):.1f} s p95; floor curve, estimated"
        )
        costs = {
            "equal": served.costs("equal"),
            "switch": served.costs("switch"),
            "amortised": served.costs("switch", amortise=True),
        }
        yield from _head("context", "requests", "tokens %", *(f"{name}: % of bill" for name in costs),
                         *(f"{name}: $ a million" for name in costs))  # fmt: skip
        tokens = requests.context_tokens + requests.output_tokens
        for at, low in enumerate(mooncake.BANDS[:-1]):
            here = band == at
            shares = [f"{cost[here].sum() / served.bill:.1%}" for cost in costs.values()]
            prices = [f"{cost[here].sum() / DOLLAR / tokens[here].sum() * 1e6:.3f}" for cost in costs.values()]
            name = f"{low:,} to {mooncake.BANDS[at + 1]:,}"
            yield _row(name, int(here.sum()), f"{tokens[here].sum() / tokens.sum():.1%}", *shares, *prices)
        yield ""


def _named(one: agentic_runs.Run) -> tuple[int, int, str]:
    return one.gpus, one.users, "on" if "offloadon" in one.name else "off"


def _head(*names: str) -> Iterable[str]:
    yield _row(*names)
    yield "|---" * len(names) + "|"


def _row(*cells: object) -> str:
    return f"| {' | '.join(str(cell) for cell in cells)} |"


if __name__ == "__main__":
    main(sys.argv[1:])
