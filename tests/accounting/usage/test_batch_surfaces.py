"""Is a call of a batch interface a batch call where its body does not say so, unless its sender says otherwise?"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from accounting.usage.prepare_wire import prepare_wire
from accounting.usage.wire import Context

NOW = datetime(2026, 8, 1, tzinfo=UTC)
GEMINI = {
    "modelVersion": "gemini-2.5-pro",
    "responseId": "g",
    "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
}
NOVA = {"usage": {"inputTokens": 10, "outputTokens": 5}}


@pytest.mark.parametrize(
    ("wire_format", "body", "stated", "batch"),
    [
        ("gemini", GEMINI, {"surface": "batch_generate_content"}, True),
        ("gemini", GEMINI, {"surface": "generate_content"}, False),
        ("gemini", GEMINI, {"surface": "batch_generate_content", "batch": False}, False),
        ("bedrock_invoke", NOVA, {"surface": "batch_inference", "model": "amazon.nova-pro-v1:0"}, True),
        ("bedrock_invoke", NOVA, {"model": "amazon.nova-pro-v1:0"}, False),
    ],
)
def test_the_surface_says_that_it_was_a_batch(
    wire_format: str, body: dict[str, Any], stated: dict[str, Any], batch: bool
) -> None:
    context = Context(event_id="e", occurred_at=NOW.isoformat(), **stated)
    prepared = prepare_wire(wire_format, [(json.loads(json.dumps(body)), context)], NOW)
    assert prepared.rejected == []
    (row,) = prepared.batch.to_pylist()
    assert bool(row["batch"]) is batch
