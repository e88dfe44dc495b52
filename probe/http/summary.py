"""What did the clients of one load see: first token, pace, end to end, throughput?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from probe.curve.schema import Metric, Served
from probe.http.checks import clean
from probe.http.load import Call
from probe.http.saturation import Load

TOOL = "tokencogs probe http"
METRICS = [
    Metric(
        name="ttft", tool=TOOL, definition="from when a request was to be sent to its first token, queueing included"
    ),
    Metric(name="tpot", tool=TOOL, definition="(last token - first token) / (output tokens - 1), a figure a request"),
    Metric(
        name="itl",
        tool=TOOL,
        definition="between events of a stream after the first; an event may bring several tokens",
    ),
    Metric(name="e2e", tool=TOOL, definition="from when a request was to be sent to the end of its stream"),
    Metric(
        name="output_throughput", tool=TOOL, definition="output tokens over first sent to last ended, of those measured"
    ),
]


def served_of(
    calls: Sequence[Call], load: Load, *, concurrency: float | None = None, rate: float | None = None, label: str = ""
) -> Served | None:
    """One load's figures in seconds; None where no measured request was answered as asked."""
    counted = [call for call in calls if not call.warm_up]
    used = [call for call in counted if clean(call) and call.stream.arrivals]
    if not used:
        return None
    output = [sum(new for _, new in call.stream.arrivals) for call in used]
    ends = [(call.stream.arrivals[0][0], call.stream.arrivals[-1][0]) for call in used]
    ttft = [first - call.scheduled for call, (first, _) in zip(used, ends, strict=True)]
    tpot = [(last - first) / (n - 1) for (first, last), n in zip(ends, output, strict=True) if n > 1]
    itl = [gap for call in used for gap in np.diff([at for at, _ in call.stream.arrivals])]
    duration = max(call.ended for call in used) - min(call.sent for call in used)
    cached = [call.stream.cached_tokens for call in used]
    return Served(
        input_tokens=float(np.mean([call.stream.prompt_tokens or call.asked_input for call in used])),
        output_tokens=float(np.mean(output)),
        concurrency=concurrency,
        request_rate=rate,
        requests=len(counted),
        failed=len(counted) - len(used),
        duration=duration,
        ttft_median=_at(ttft, 50),
        ttft_mean=_mean(ttft),
        ttft_p99=_at(ttft, 99),
        tpot_median=_at(tpot, 50),
        tpot_mean=_mean(tpot),
        tpot_p99=_at(tpot, 99),
        itl_median=_at(itl, 50),
        itl_mean=_mean(itl),
        itl_p99=_at(itl, 99),
        e2e_median=_at([call.ended - call.scheduled for call in used], 50),
        output_tokens_per_second=sum(output) / duration,
        total_tokens_per_second=(sum(output) + sum(call.stream.prompt_tokens or call.asked_input for call in used))
        / duration,
        requests_per_second=len(used) / duration,
        cached_tokens=None if any(one is None for one in cached) else float(np.mean([one or 0 for one in cached])),
        client_busy=load.busy,
        event_loop_lag=load.lag,
        label=label,
    )


def _at(values: Sequence[float], percentile: float) -> float | None:
    return float(np.percentile(values, percentile)) if len(values) else None


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if len(values) else None
