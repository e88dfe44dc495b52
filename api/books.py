"""Which price books does this process rate by, and when does it see a change? Per tenant, looked at again every few seconds."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass

from accounting.errors import PriceBookError, StorageUnavailable
from accounting.storage.engine import NO_TENANT, app_engine
from accounting.storage.tariffs import Layers, books_of

_LOG = logging.getLogger("tokencogs.api")


@dataclass
class _Kept:
    layers: Layers
    looked_at: float


class BookCache:
    """The books of the tenants, each looked at again every few seconds.

    Args:
        seconds: how long a book is used before the log of changes is asked again, two index look-ups.
    """

    def __init__(self, seconds: float) -> None:
        self._books = books_of(app_engine())
        self._seconds = seconds
        self._kept: dict[str, _Kept] = {}
        self._lock = threading.Lock()

    @property
    def tenants(self) -> list[str]:
        """Whose books were asked for so far."""
        return sorted(self._kept.keys() - {NO_TENANT})

    def get(self, tenant: str) -> Layers:
        """The books of a tenant, at most `seconds` behind the log.

        A book that is there is used on while the database is away, or while what was recorded can't be made a book; the log says so.
        """
        kept = self._kept.get(tenant)
        if kept is not None and time.monotonic() - kept.looked_at < self._seconds:
            return kept.layers
        with self._lock:
            kept = self._kept.get(tenant)
            if kept is not None and time.monotonic() - kept.looked_at < self._seconds:
                return kept.layers
            try:
                layers = self._books.get(tenant)
            except (StorageUnavailable, PriceBookError) as error:
                if kept is None:
                    raise
                _LOG.warning("prices of %r stay as they were read: %s", tenant, error)
                layers = kept.layers
            self._kept[tenant] = _Kept(layers, time.monotonic())
            return layers
