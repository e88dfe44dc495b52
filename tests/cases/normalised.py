"""What does the real normaliser make of a case's payload?

The context holds what a sender knows beside the body: when it was, who was called, what was asked for. A format whose body states
its provider gets none from the context, so that the module's own reading is what is tested.
"""

from __future__ import annotations

import json
from datetime import datetime

from accounting.usage.columns import Prepared
from accounting.usage.formats.registry import choose
from accounting.usage.otlp.decode import from_json
from accounting.usage.otlp.spans import calls as span_calls
from accounting.usage.otlp.vocabulary import wanted
from accounting.usage.prepare_wire import prepare_wire
from accounting.usage.wire import Call, Context
from tests.cases.rows import Case

FORMAT_OF = {
    "litellm_log": "litellm",
    "otlp_json": "otlp",
    "anthropic_stream": "anthropic_messages",
    "other_claude_code_jsonl": "claude_code",
    "other_openai_chat_stream": "openai_chat",
    "other_openai_images": "openai_images",
    "other_posthog": "posthog",
}
"""The data set's name of a format -> ours, where they differ."""

STATE_THEIR_PROVIDER = {"litellm", "openinference", "otlp"}
SPANS = {"openinference", "otlp"}


def wire_format(case: Case) -> str:
    """The name of our format module."""
    name = str(case["format"])
    return FORMAT_OF.get(name, name)


def context(case: Case) -> Context:
    """What the sender says beside the body."""
    name, request = wire_format(case), case.get("request", {})
    return Context(
        occurred_at=datetime.fromisoformat(case.get("event_time_raw") or case["event_time"]),
        provider=None if name in STATE_THEIR_PROVIDER else case["provider"],
        model=case["model"] if name == "bedrock_converse" else request.get("model"),
        region=request.get("region"),
        requested_service_tier=request.get("service_tier"),
        batch=request.get("batch"),
    )


def received(case: Case) -> datetime:
    """When the payload arrives: as the case says, else at the event's time."""
    return datetime.fromisoformat(case.get("ingest_time") or case["event_time"])


def normalise(case: Case) -> Prepared:
    """The payload as one body, read and checked."""
    return prepare_wire(wire_format(case), [(case["payload"], context(case))], received(case))


def calls(case: Case, given: Context | None = None) -> list[Call]:
    """The billable calls as the format module itself reads them, by default with the case's context."""
    module = choose(wire_format(case), context(case))
    found: list[Call] = module.read(case["payload"], given or context(case))
    return [call for call in found if not call.aggregate]


def calls_over_otlp(case: Case) -> list[Call]:
    """The calls of the same spans, sent as the bytes of an export request."""
    spans = from_json(json.dumps(case["payload"]).encode(), wanted)
    found = list(span_calls(spans, context(case)))
    assert all(isinstance(call, Call) for call in found), found
    return [call for call in found if isinstance(call, Call) and not call.aggregate]
