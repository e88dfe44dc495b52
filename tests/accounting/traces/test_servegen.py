"""Is a request log derived from ServeGen read, and told apart from real requests?"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

from accounting.traces.servegen import SERVEGEN
from tests.accounting.traces.rows import START, bad, event, events, read, read_file, servegen
from tests.shared_data import shared

HEADER = "t_s,client_id,input_tokens,output_tokens,reasoning_tokens\n"


def test_a_row_is_an_event_of_its_client_after_the_start() -> None:
    one = event(read(SERVEGEN, HEADER + "86399.956,55,204,411,135\n", start=START)[0])
    assert one.occurred_at == datetime(2026, 7, 1, 23, 59, 59, 956_000, UTC)
    assert one.user_id == "client-55"
    assert one.usage is not None
    assert (one.usage.input_tokens, one.usage.output_tokens, one.usage.reasoning_tokens) == (204, 411, 135)
    assert one.usage.cache_read_tokens is None


def test_every_event_says_that_it_is_derived() -> None:
    assert [row.tags for row in events(read(SERVEGEN, servegen(2), start=START))] == [{"derived": "true"}] * 2


def test_a_time_beyond_the_calendar_is_a_bad_row() -> None:
    row = bad(read(SERVEGEN, HEADER + "999999999999,55,204,411,135\n", start=START)[0])
    assert (row.field, row.reason) == ("t_s", "is beyond the calendar")


def test_the_day_of_deepseek_r1_is_complete_and_one_client_makes_29_percent_of_it() -> None:
    path = shared("servegen/derived_requests_deepseek-r1_day0_20pct.csv.gz")
    rows = events(read_file(SERVEGEN, path, start=START))
    usages = [row.usage for row in rows if row.usage is not None]
    assert len(rows) == 276_765
    assert sum(usage.output_tokens for usage in usages) == 423_314_329
    assert sum(usage.reasoning_tokens for usage in usages) == 314_828_542
    assert Counter(row.user_id for row in rows).most_common(1) == [("client-35", 79_118)]
    assert START <= rows[0].occurred_at < rows[-1].occurred_at < START + timedelta(days=1)
