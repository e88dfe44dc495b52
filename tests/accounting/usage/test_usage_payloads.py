"""Does every one of 1,015 real bodies become an event, or an exception that says which equation failed?"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from functools import cache
from typing import Any

from accounting.usage.columns import prepare_events
from accounting.usage.formats import registry
from accounting.usage.parse import Parsed
from accounting.usage.read import Booked
from accounting.usage.wire import Suspended
from tests.accounting.usage.wire_rows import lines, provider_of, read_row

AT = "2026-11-06T12:00:00+00:00"
NOW = datetime(2026, 11, 7, tzinfo=UTC)

CONTRADICTIONS: dict[int, str] = {}
"""Row -> the equation that failed. Empty: none of them contradicts itself under the rule of its provider."""

FINDINGS = {993: "tokens_do_not_add_up"}
"""Row -> reason of what a person should look at. 993: Google's OpenAI endpoint, 100 <> 66 + 6, the thinking is in no field."""

FURTHER_CALLS = {"advisor-1": 2, "compaction-1": 2}
"""Parts of bodies that hold more than one call."""


@cache
def _read() -> tuple[list[tuple[int, str, Booked]], dict[int, Suspended]]:
    booked: list[tuple[int, str, Booked]] = []
    suspended: dict[int, Suspended] = {}
    for row in lines("usage-payloads/usage_payloads.jsonl"):
        module = registry.detect(row["body"])
        assert module is not None, row
        body: dict[str, Any] = row["body"]
        found = read_row(body, provider_of(row, module.NAME), row["model"] or "unstated", AT)
        assert found.rejected == []
        booked += [(row["n"], found.wire_format, one) for one in found.booked]
        if found.suspended:
            suspended[row["n"]] = found.suspended[0]
    return booked, suspended


def test_every_body_becomes_an_event_or_an_exception_with_its_equation() -> None:
    booked, suspended = _read()
    assert len({row for row, *_ in booked} | suspended.keys()) == 1_015
    assert {row: one.detail for row, one in suspended.items()} == CONTRADICTIONS
    assert {row: finding.reason for row, _, one in booked for finding in one.findings} == FINDINGS
    parts = Counter(one.event.event_id.partition("#")[2] for _, _, one in booked)
    assert {part: times for part, times in parts.items() if part} == FURTHER_CALLS
    assert all(one.event.usage is not None for _, _, one in booked)


def test_the_bodies_are_spread_over_the_formats_by_their_structure_alone() -> None:
    booked, _ = _read()
    rows = {row: name for row, name, _ in booked}
    assert Counter(rows.values()) == {
        "gemini": 335,
        "openai_responses": 175,
        "anthropic_messages": 154,
        "openai_chat": 121,
        "bedrock_converse": 109,
        "groq": 55,
        "openrouter": 25,
        "mistral": 19,
        "cohere": 12,
        "openai_compatible": 6,
        "deepseek": 2,
        "openai_embeddings": 2,
    }


def test_cache_reads_are_unknown_only_where_a_server_of_ones_own_does_not_state_them() -> None:
    booked, _ = _read()
    unknown = [one.event for _, _, one in booked if one.event.usage and one.event.usage.cache_read_tokens is None]
    assert Counter(event.provider for event in unknown) == {"ollama": 3}


def test_no_event_read_from_a_real_body_is_refused_by_the_checks_of_native_events() -> None:
    booked, _ = _read()
    events = [one.event for _, _, one in booked]
    prepared = prepare_events(Parsed(len(events), events, list(range(len(events))), []), NOW)
    assert prepared.rejected == []
    assert prepared.batch.num_rows == len(events) == 1_019
