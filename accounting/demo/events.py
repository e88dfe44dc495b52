"""How do drawn requests become native events, in batches of JSON Lines?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from accounting.demo import product
from accounting.demo.population import User
from accounting.demo.traffic import EVAL, SERVED, Traffic
from accounting.selfhosted.arrays import NO_TIME
from accounting.usage.native import NativeEvent, NativeUsage

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
PURPOSES: dict[str, Any] = {"free": "free", "trial": "trial", "eval": "eval", "internal": "internal"}
"""Who is served -> the event's purpose; those who pay are `production`."""


def batches(traffic: Traffic, users: list[User], prefix: str, size: int) -> Iterator[bytes]:
    """JSON Lines of `size` events each, in order of time; the ids are `prefix` and a number."""
    encoder = msgspec.json.Encoder()
    columns = {field.name: getattr(traffic, field.name) for field in fields(Traffic)}
    for first in range(0, len(traffic.user), size):
        rows = zip(*(column[first : first + size].tolist() for column in columns.values()), strict=True)
        named = (dict(zip(columns, row, strict=True)) for row in rows)
        yield encoder.encode_lines(
            [_event(row, users, f"{prefix}-{first + offset:07d}") for offset, row in enumerate(named)]
        )


def _event(row: dict[str, Any], users: list[User], event_id: str) -> NativeEvent:
    model = product.MODELS[row["model"]]
    served = SERVED[row["served"]]
    user = users[row["user"]] if row["user"] >= 0 else None
    occurred = EPOCH + timedelta(microseconds=row["occurred_at"])
    status: Any = product.STATUSES[row["status"]]
    hosted = row["model"] == product.HOSTED
    return NativeEvent(
        event_id=event_id,
        occurred_at=occurred,
        first_token_at=None
        if row["first_token_at"] == NO_TIME
        else EPOCH + timedelta(microseconds=row["first_token_at"]),
        completed_at=occurred + timedelta(microseconds=row["took"]),
        deployment=product.POOL if hosted else None,
        replica=product.REPLICA if hosted else None,
        provider=model.provider,
        surface=model.surface,
        model=model.model,
        response_model=model.response_model,
        service_tier="batch" if row["batch"] and model.service_tier else model.service_tier,
        batch=row["batch"],
        status=status,
        purpose=PURPOSES.get(served, "production"),
        account_id=user.account_id if user else None,
        user_id=user.user_id if user else None,
        feature="eval" if row["served"] == EVAL else product.FEATURES[row["feature"]],
        usage=_usage(row, model),
    )


def _usage(row: dict[str, Any], model: product.Model) -> NativeUsage:
    usage = NativeUsage(
        input_tokens=row["input_tokens"],
        cache_read_tokens=row["cache_read"],
        output_tokens=row["output_tokens"],
        reasoning_tokens=row["reasoning"],
        web_search_requests=row["searches"],
        web_fetch_requests=row["fetches"],
    )
    if row["cache_write"] and model.writes is not None:
        # Only Anthropic's messages state a second lifetime.
        long = row["long_write"] and model.writes == "cache_write_5m_tokens"
        setattr(usage, "cache_write_1h_tokens" if long else model.writes, row["cache_write"])
    return usage
