"""Which calls does a Claude Code session log hold? Several records of one message are one call; the last one's counts stand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from accounting.usage.formats import anthropic_messages
from accounting.usage.formats.contradicted import ContradictedCall
from accounting.usage.formats.fields import amount, text
from accounting.usage.formats.structure import mapping, mappings, moment
from accounting.usage.wire import Body, Call, Context, UsageContradiction

NAME = "claude_code"
IDENTITY = "records with one message id and one request id are one call, their counts cumulative; otherwise as anthropic_messages"
KEYS: tuple[tuple[str, str], ...] = (("anthropic", "claude_code"),)
SYNTHETIC = "<synthetic>"
"""Model of the messages that the program writes itself, without a call."""


def recognises(body: Body) -> bool:
    return "message" in body and "sessionId" in body and "uuid" in body


def split(body: Body | list[Body]) -> list[Body]:
    """One body a call: the last record of each message, with the time of the first. Records that are no answer are left out."""
    calls: dict[tuple[str, str], Body] = {}
    for place, record in enumerate(mappings(body) if isinstance(body, list) else [body]):
        message = mapping(record.get("message"))
        if not mapping(message.get("usage")) or message.get("model") == SYNTHETIC:
            continue
        key = (str(message.get("id", place)), str(record.get("requestId")))
        first = calls.get(key, record)
        calls[key] = {**record, "timestamp": first.get("timestamp")}
    return list(calls.values())


def read(body: Body | list[Body], context: Context) -> list[Call]:
    return [call for record in split(body) for call in _calls(record, context)]


def _calls(record: Body, context: Context) -> list[Call]:
    cost = amount(record, "costUSD", {})
    try:
        found = list(anthropic_messages.calls(mapping(record.get("message")), (), context))
    except UsageContradiction as contradiction:
        contradiction.usage_body = _record(contradiction.usage_body)
        if isinstance(contradiction, ContradictedCall):
            contradiction.call = _logged(contradiction.call, record, context)
        raise
    return [
        replace(
            _logged(call, record, context),
            usage_body=_record(call.usage_body),
            reported_cost_usd=None if call.part else cost,
        )
        for call in found
    ]


def _logged(call: Call, record: Body, context: Context) -> Call:
    """The call with what its record says of it."""
    started, session = moment(record, "timestamp"), text(record, "sessionId")
    return replace(call, surface=context.surface or NAME, occurred_at=started, trace_id=session)


def _record(evidence: Body) -> dict[str, Any]:
    """Evidence of the message where this rule finds it again."""
    return {"sessionId": "", "uuid": "", "message": evidence}
