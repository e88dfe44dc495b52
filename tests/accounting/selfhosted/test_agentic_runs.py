"""What did agentic work on B200 servers cost by request and user, and what does the log not know that the server does?"""

from __future__ import annotations

import csv
from decimal import Decimal

import numpy as np
import pytest

from accounting.money import from_minor
from accounting.selfhosted.reasons import NO_EVIDENCE, REASONS
from tests.accounting.selfhosted.agentic_runs import Run, by_user, curve_of, gpu_hour, runs, settle
from tests.shared_data import shared


def run(name: str) -> Run:
    [found] = [one for one in runs() if name in one.name]
    return found


EIGHT, CROWD, ONE = "tp8_bs8_offloadoff", "tp4_bs256_offloadon", "tp8_bs1_offloadoff"


def test_a_run_is_billed_at_the_price_of_its_day() -> None:
    """8 B200s at 14.2416 dollars for 1,073.903892 s are 33.98690...: 113.9328 * 1,073.903892 / 3,600."""
    assert gpu_hour() == Decimal("14.2416")
    assert from_minor(run(EIGHT).bill) == pytest.approx(
        Decimal("113.9328") * Decimal("1073.903892") / 3_600, rel=Decimal("1e-8")
    )


@pytest.mark.parametrize("policy", ["equal", "switch"])
def test_every_run_is_paid_to_the_last_digit_by_those_that_gave_tokens_out(policy: str) -> None:
    """Failed requests show no evidence of steps: their time is unproven work in the gap, and no charge of theirs."""
    assert len(runs()) == 18
    for one in runs():
        found, settled = settle(one, policy)  # type: ignore[arg-type]
        assert settled.direct + settled.gap + settled.idle == one.bill
        assert sum(by_user(one, settled).values()) == one.bill
        gave = one.requests.output_tokens > 0
        assert np.array_equal(np.unique(settled.lines.row), np.flatnonzero(gave))
        assert set(found.reason[~gave].tolist()) <= {NO_EVIDENCE}
        assert REASONS[NO_EVIDENCE] == "no_evidence_of_steps"


def test_failed_requests_hold_most_of_the_input_that_the_server_never_saw() -> None:
    """256 users: 2,584,028 tokens of 44 requests that succeeded, 35,470,516 of 493 that failed; the server counted 4,393,330."""
    one = run(CROWD)
    good, failed = (int(one.input_tokens[flags].sum()) for flags in (one.success, ~one.success))
    assert (good, failed, int((~one.success).sum())) == (2_584_028, 35_470_516, 493)
    assert one.server_prompt_tokens - good == 1_809_302
    assert (one.server_prompt_tokens - good) / failed == pytest.approx(0.051, abs=0.001)
    assert one.server_requests == int(one.success.sum()) == 44


def test_what_failed_requests_were_given_is_in_the_servers_count_alone() -> None:
    """The log holds 124,628 output tokens, the server generated 658,710: four fifths of the work left no trace in the log."""
    one = run(CROWD)
    assert int(one.requests.output_tokens.sum()) == 124_628
    assert one.server_generation_tokens - 124_628 == 534_082
    _, settled = settle(one, "equal")
    assert settled.gap > one.bill // 2


def test_failed_requests_hold_two_fifths_of_all_logged_input() -> None:
    """975 of 2,282 rows, 73,383,424 of 175,174,332 tokens; of the 18 runs with server totals 70,674,951 of 148,072,364."""
    with shared("inferencex/agentic_requests.csv").open(encoding="utf-8") as file:
        rows = [(row["success"] == "True", int(row["input_tokens"])) for row in csv.DictReader(file)]
    assert (len(rows), sum(not good for good, _ in rows)) == (2_282, 975)
    assert sum(tokens for good, tokens in rows if not good) == 73_383_424
    assert sum(tokens for _, tokens in rows) == 175_174_332
    assert sum(int(one.input_tokens[~one.success].sum()) for one in runs()) == 70_674_951
    assert sum(int(one.input_tokens.sum()) for one in runs()) == 148_072_364


def test_the_log_promises_cache_hits_that_the_server_did_not_have() -> None:
    """Blocks that a cache without limit would find are 95 % of the prompts; the server found 95 % for one user, nothing for 256."""
    for name, server in ((ONE, 0.951), (CROWD, 0.0002)):
        one = run(name)
        logged = one.requests.cached_tokens.sum() / one.requests.context_tokens.sum()
        assert logged > 0.9
        assert float(one.hit_share) == pytest.approx(server, abs=0.001)


def test_policies_agree_until_the_cache_is_full() -> None:
    """8 users of about 80,000 tokens hold 640,000 of 1,590,000; 32 hold more than there is."""
    for name, same in ((EIGHT, True), ("tp8_bs32_offloadon", False)):
        one = run(name)
        equal, switch = (settle(one, policy)[1].fully_loaded_cost for policy in ("equal", "switch"))  # type: ignore[arg-type]
        assert np.array_equal(equal, switch) == same


def test_a_table_is_no_measure_of_single_steps_and_says_so() -> None:
    """One user pauses between calls: idle is over a third of the bill. The table counts pauses as steps, so the gap is as far below 0."""
    one = run(ONE)
    assert curve_of(one).form == "table"
    _, settled = settle(one, "equal")
    assert settled.idle > one.bill // 3
    assert settled.gap < -one.bill // 3
    assert settled.underfill is None
