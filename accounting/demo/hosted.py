"""Which of the product's requests does its own pool serve, and when was each token's turn?

The pool runs a small model on a machine of its own, a part of each day. Times are those of a simulation on the measured curve, so that
the log is one the pool could have written; requests beyond what the curve measured stay with the provider.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np

from accounting.demo import product
from accounting.demo.traffic import DAY, ERROR, OK, SECOND, SERVED, Bools, Ints, Traffic
from accounting.selfhosted.arrays import NO_TIME, UNKNOWN
from accounting.selfhosted.curve import Curve, Domain, prompts_measured
from accounting.selfhosted.curve_json import load_curve
from accounting.selfhosted.forward import complete_times
from accounting.selfhosted.requests import Requests

MEASURED = Path(__file__).parent / "curve.json"
"""A CPU measurement of a scaled model; its `source` says when, by which engine and on what."""


def measured() -> str:
    """The curve file that comes with the demo."""
    return MEASURED.read_text(encoding="utf-8")


_SATURDAY = 5
_LAST_MINUTES = 15
"""The pool takes nothing new in the last minutes of a day, so that all is answered when its machine goes."""


def hours_up(month: date, until: date) -> list[tuple[datetime, datetime]]:
    """From when to when the pool's machine is there, day by day."""
    days = [month + timedelta(days=number) for number in range((until - month).days)]
    begins = [datetime.combine(day, product.UP_FROM, UTC) for day in days if day.weekday() < _SATURDAY]
    return [(begin, begin + timedelta(hours=product.UP_HOURS)) for begin in begins]


def serve(traffic: Traffic, curve: Curve | None) -> Traffic:
    """The traffic with the pool's part of it: model, times, tokens of reasoning. The rest stays as it was drawn.

    `curve`: of the pool; None: the measured one that comes with the demo.
    """
    curve = curve or load_curve(measured())
    rows = np.flatnonzero(_asked(traffic) & _up(traffic) & _measured(traffic, curve.domain))
    if not rows.size:
        return traffic
    failed = traffic.status[rows] == ERROR
    done, _ = complete_times(curve, product.ENGINE, _requests(traffic, rows, failed), 1)
    # On a slow curve the day's last may not be answered before the machine goes: the provider answers these.
    kept = failed | (done.completed_at <= traffic.occurred_at[rows] // DAY * DAY + _end_of_day())
    rows, failed, done = rows[kept], failed[kept], done.take(np.flatnonzero(kept))
    first, took, model, reasoning = (
        column.copy() for column in (traffic.first_token_at, traffic.took, traffic.model, traffic.reasoning)
    )
    model[rows], reasoning[rows] = product.HOSTED, 0
    first[rows] = np.where(failed, NO_TIME, done.first_token_at)
    took[rows] = np.where(failed, traffic.took[rows], done.completed_at - traffic.occurred_at[rows])
    return replace(traffic, model=model, reasoning=reasoning, first_token_at=first, took=took)


def _asked(traffic: Traffic) -> Bools:
    whom = [SERVED.index(name) for name in product.HOSTED_FOR]
    features = [product.FEATURES.index(name) for name in product.HOSTED_FEATURES]
    asked = np.isin(traffic.served, whom) & np.isin(traffic.feature, features) & ~traffic.batch
    asked = asked & np.isin(traffic.status, (OK, ERROR)) & (traffic.model != product.UNLISTED)
    return np.asarray(asked)


def _up(traffic: Traffic) -> Bools:
    begin, end = product.UP_FROM.hour * 3_600 * SECOND, _end_of_day() - _LAST_MINUTES * 60 * SECOND
    of_day = traffic.occurred_at % DAY
    # 1970 began on a Thursday, three days after a Monday.
    weekday = (traffic.occurred_at // DAY + 3) % 7
    up: Bools = (of_day >= begin) & (of_day < end) & (weekday < _SATURDAY)
    return up


def _end_of_day() -> int:
    """When the machine goes, microseconds from midnight."""
    return (product.UP_FROM.hour + product.UP_HOURS) * 3_600 * SECOND


def _measured(traffic: Traffic, domain: Domain) -> Bools:
    """Which requests lie within what the curve was measured at."""
    new = traffic.input_tokens - traffic.cache_read
    prompts = prompts_measured(domain, new, traffic.cache_read, product.ENGINE.token_budget)
    fits: Bools = (traffic.input_tokens + traffic.output_tokens <= domain.context[1]) & prompts
    return fits


def _requests(traffic: Traffic, rows: Ints, failed: Bools) -> Requests:
    """What the pool is asked for; a request that failed never began."""
    count = rows.size
    return Requests(
        request_id=np.arange(count),
        replica=np.zeros(count, np.int64),
        received_at=traffic.occurred_at[rows],
        prefill_started_at=np.full(count, NO_TIME),
        first_token_at=np.full(count, NO_TIME),
        completed_at=np.where(failed, traffic.occurred_at[rows] + traffic.took[rows], NO_TIME),
        context_tokens=np.maximum(traffic.input_tokens[rows], 1),
        cached_tokens=traffic.cache_read[rows],
        output_tokens=traffic.output_tokens[rows],
        decode_steps=np.full(count, UNKNOWN),
        positions=np.full(count, UNKNOWN),
        shared_tokens=np.zeros(count, np.int64),
        failed=failed,
    )
