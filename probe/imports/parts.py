"""Do the figures of one run agree with each other, or is one of them in another unit?

Bounds stand where all runs of the data that tests read keep within them, and a figure ten times off in most of these runs does not.
"""

from __future__ import annotations

from probe.curve.errors import CurveRefused
from probe.curve.schema import Served

# Seconds a token by end to end over the stated ones: 0.15 to 2.1 in real runs (few long answers among many short ones make it low; an
# ITL of more than eight tokens a chunk is no pace of tokens).
_PACE = (1 / 8, 4.0)
# Tokens by requests and their time over the stated throughput: 1.00 in real runs.
_THROUGHPUT = (0.5, 2.0)
# Requests in flight over those that were kept: 0.67 to 1.1 in real closed loops of four rounds and more.
_IN_FLIGHT = (0.25, 2.0)
_ROUNDS = 4
_TIMES = ("ttft", "tpot", "itl")


def held_to_parts(run: Served, where: str, completed: float | None = None, closed: bool = False) -> Served:
    """The run itself. `completed`: requests that were answered, where `requests` counts failed ones too. `closed`: without a rate, its
    concurrency was kept all the time. Raises CurveRefused naming `where`, the field and its value, where the run has

    - a 99th percentile below its median, or a mean below half of it: neither can be, of times;
    - (end to end - first token) / (output tokens - 1) below 1/8 of its TPOT (else its ITL), or above 4 times that;
    - output tokens by its requests, over its duration or by its requests a second, not within a factor of 2 of its throughput;
    - throughput times TPOT above twice its concurrency; in a closed loop of at least 4 rounds also requests in flight below a quarter.
    """
    _spreads(run, where)
    _pace(run, where)
    _throughput(run, where, run.requests if completed is None else completed)
    _in_flight(run, where, closed)
    return run


def _spreads(run: Served, where: str) -> None:
    for name in _TIMES:
        median, mean, p99 = (getattr(run, f"{name}_{one}") for one in ("median", "mean", "p99"))
        if median and p99 and p99 < median * (1 - 1e-6):
            raise CurveRefused(f"{where} {name}_p99", p99, f"below its median of {median:g} s: units contradict")
        if median and mean and mean < median / 2 * (1 - 1e-6):
            raise CurveRefused(f"{where} {name}_mean", mean, f"below half its median of {median:g} s: units contradict")


def _pace(run: Served, where: str) -> None:
    field = next((name for name in ("tpot_median", "tpot_mean", "itl_median", "itl_mean") if getattr(run, name)), None)
    first = run.ttft_median or run.ttft_mean
    if not run.e2e_median or not first or field is None or run.output_tokens < 2:
        return
    stated = getattr(run, field)
    found = (run.e2e_median - first) / (run.output_tokens - 1)
    if stated > 0 and not _PACE[0] <= found / stated <= _PACE[1]:
        raise CurveRefused(
            f"{where} {field}",
            stated,
            f"({run.e2e_median:g} s end to end - {first:g} s to the first token) over {run.output_tokens:g} tokens less one are "
            f"{found:.3g} s: units contradict",
        )


def _throughput(run: Served, where: str, completed: float | None) -> None:
    stated = run.output_tokens_per_second
    by_duration = completed / run.duration if completed and run.duration else None
    for rate, name in ((by_duration, "requests over duration"), (run.requests_per_second, "requests a second")):
        if not rate or not stated or stated < 0 or rate < 0:
            continue
        found = rate * run.output_tokens
        if not _THROUGHPUT[0] <= found / stated <= _THROUGHPUT[1]:
            said = f"{name} of {run.output_tokens:g} output tokens are {found:.4g} a second: units contradict"
            raise CurveRefused(f"{where} output_tokens_per_second", stated, said)


def _in_flight(run: Served, where: str, closed: bool) -> None:
    field = next((name for name in ("tpot_median", "tpot_mean") if getattr(run, name)), None)
    throughput, users = run.output_tokens_per_second, run.concurrency
    if field is None or not throughput or not users or run.output_tokens <= 0:
        return
    pace, first = getattr(run, field), run.ttft_median or run.ttft_mean
    decoding = throughput * pace
    if decoding > _IN_FLIGHT[1] * users:
        said = (
            f"at {throughput:.4g} tokens a second {decoding:.4g} decode at once, of {users:g} users: units contradict"
        )
        raise CurveRefused(f"{where} {field}", pace, said)
    rounds = (run.requests or 0) / users
    if not closed or run.request_rate is not None or not first or rounds < _ROUNDS:
        return
    flying = throughput / run.output_tokens * (first + pace * (run.output_tokens - 1))
    if 0 < flying < _IN_FLIGHT[0] * users:
        said = f"at {throughput:.4g} tokens a second {flying:.4g} requests are in flight, of {users:g} users: units contradict"
        raise CurveRefused(f"{where} {field}", pace, said)
