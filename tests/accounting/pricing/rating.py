"""Small batches for tests of rating: an event is a dict with the native names, missing columns are 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from accounting.pricing.genai_prices_source import list_price_book
from accounting.pricing.rate import RateInput
from accounting.usage.classes import USAGE_COLUMNS

list_book = list_price_book
"""The whole list price book, compiled once a process."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def batch(events: Sequence[Mapping[str, Any]]) -> RateInput:
    """Columns of events with `provider`, `model`, `at` (RFC 3339 text or datetime), `service_tier`, `batch`, `cache_read_known`,
    `surface`, `region`."""
    return RateInput(
        provider=pa.array([event.get("provider") for event in events], pa.string()),
        model=pa.array([event.get("model") for event in events], pa.string()),
        service_tier=pa.array([event.get("service_tier") for event in events], pa.string()),
        batch=np.array([event.get("batch", False) for event in events], np.bool_),
        occurred_at=np.array([microseconds(event["at"]) for event in events], np.int64),
        quantities={
            name: np.array([event.get(name, 0) for event in events], np.int64)
            for name in USAGE_COLUMNS
            if any(name in event for event in events)
        },
        cache_read_known=np.array([event.get("cache_read_known", True) for event in events], np.bool_),
        surface=pa.array([event.get("surface") for event in events], pa.string()),
        region=pa.array([event.get("region") for event in events], pa.string()),
    )


def microseconds(at: str | datetime) -> int:
    """Microseconds since the epoch, exactly."""
    moment = datetime.fromisoformat(at) if isinstance(at, str) else at
    return (moment - _EPOCH) // timedelta(microseconds=1)
