"""How do many small bodies become few transactions? Bodies that wait are committed together, tenant by tenant."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

from sqlalchemy import Engine

from accounting.errors import Busy, TokencogsError
from accounting.ledger.layers import Books
from accounting.pipeline import IngestResult, store
from accounting.tenant import TenantContext
from accounting.usage.columns import Prepared


@dataclass
class _Work:
    context: TenantContext
    prepared: Prepared
    future: Future[IngestResult] = field(default_factory=Future)


class IngestWriter:
    """Threads that store what is submitted; each future resolves after its commit.

    A body waits only for the transaction in hand: whatever came meanwhile, up to `batch_events` of one tenant, is the next one.
    """

    def __init__(
        self,
        engine: Engine,
        book: Callable[[TenantContext], Books],
        *,
        max_waiting_events: int = 200_000,
        batch_events: int = 10_000,
        threads: int = 2,
    ) -> None:
        self._engine = engine
        self._book = book
        self._max_waiting = max_waiting_events
        self._batch_events = batch_events
        self._queue: deque[_Work] = deque()
        self._waiting = 0
        self._closing = False
        self._changed = threading.Condition()
        self._threads = [
            threading.Thread(target=self._run, name=f"ingest-{number}", daemon=True) for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def waiting_events(self) -> int:
        """Events submitted whose transaction has not ended yet."""
        return self._waiting

    @property
    def alive(self) -> bool:
        """Whether it takes work and every thread is there to do it."""
        return not self._closing and all(thread.is_alive() for thread in self._threads)

    def submit(self, context: TenantContext, prepared: Prepared) -> Future[IngestResult]:
        """Queues a body. Raises Busy when too many events wait, or when the writer is closing."""
        work = _Work(context, prepared)
        work.future.set_running_or_notify_cancel()  # what was sent is stored even where the sender went away
        with self._changed:
            if self._closing:
                raise Busy("the server is stopping", retry_after=5)
            if self._waiting and self._waiting + prepared.sent > self._max_waiting:
                raise Busy(f"{self._waiting} events wait to be stored, at most {self._max_waiting} may", retry_after=1)
            self._queue.append(work)
            self._waiting += prepared.sent
            self._changed.notify()
        return work.future

    def close(self) -> None:
        """Stores all that was submitted, then ends the threads."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._queue:
                    if self._closing:
                        return
                    self._changed.wait()
                taken = self._take()
            try:
                self._store(taken)
            finally:
                with self._changed:
                    self._waiting -= sum(work.prepared.sent for work in taken)

    def _take(self) -> list[_Work]:
        """The oldest body and, in order, those of the same tenant, booked by the same settings, that fit beside it."""
        taken = [self._queue.popleft()]
        events = taken[0].prepared.batch.num_rows
        left: deque[_Work] = deque()
        while self._queue:
            work = self._queue.popleft()
            fits = events + work.prepared.batch.num_rows <= self._batch_events
            if (
                work.context == taken[0].context
                and fits
                and not any(w.context.tenant == work.context.tenant for w in left)
            ):
                taken.append(work)
                events += work.prepared.batch.num_rows
            else:
                left.append(work)
        self._queue = left
        return taken

    def _store(self, taken: list[_Work]) -> None:
        context = taken[0].context
        try:
            results = store(self._engine, context, self._book(context), [work.prepared for work in taken])
        except TokencogsError as error:
            for work in taken:
                work.future.set_exception(error)
        except Exception as error:  # noqa: BLE001  the thread must live on; whoever waits gets the error
            if len(taken) > 1:
                for work in taken:
                    self._store([work])
            else:
                taken[0].future.set_exception(error)
        else:
            for work, result in zip(taken, results, strict=True):
                work.future.set_result(result)
