"""What does the real normaliser make of a case's payload?

The context holds what a sender knows beside the body: when it was, who was called, what was asked for. A format whose body states
its provider gets none from the context, so that the module's own reading is what is tested.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from accounting.usage.columns import Prepared, prepare_events
from accounting.usage.formats.registry import FORMATS
from accounting.usage.otlp.decode import from_json
from accounting.usage.otlp.spans import calls
from accounting.usage.otlp.vocabulary import wanted
from accounting.usage.parse import Parsed
from accounting.usage.read import WireRead, read
from accounting.usage.wire import Context
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
CLOCK = timedelta(seconds=10)
"""How far the time that a body states may be from the case's: some state when the answer was complete."""


@dataclass(frozen=True)
class Normalised:
    """Attributes: read: every call with its evidence, or its contradiction; prepared: the columns of the booked ones."""

    read: WireRead
    prepared: Prepared


def wire_format(case: Case) -> str:
    """The name of our format module."""
    return FORMAT_OF.get(case["format"], case["format"])


def context(case: Case) -> Context:
    """What the sender says beside the body."""
    name, request = wire_format(case), case.get("request", {})
    return Context(
        occurred_at=datetime.fromisoformat(case.get("event_time_raw", case["event_time"])),
        provider=None if name in STATE_THEIR_PROVIDER else case["provider"],
        model=case["model"] if name == "bedrock_converse" else request.get("model"),
        region=request.get("region"),
        requested_service_tier=request.get("service_tier"),
        batch=request.get("batch"),
        user_id=request.get("user"),
    )


def normalise(case: Case) -> Normalised:
    """Reads the payload as one body sent with its context."""
    found = read(wire_format(case), [(case["payload"], context(case))])
    events = [booked.event for booked in found.booked]
    parsed = Parsed(sent=len(events), events=events, indexes=list(range(len(events))))
    now = datetime.fromisoformat(case.get("ingest_time", case["event_time"]))
    return Normalised(found, prepare_events(parsed, now))


def stated_times(case: Case) -> list[datetime]:
    """The times at which the body itself says that its calls were."""
    module, given = FORMATS[wire_format(case)], context(case)
    found = module.read(case["payload"], given)
    return [call.occurred_at for call in found if call.occurred_at is not None]


def calls_over_otlp(case: Case) -> list[Any]:
    """The same spans as the bytes of an export request, through the decoder that the endpoint uses."""
    spans = from_json(json.dumps(case["payload"]).encode(), wanted)
    return list(calls(spans, context(case)))
