"""Is a body that carries other calls' totals recognised by the sender's word, and never booked?"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from accounting.usage.columns import Prepared
from accounting.usage.items import contexts
from accounting.usage.prepare_wire import prepare_wire
from tests.wire_bodies import body

NOW = datetime(2026, 9, 2, tzinfo=UTC)


def _prepared(response: Any, totals: object, name: str = "openai_chat") -> Prepared:
    context = {"occurred_at": "2026-09-01T00:00:00Z", "totals": totals}
    return prepare_wire(name, contexts([{"response": response, "context": context}], name), NOW)


@pytest.mark.parametrize(("totals", "rows", "aggregates"), [("carried", 0, 1), ("own", 1, 0), (None, 1, 0)])
def test_only_a_carried_total_is_an_aggregate(totals: str | None, rows: int, aggregates: int) -> None:
    found = _prepared(body("openai_chat"), totals)
    assert (found.batch.num_rows, found.aggregates, found.rejected) == (rows, aggregates, [])


def test_a_carried_total_that_contradicts_itself_waits_nowhere() -> None:
    found = _prepared(
        {"id": "c", "object": "chat.completion", "model": "o3", "usage": {"prompt_tokens": -1}}, "carried"
    )
    assert (found.batch.num_rows, found.aggregates, found.suspended) == (0, 1, [])


def test_another_word_is_refused_by_name() -> None:
    (rejection,) = _prepared(body("openai_chat"), "running").rejected
    assert (rejection.field, rejection.reason) == ("context", "Invalid enum value 'running' - at `$.totals`")
