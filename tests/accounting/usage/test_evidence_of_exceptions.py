"""Is what is kept of a contradiction enough to find it again? Else a replay would book a call whose rule was never mended."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import msgspec
import pytest

from accounting.usage.formats.registry import FORMATS
from accounting.usage.prepare_wire import prepare_sent, prepare_wire
from accounting.usage.wire import Context
from tests.wire_bodies import variants

NOW = datetime(2026, 8, 1, tzinfo=UTC)


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_what_was_suspended_is_suspended_again_for_the_same_reason(name: str) -> None:
    [sent] = prepare_sent(name, json.dumps(list(variants(name))).encode(), NOW)
    assert len(sent.suspended) > 3
    for kept in sent.suspended:
        context = msgspec.convert(json.loads(kept.context) | {"event_id": kept.event_id}, Context)
        again = prepare_wire(kept.wire_format, [(json.loads(kept.usage_body), context)], NOW)
        assert (again.batch.num_rows, again.rejected) == (0, [])
        assert [(one.event_id, one.reason) for one in again.suspended] == [(kept.event_id, kept.reason)], kept
