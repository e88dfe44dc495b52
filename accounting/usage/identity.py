"""Which call is this? A deterministic event id, so that the same call read twice, or by two observers, counts once."""

from __future__ import annotations

import hashlib

import msgspec

from accounting.pricing.data_files import seller_names
from accounting.usage.wire import Call, Context

_CANONICAL = msgspec.json.Encoder(order="sorted")
LONGEST = 256


def folded(provider: str) -> str:
    """One name for one provider: observers call Google `gcp.gemini`, `vertex_ai` or `google`."""
    return seller_names().get(provider.lower(), provider.lower())


def event_id(call: Call, context: Context, wire_format: str) -> str:
    """The call's event id: the sender's own; else the provider's response id; else a hash of what identifies the call.

    A response id is unique within its provider, so a gateway's log and an SDK's trace of one call meet under one id. Without
    either, two bodies are the same call when format, time, model, user and usage part are the same.
    """
    given = context.event_id or call.event_id
    if given is None and call.response_id:
        given = f"{folded(call.provider)}:{call.response_id}"
    if given is None:
        identifying = {
            "format": wire_format,
            "occurred_at": context.occurred_at or call.occurred_at,
            "model": call.response_model or call.model or context.model,
            "user_id": context.user_id or call.user_id,
            "trace_id": context.trace_id or call.trace_id,
            "usage": call.usage_body,
        }
        given = "derived:" + hashlib.blake2b(_CANONICAL.encode(identifying), digest_size=16).hexdigest()
    full = f"{given}#{call.part}" if call.part else given
    if len(full) <= LONGEST:
        return full
    return full[: LONGEST - 33] + "~" + hashlib.blake2b(full.encode(), digest_size=16).hexdigest()
