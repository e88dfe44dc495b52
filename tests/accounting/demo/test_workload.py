"""Does the demo's month follow the public figures it cites, and is it the same every time?"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from datetime import UTC, date, datetime

import msgspec
import numpy as np
import pytest

from accounting.demo import product, workload
from accounting.demo.hosted import hours_up, measured
from accounting.demo.population import LARGEST
from accounting.demo.workload import Workload
from accounting.selfhosted.curve_json import load_curve
from accounting.usage.columns import prepare
from accounting.usage.native import NativeEvent

MONTH = date(2026, 10, 1)
MESSAGES = [model.surface == "messages" for model in product.MODELS]


@pytest.fixture(scope="module")
def month() -> Workload:
    return workload.make(MONTH, 50_000, 1)


@pytest.fixture(scope="module")
def events(month: Workload) -> list[NativeEvent]:
    decoder = msgspec.json.Decoder(NativeEvent)
    return [event for batch in month.batches(10_000) for event in decoder.decode_lines(batch)]


def largest(month: Workload) -> np.ndarray:
    return np.array([user.account_id == LARGEST for user in month.users] + [False])[month.traffic.user]


def test_there_are_1000_users_beside_the_staff(month: Workload) -> None:
    kinds = Counter(user.served for user in month.users)
    assert kinds == {"free": 760, "pro": 150, "team": 60, "trial": 30, "internal": 20}


def test_the_largest_account_makes_29_percent_of_requests_and_gets_49_percent_of_output(month: Workload) -> None:
    theirs = largest(month)
    output = month.traffic.output_tokens
    assert theirs.mean() == pytest.approx(0.29, abs=0.01)
    assert output[theirs].sum() / output.sum() == pytest.approx(0.49, abs=0.01)


def test_inputs_have_the_quantiles_of_mooncake(month: Workload) -> None:
    sent = month.traffic.input_tokens[month.traffic.input_tokens > 0]
    assert np.percentile(sent, [50, 95, 99]) == pytest.approx([6_909, 39_600, 85_400], rel=0.06)


def test_cache_hits_have_the_token_shares_of_mooncake(month: Workload) -> None:
    cached = ~month.traffic.batch & (month.traffic.model != product.UNLISTED)
    for messages, share in ((True, 0.293), (False, 0.374)):
        chosen = cached & (np.array(MESSAGES)[month.traffic.model] == messages)
        hit = month.traffic.cache_read[chosen].sum() / month.traffic.input_tokens[chosen].sum()
        assert hit == pytest.approx(share, abs=0.02)


def test_requests_lie_in_the_month_and_in_order(month: Workload) -> None:
    moments = month.traffic.occurred_at
    assert moments[0] >= datetime(2026, 10, 1, tzinfo=UTC).timestamp() * 1_000_000
    assert moments[-1] < datetime(2026, 11, 1, tzinfo=UTC).timestamp() * 1_000_000
    assert np.all(np.diff(moments) >= 0)


def test_the_evening_is_busier_than_the_morning_by_the_ratio_of_servegen(month: Workload) -> None:
    hours = month.traffic.occurred_at[month.traffic.user >= 0] // 3_600_000_000 % 24
    counts = np.bincount(hours, minlength=24)
    assert counts[20:22].sum() / counts[8:10].sum() == pytest.approx(2.21, rel=0.1)


def test_a_user_makes_no_request_outside_the_days_of_the_subscription(
    events: list[NativeEvent], month: Workload
) -> None:
    moved = {one.user_id: one for one in month.subscriptions if (one.ends_on - one.starts_on).days < 31}
    assert 10 < len(moved) < 40
    for event in events:
        if event.user_id in moved:
            assert moved[event.user_id].starts_on <= event.occurred_at.date() < moved[event.user_id].ends_on


def test_all_kinds_of_traffic_are_there(events: list[NativeEvent]) -> None:
    assert {event.purpose for event in events} == {"production", "free", "trial", "eval", "internal"}
    assert {event.status for event in events} == {"ok", "error", "timeout", "cancelled"}
    assert {event.provider for event in events} == {"google", "openai", "anthropic", "self-hosted"}
    assert len({event.model for event in events}) == 11
    assert any(event.batch for event in events)
    assert any(event.usage.cache_write_1h_tokens for event in events)
    assert any(event.usage.web_search_requests for event in events)


def test_the_pool_serves_short_requests_within_what_its_curve_was_measured_at_while_its_machine_is_up(
    events: list[NativeEvent],
) -> None:
    curve = load_curve(measured())
    up = hours_up(MONTH, date(2026, 11, 1))
    assert (len(up), up[0]) == (22, (datetime(2026, 10, 1, 14, tzinfo=UTC), datetime(2026, 10, 2, tzinfo=UTC)))
    hosted = [event for event in events if event.deployment is not None]
    assert 4_000 < len(hosted) < 8_000
    assert {(event.model, event.replica) for event in hosted} == {("small-chat", "r0")}
    assert {event.purpose for event in hosted} == {"free", "trial", "production", "internal"}
    for event in hosted:
        assert event.usage is not None
        assert event.usage.input_tokens + event.usage.output_tokens <= curve.domain.context[1]
        assert event.status == "error" or event.occurred_at < event.first_token_at <= event.completed_at
        assert any(begin <= event.occurred_at and event.completed_at <= end for begin, end in up)


def test_the_pool_is_busy_a_third_of_its_hours_and_has_batches_at_times() -> None:
    """22,000 of 200,000 requests, 18 s each, are half of the 22 x 10 hours; they overlap, so that less of the time is busy."""
    traffic = workload.make(MONTH, 200_000, 1).traffic
    rows = np.flatnonzero((traffic.model == product.HOSTED) & (traffic.first_token_at > 0))
    begins, ends = traffic.occurred_at[rows], traffic.occurred_at[rows] + traffic.took[rows]
    order = np.argsort(np.concatenate([begins, ends]), kind="stable")
    moments = np.concatenate([begins, ends])[order] / 1e6
    running = np.cumsum(np.where(order < rows.size, 1, -1))[:-1]
    seconds = np.diff(moments)
    assert 0.25 < seconds[running > 0].sum() / (22 * 36_000) < 0.5
    assert 0.25 < seconds[running > 1].sum() / seconds[running > 0].sum() < 0.6
    assert running.max() >= 5


def test_on_a_curve_too_slow_for_the_day_the_provider_answers_what_the_pool_can_not() -> None:
    file = json.loads(measured())
    file["parameters"] = {
        name: value * (1 if name.startswith("experts") else 40) for name, value in file["parameters"].items()
    }
    usual, slow = (workload.make(MONTH, 20_000, 1, curve).traffic for curve in (None, load_curve(json.dumps(file))))
    hosted = slow.model == product.HOSTED
    assert 0 < hosted.sum() < (usual.model == product.HOSTED).sum() - 100
    ends = (slow.occurred_at + slow.took)[hosted]
    assert np.array_equal(ends // 86_400_000_000, slow.occurred_at[hosted] // 86_400_000_000)


def test_the_curve_says_that_it_is_a_cpu_measurement_of_a_scaled_model() -> None:
    source = json.loads(measured())["source"]
    assert source["note"].startswith("CPU measurement of a scaled model")
    assert (source["model"]["name"], source["model"]["random_weights"]) == ("Llama-248M x0.75", True)
    assert (source["engine"]["name"], source["run"]["measured_at"][:10]) == ("tokencogs", "2026-11-30")
    assert "EPYC" in source["device"]["gpu"]


def test_every_event_is_one_the_ledger_takes(month: Workload) -> None:
    for batch in month.batches(10_000):
        assert prepare(batch, ndjson=True, now=datetime(2026, 11, 2, tzinfo=UTC)).rejected == []


def test_the_same_arguments_make_the_same_bytes_and_another_seed_other_ids() -> None:
    def digest(seed: int) -> str:
        return hashlib.sha256(b"".join(workload.make(MONTH, 2_000, seed).batches(500))).hexdigest()

    assert digest(1) == digest(1)
    first = [msgspec.json.decode(next(workload.make(MONTH, 2_000, seed).batches(1)))["event_id"] for seed in (1, 2)]
    assert first == ["demo-2026-10-1-2000-0000000", "demo-2026-10-2-2000-0000000"]


@pytest.mark.parametrize(
    ("today", "month"),
    [
        (date(2026, 11, 1), date(2026, 10, 1)),
        (date(2026, 1, 31), date(2025, 12, 1)),
        (date(2024, 3, 30), date(2024, 2, 1)),
    ],
)
def test_the_last_full_month_ends_before_today(today: date, month: date) -> None:
    assert workload.last_full_month(today) == month


@pytest.mark.parametrize(
    ("month", "after"), [(date(2026, 12, 1), date(2027, 1, 1)), (date(2024, 2, 1), date(2024, 3, 1))]
)
def test_the_next_month_starts_on_its_first(month: date, after: date) -> None:
    assert workload.next_month(month) == after
