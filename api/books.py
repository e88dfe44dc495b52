"""Which price books does this process rate by, and when does it see a change? Per tenant, looked at again every few seconds."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass

from accounting.errors import PriceBookError, StorageUnavailable
from accounting.storage.audit import Stamp, stamp
from accounting.storage.engine import app_engine
from accounting.storage.tariffs import Layers, load_layers

_LOG = logging.getLogger("tokencogs.api")
NO_TENANT = ""
"""Sees the rows that belong to no tenant, and nothing else."""


@dataclass
class _Kept:
    stamp: Stamp
    layers: Layers
    looked_at: float


class BookCache:
    """Compiled books; the list is compiled once for all tenants that changed nothing of it.

    Args:
        seconds: how long a book is used before the log of changes is asked again, two index look-ups.
    """

    def __init__(self, seconds: float) -> None:
        self._engine = app_engine()
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
                return self._look(tenant, kept)
            except (StorageUnavailable, PriceBookError) as error:
                if kept is None:
                    raise
                _LOG.warning("prices of %r stay as they were read: %s", tenant, error)
                kept.looked_at = time.monotonic()
                return kept.layers

    def _look(self, tenant: str, kept: _Kept | None) -> Layers:
        found = stamp(self._engine, tenant)
        if kept is not None and kept.stamp == found:
            kept.looked_at = time.monotonic()
            return kept.layers
        layers = self._load(tenant, found)
        self._kept[tenant] = _Kept(found, layers, time.monotonic())
        return layers

    def _load(self, tenant: str, found: Stamp) -> Layers:
        everyone, own = found
        listed = self._kept.get(NO_TENANT)
        if tenant != NO_TENANT and (listed is None or listed.stamp[0] != everyone):
            listed = _Kept((everyone, 0), load_layers(self._engine, NO_TENANT), time.monotonic())
            self._kept[NO_TENANT] = listed
        if listed is None or tenant == NO_TENANT:
            return load_layers(self._engine, NO_TENANT)
        return load_layers(self._engine, tenant, list_book=listed.layers.list_book) if own else listed.layers
