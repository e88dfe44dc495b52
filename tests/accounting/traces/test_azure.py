"""Is the Azure trace read as it stands?"""

from __future__ import annotations

from datetime import UTC, datetime

from accounting.traces.azure import AZURE
from tests.accounting.traces.rows import event, events, read, read_file
from tests.shared_data import shared

TWO = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.9799600,4808,10\r\n2023-11-16 18:17:04.0319600,3180,8"


def test_a_row_is_an_event_at_its_own_time_in_utc() -> None:
    one = event(read(AZURE, TWO, provider="azure", model="gpt-4", deployment="code")[0])
    assert one.event_id == "trace:azure:000000000000:1"
    assert one.occurred_at == datetime(2023, 11, 16, 18, 17, 3, 979960, UTC)
    assert (one.provider, one.model, one.deployment, one.status) == ("azure", "gpt-4", "code", "ok")
    assert one.usage is not None
    assert (one.usage.input_tokens, one.usage.output_tokens) == (4808, 10)


def test_cache_reads_are_unknown_unless_somebody_says_there_were_none() -> None:
    for stated, expected in (("unknown", None), ("none", 0)):
        usage = event(read(AZURE, TWO, cache_read=stated)[0]).usage
        assert usage is not None
        assert usage.cache_read_tokens == expected


def test_a_start_moves_the_whole_trace() -> None:
    moved = events(read(AZURE, TWO, start=datetime(2026, 7, 1, 12, tzinfo=UTC)))
    assert [one.occurred_at for one in moved] == [
        datetime(2026, 7, 1, 12, tzinfo=UTC),
        datetime(2026, 7, 1, 12, 0, 0, 52_000, UTC),
    ]


def test_the_hour_of_code_requests_is_complete() -> None:
    path = shared("azure-llm-trace-2023/AzureLLMInferenceTrace_code.csv")
    rows = events(read_file(AZURE, path))
    usages = [row.usage for row in rows if row.usage is not None]
    assert len(rows) == len(usages) == 8_819
    assert sum(usage.input_tokens for usage in usages) == 18_059_974
    assert sum(usage.output_tokens for usage in usages) == 245_896
    assert rows[-1].occurred_at == datetime(2023, 11, 16, 19, 14, 19, 928016, UTC)
