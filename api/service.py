"""What does one API process hold open between requests, and how is it opened and drained?"""

from __future__ import annotations

import gc
import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import lru_cache, partial

from anyio import CapacityLimiter

from accounting.alerts import alert
from accounting.errors import Busy, StorageUnavailable, TokencogsError
from accounting.ledger.settle import settle
from accounting.ledger.writer import IngestWriter
from accounting.storage import migrate
from accounting.storage.engine import NO_TENANT, app_engine, has_owner, owner_engine, transaction
from accounting.storage.tariffs import Layers
from accounting.storage.tenants import context, list_tenants
from accounting.tenant import TenantContext
from api.books import BookCache
from api.metrics import Metrics
from api.oidc import Provider, Tokens
from api.settings import Settings

_LOG = logging.getLogger("tokencogs.api")
_DAY = 86_400.0


class Service:
    """Engine, price books, writer and chores of one process; StorageUnavailable where the database is not ready."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self.settings = settings
        self.metrics = metrics
        self.engine = app_engine()
        require_schema()
        self._books = BookCache(settings.price_seconds)
        self._books.get(NO_TENANT)
        self.writer = IngestWriter(self.engine, self.book, max_waiting_events=settings.max_waiting_events)
        self.parsers = CapacityLimiter(settings.parsers)
        self.in_work = 0
        provider = Provider.from_texts(settings.oidc_issuer, settings.oidc_audience)
        self.tokens = None if provider is None else Tokens(provider)
        self._stopping = threading.Event()
        self._chores: list[threading.Thread] = []
        if settings.alert_seconds is not None:
            self._chores.append(self._chore("alerts", settings.alert_seconds, self._alert))
        if has_owner():
            self._chores.append(self._chore("partitions", _DAY, self._make_partitions, at_once=True))
        if settings.settlement_seconds is not None:
            self._chores.append(self._chore("settlement", settings.settlement_seconds, self._settle, at_once=True))
        metrics.watch(self.writer)
        # Price book and modules live as long as the process: the collector need not walk them with every batch.
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 20, 20)

    def close(self) -> None:
        """Stores what was submitted and ends the threads; the requests have ended before."""
        self._stopping.set()
        self.writer.close()
        for chore in self._chores:
            chore.join()

    def book(self, tenant: TenantContext) -> Layers:
        """The price books of a tenant: list and contract, a few seconds behind what is recorded at most."""
        return self._books.get(tenant.tenant)

    @property
    def issuer(self) -> str | None:
        """The identity provider whose tokens are taken; None: keys alone."""
        return None if self.tokens is None else self.tokens.provider.issuer

    @contextmanager
    def admission(self) -> Iterator[None]:
        """Counts a request among those in work; raises Busy where there are too many. Only called on the event loop."""
        if self.in_work >= self.settings.max_requests:
            raise Busy(f"{self.in_work} ingesting requests are in work, at most {self.settings.max_requests} may be")
        self.in_work += 1
        try:
            yield
        finally:
            self.in_work -= 1

    def _chore(self, name: str, seconds: float, act: Callable[[], None], at_once: bool = False) -> threading.Thread:
        thread = threading.Thread(target=partial(self._repeat, name, seconds, act, at_once), name=name, daemon=True)
        thread.start()
        return thread

    def _repeat(self, name: str, seconds: float, act: Callable[[], None], at_once: bool) -> None:
        wait = 0.0 if at_once else seconds
        while not self._stopping.wait(wait):
            wait = seconds
            try:
                act()
            except TokencogsError as error:
                _LOG.warning("%s: %s; tried again in %s s", name, error, seconds)
            except Exception:  # noqa: BLE001  the thread must live on
                _LOG.exception("%s failed; tried again in %s s", name, seconds)

    def _alert(self) -> None:
        """Tells every tenant, or those that this process knows of, of models without a price."""
        known = _tenants() if has_owner() else self._books.tenants
        self._for_each("alerts", known, partial(alert, self.engine))

    def _make_partitions(self) -> None:
        with transaction(owner_engine(), NO_TENANT) as connection:
            migrate.make_partitions(connection, datetime.now(UTC).date())

    def _settle(self) -> None:
        self._for_each("settlement", _tenants(), partial(settle, self.engine))

    def _for_each(self, name: str, tenants: Iterable[str], act: Callable[[TenantContext], object]) -> None:
        """One tenant's failure keeps no other one from its turn."""
        for tenant in tenants:
            try:
                act(context(self.engine, tenant))
            except TokencogsError as error:
                _LOG.warning("%s of %s: %s; tried again", name, tenant, error)
            except Exception:  # noqa: BLE001  the thread must live on
                _LOG.exception("%s of %s failed; tried again", name, tenant)


def _tenants() -> list[str]:
    return [one.tenant for one in list_tenants(owner_engine())]


def require_schema() -> None:
    """Raises StorageUnavailable unless the database answers and has the schema this code was written for."""
    found, wanted = migrate.current(app_engine()), _wanted_schema()
    if found != wanted:
        raise StorageUnavailable(
            f"the schema is at revision {found}, this version needs {wanted}: run `tokencogs db upgrade`"
        )


@lru_cache(maxsize=1)
def _wanted_schema() -> str | None:
    return migrate.head()
