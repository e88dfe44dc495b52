"""Which requests does the product make in the month? Columns of them, drawn at once from one seed."""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
import numpy.typing as npt

from accounting.demo import figures, product
from accounting.demo.population import LARGEST, User, weights
from accounting.selfhosted.arrays import NO_TIME

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
LONGEST_INPUT = 190_000
"""Drawn inputs above this are taken as this long: the models' windows end at 200,000."""

HIT_PREFIX = 0.8
"""Mean share of the input that a hit covers; shares of hits follow so that the public token shares come out."""

LONG_WRITES = 0.15
"""Share of the cache writes that ask for an hour, where the provider offers it."""

SECOND = 1_000_000
DAY = 86_400 * SECOND


@dataclass(frozen=True)
class Traffic:
    """Columns of n requests in order of time, shape (n,) each.

    Attributes:
        occurred_at: microseconds since 1970, UTC. took: microseconds until the end. first_token_at: NO_TIME where nobody logs it.
        user: index into users, -1 for evals.
        served, model, feature, status: indexes into product's ROUTES, MODELS, FEATURES, STATUSES.
        input_tokens: total. cache_read, cache_write: disjoint parts of it. long_write: writes kept for an hour.
        output_tokens: total. reasoning: part of it. searches, fetches: web calls.
    """

    occurred_at: Ints
    took: Ints
    user: Ints
    served: Ints
    model: Ints
    feature: Ints
    status: Ints
    batch: Bools
    input_tokens: Ints
    cache_read: Ints
    cache_write: Ints
    long_write: Bools
    output_tokens: Ints
    reasoning: Ints
    searches: Ints
    fetches: Ints
    first_token_at: Ints


SERVED = tuple(product.ROUTES)
EVAL = SERVED.index("eval")
FREE = SERVED.index("free")
CHAT = product.FEATURES.index("chat")
RESEARCH = product.FEATURES.index("research")
DIGEST = product.FEATURES.index("digest")
OK, ERROR, TIMEOUT, CANCELLED = range(len(product.STATUSES))


def draw(rng: np.random.Generator, users: list[User], month: date, n: int) -> Traffic:
    """n requests of the month that starts on `month`; the same arguments and generator state give the same columns."""
    user, served, largest = _who(rng, users, n)
    occurred = _when(rng, users, user, month)
    order = np.argsort(occurred, kind="stable")
    occurred, user, served, largest = occurred[order], user[order], served[order], largest[order]
    model = _models(rng, served, n)
    feature = rng.choice(len(product.FEATURES), n, p=product.FEATURE_SHARES)
    status = rng.choice(len(product.STATUSES), n, p=product.STATUS_SHARES)
    unlisted = model == product.UNLISTED
    batch = ((feature == DIGEST) | (served == EVAL)) & ~unlisted & (occurred >= _micros(product.BATCH_FROM))
    total = np.minimum(
        np.rint(rng.lognormal(np.log(figures.INPUT_MEDIAN), figures.INPUT_SIGMA, n)), LONGEST_INPUT
    ).astype(np.int64)
    total[status == ERROR] = 0
    read, write = _caches(rng, model, batch | unlisted, total, n)
    output = _outputs(rng, largest, status, n)
    reasons = np.array([m.reasons for m in product.MODELS])[model]
    reasoning = np.where(reasons, np.floor(output * rng.beta(4.0, 3.0, n)), 0).astype(np.int64)
    searching = (feature == RESEARCH) & (served != EVAL) & ~unlisted & (status == OK)
    searches = np.where(searching, rng.integers(1, 4, n), 0)
    messages = np.array([m.surface == "messages" for m in product.MODELS])[model]
    fetches = np.where(searching & messages, rng.integers(0, 3, n), 0)
    seconds = 0.4 + total / 20_000 + output / 80
    took = np.rint(np.where(status == TIMEOUT, 60.0, seconds * rng.uniform(0.7, 1.5, n)) * SECOND).astype(np.int64)
    return Traffic(
        occurred_at=occurred,
        took=took,
        user=user,
        served=served,
        model=model,
        feature=feature,
        status=status,
        batch=batch,
        input_tokens=total,
        cache_read=read,
        cache_write=write,
        long_write=rng.random(n) < LONG_WRITES,
        output_tokens=output,
        reasoning=reasoning,
        searches=searches,
        fetches=fetches,
        first_token_at=np.full(n, NO_TIME),
    )


def _who(rng: np.random.Generator, users: list[User], n: int) -> tuple[Ints, Ints, Bools]:
    """(user, served, whether of the largest account) of each request."""
    rest = 1.0 - product.EVAL_SHARE - product.INTERNAL_SHARE - figures.LARGEST_REQUEST_SHARE
    kind = rng.choice(4, n, p=(product.EVAL_SHARE, product.INTERNAL_SHARE, figures.LARGEST_REQUEST_SHARE, rest))
    user = np.full(n, -1, dtype=np.int64)
    for number, share in (
        (1, weights(users, lambda one: one.served == "internal")),
        (2, weights(users, lambda one: one.account_id == LARGEST)),
        (3, weights(users, lambda one: one.served != "internal" and one.account_id != LARGEST)),
    ):
        chosen = kind == number
        user[chosen] = rng.choice(len(users), int(chosen.sum()), p=share)
    served_of = np.array([SERVED.index(u.served) for u in users] + [EVAL])
    return user, served_of[user], kind == 2


def _when(rng: np.random.Generator, users: list[User], user: Ints, month: date) -> Ints:
    """Microseconds since 1970: more on weekdays and in the evening; evals (user -1) between 02:00 and 04:00 UTC."""
    n = len(user)
    days = monthrange(month.year, month.month)[1]
    by_day = np.array([product.WEEKEND if (month + timedelta(days=d)).weekday() >= 5 else 1.0 for d in range(days)])
    swing = (figures.PEAK_TO_TROUGH - 1.0) / (figures.PEAK_TO_TROUGH + 1.0)
    by_hour = 1.0 + swing * np.cos((np.arange(24) + 0.5 - figures.BUSIEST_HOUR) * 2.0 * np.pi / 24.0)
    day = rng.choice(days, n, p=by_day / by_day.sum())
    hour = np.where(user < 0, rng.integers(2, 4, n), rng.choice(24, n, p=by_hour / by_hour.sum()))
    # Who joined or left within the month has the same number of requests on fewer days; the hour of the day stays.
    first = np.array([u.first_day for u in users] + [0])[user]
    end = np.array([u.end_day for u in users] + [days])[user]
    day = first + day % (end - first)
    milliseconds = rng.integers(0, 3_600_000, n)
    result: Ints = _micros(month) + day * DAY + hour * 3_600 * SECOND + milliseconds * 1_000
    return result


def _models(rng: np.random.Generator, served: Ints, n: int) -> Ints:
    model = np.empty(n, dtype=np.int64)
    for number, name in enumerate(SERVED):
        chosen = served == number
        model[chosen] = rng.choice(product.UNLISTED, int(chosen.sum()), p=product.ROUTES[name])
    model[rng.random(n) < product.UNLISTED_SHARE] = product.UNLISTED
    return model


def _caches(rng: np.random.Generator, model: Ints, uncached: Bools, total: Ints, n: int) -> tuple[Ints, Ints]:
    """(cache reads, cache writes); batch traffic runs without a cache here."""
    forgets = np.array([m.forgets for m in product.MODELS])[model]
    writes = np.array([m.writes is not None for m in product.MODELS])[model]
    share = np.where(forgets, figures.HIT_SHARE_5_MINUTES, figures.HIT_SHARE_FOREVER)
    hit = rng.random(n) < share / HIT_PREFIX
    read = np.where(hit & ~uncached, np.floor(total * rng.beta(8.0, 2.0, n)), 0).astype(np.int64)
    writing = writes & ~uncached & (rng.random(n) < 0.5)
    write = np.where(writing, np.floor((total - read) * rng.beta(6.0, 2.0, n)), 0).astype(np.int64)
    return read, write


def _outputs(rng: np.random.Generator, largest: Bools, status: Ints, n: int) -> Ints:
    requests, tokens = figures.LARGEST_REQUEST_SHARE, figures.LARGEST_OUTPUT_SHARE
    scale = np.where(largest, tokens / requests, (1.0 - tokens) / (1.0 - requests))
    drawn = rng.lognormal(np.log(figures.OUTPUT_MEDIAN), figures.OUTPUT_SIGMA, n) * scale
    kept = np.where(status == OK, 1.0, np.where(status == CANCELLED, rng.random(n), 0.0))
    result: Ints = np.rint(drawn * kept).astype(np.int64)
    return result


def _micros(day: date) -> int:
    """Microseconds from 1970 to the start of the day, UTC."""
    return (day - date(1970, 1, 1)).days * DAY
