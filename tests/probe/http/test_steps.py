"""Which gaps between tokens are steps of the engine, of which batch, at which contexts?"""

from __future__ import annotations

import pytest

from probe.http.checks import faults, remarks
from probe.http.saturation import Load
from probe.http.steps import decode_samples, point_of, prefill_samples
from probe.http.summary import served_of
from tests.probe.http.calls import made


def test_two_users_in_step_make_one_sample_a_step() -> None:
    """Tokens at 1, 2, 3 s and 2 ms later: two steps of 1 s. In the first both attend to 100 + 1, in the second to 100 + 2."""
    both = [made(0, [1, 2, 3]), made(0, [1.002, 2.002, 3.002])]
    samples = decode_samples(both, 2, 0, saturated=False)
    assert [one.contexts for one in samples] == [[101, 101], [102, 102]]
    assert [one.seconds for one in samples] == pytest.approx([1, 1])


def test_a_step_beside_a_prompt_is_none() -> None:
    """The second user's request waits for its first token from 2.1 to 4: the gaps 2 to 3 and 3 to 4 have its prompt in them."""
    calls = [made(0, [1, 2, 3, 4, 5]), made(2.1, [4.01, 5.01])]
    assert [one.at for one in decode_samples(calls, 1, 0, saturated=False)] == [2]
    assert [one.at for one in decode_samples(calls, 2, 0, saturated=False)] == [5]


def test_a_user_who_has_ended_is_no_part_of_the_batch() -> None:
    calls = [made(0, [1, 2, 3, 4]), made(0, [1, 2])]
    assert [one.at for one in decode_samples(calls, 2, 0, saturated=False)] == [2]
    assert [one.contexts for one in decode_samples(calls, 1, 0, saturated=False)] == [[102], [103]]


def test_an_event_of_several_tokens_is_a_step_a_token() -> None:
    one = made(0, [1, 2])
    drafted = type(one)(0, 0, 2, 100, 3, type(one.stream)(((1, 1), (2, 2)), 100, 3, 0))
    assert [sample.seconds for sample in decode_samples([drafted], 1, 0, saturated=False)] == [0.5]


def test_warm_up_counts_for_who_is_there_but_is_no_sample() -> None:
    calls = [made(0, [1, 2, 3], warm_up=True), made(0, [1, 2, 3])]
    assert len(decode_samples(calls, 2, 0, saturated=False)) == 2
    assert decode_samples([made(0, [1, 2, 3], warm_up=True)], 1, 0, saturated=False) == []


def test_a_prompt_s_own_step_is_its_first_token_less_a_bare_round_trip() -> None:
    [sample] = prefill_samples([made(10, [10.5, 11], scheduled=9)], 0.1, 0, saturated=False)
    assert sample.seconds == pytest.approx(0.4)
    assert sample.prefills == [(100, 0)]


def test_the_point_of_a_cell_is_its_median_with_quartiles_and_marked_samples_left_out() -> None:
    """Gaps of 1, 2, 3 s, and 9 s while the client was saturated. Contexts 101, 102, 103 on average 102."""
    quiet = decode_samples([made(0, [1, 2, 4, 7])], 1, 0, saturated=False)
    point = point_of([*quiet, *decode_samples([made(0, [1, 10])], 1, 1, saturated=True)])
    assert point is not None
    assert (point.seconds, point.p25, point.p75, point.minimum) == (2, 1.5, 2.5, 1)
    assert (point.n, point.contaminated, point.batch, point.context_sum) == (3, 1, 1, 102)
    assert point_of(decode_samples([made(0, [1, 10])], 1, 1, saturated=True)) is None


@pytest.mark.parametrize(("call", "why"), [
    (made(0, [1, 2], asked=3), "output_tokens: 2 came, 3 were asked for"),
    (made(0, [1, 2], counted=3, asked=3), "stream: 2 tokens were seen to arrive, the server counted 3"),
    (made(0, [1, 2], cached=64), "cached_tokens: 64"),
])  # fmt: skip
def test_an_answer_that_is_not_what_was_asked_for_is_not_measured_by(call: object, why: str) -> None:
    assert why in faults(call)[0]  # type: ignore[arg-type]
    assert decode_samples([call], 1, 0, saturated=False) == []  # type: ignore[list-item]
    assert prefill_samples([call], 0, 0, saturated=False) == []  # type: ignore[list-item]


def test_cached_tokens_that_nobody_reports_are_unknown_unless_counters_tell() -> None:
    calls = [made(0, [1, 2], cached=None)]
    assert any("cached tokens: unknown" in line for line in remarks(calls, None, 0.0))
    assert remarks(calls, 0, 0.0) == []
    assert any("32 prompt tokens were found" in line for line in remarks(calls, 32, 0.0))


def test_a_first_token_sooner_than_a_bare_request_s_answer_is_no_prompt_s_step_and_is_said() -> None:
    """First tokens after 0.1 and 0.5 s; a bare request takes 0.1 s. Of the first nothing is left for its prompt."""
    calls = [made(0, [0.1, 1]), made(2, [2.5, 3])]
    assert [one.at for one in prefill_samples(calls, 0.1, 0, saturated=False)] == [2.5]
    assert remarks(calls, 0, 0.1) == [
        "first token: 1 came no later than a bare request's answer; those prompts' steps are left out"
    ]


def test_a_missing_count_is_said_and_the_answer_still_counts() -> None:
    call = made(0, [1, 2], counted=None)
    assert faults(call) == []
    assert remarks([call], 0, 0.0) == ["usage: the server did not count; tokens are those seen to arrive, one an event"]


def test_what_clients_saw_counts_from_when_a_request_was_to_be_sent() -> None:
    """To be sent at 0, sent at 2, tokens at 3, 4, 6: first after 3 s, pace (6 - 3) / 2, gaps 1 and 2, three tokens in 4 s."""
    run = served_of([made(2, [3, 4, 6], scheduled=0)], Load(0.1, 0.0), rate=1.0)
    assert run is not None
    assert (run.ttft_median, run.tpot_median, run.itl_median, run.e2e_median) == (3, 1.5, 1.5, 6)
    assert (run.output_tokens_per_second, run.total_tokens_per_second, run.failed) == (0.75, 25.75, 0)


def test_figures_of_two_requests_by_hand() -> None:
    """First tokens after 1 and 3 s; paces (3 - 1) / 2 = 1 and (8 - 4) / 1 = 4 s; gaps of 0.5, 1.5 and 4 s; ends after 3 and 7 s. The third
    is short and counts as failed. Five tokens and two prompts of 100 in the 8 s from the first sent to the last ended."""
    calls = [made(0, [1, 1.5, 3]), made(1, [4, 8]), made(0, [1, 2], asked=9)]
    run = served_of(calls, Load(0.1, 0.0), concurrency=2)
    assert run is not None
    assert (run.ttft_median, run.ttft_mean, run.ttft_p99) == pytest.approx((2, 2, 1 + 0.99 * 2))
    assert (run.tpot_median, run.tpot_mean, run.tpot_p99) == pytest.approx((2.5, 2.5, 1 + 0.99 * 3))
    assert (run.itl_median, run.itl_mean, run.itl_p99) == pytest.approx((1.5, 2, 1.5 + 0.98 * 2.5))
    assert (run.e2e_median, run.duration) == (5, 8)
    assert (run.output_tokens_per_second, run.total_tokens_per_second) == (0.625, 25.625)
    assert (run.requests_per_second, run.requests, run.failed) == (0.25, 3, 1)


def test_a_short_answer_is_a_failed_one_and_unknown_cached_tokens_stay_unknown() -> None:
    run = served_of([made(0, [1, 2], cached=None), made(0, [1, 2], asked=9)], Load(0.1, 0.0), concurrency=2)
    assert run is not None
    assert (run.requests, run.failed, run.cached_tokens) == (2, 1, None)


@pytest.mark.parametrize(("load", "itl", "late"), [
    (Load(0.81, 0.0), None, True),
    (Load(0.8, 0.0), None, False),
    (Load(0.1, 0.011), 0.02, True),
    (Load(0.1, 0.010), 0.02, False),
    (Load(0.1, 0.5), None, False),
])  # fmt: skip
def test_a_client_is_saturated_by_four_fifths_of_a_core_or_half_a_token_late(
    load: Load, itl: float | None, late: bool
) -> None:
    assert load.saturated(itl) is late
