"""What does a running server tell Prometheus? Requests, ingested events, latency, what waits; nothing of a tenant."""

from __future__ import annotations

from importlib.metadata import version

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from accounting.ledger.writer import IngestWriter
from accounting.pipeline import IngestResult

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """The metrics of one app, in a registry of its own so that two apps in a process don't share them."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "tokencogs_http_requests", "Requests answered.", ("method", "route", "status"), registry=self._registry
        )
        self._events = Counter(
            "tokencogs_ingest_events",
            "Events of ingested batches by what became of them.",
            ("outcome",),
            registry=self._registry,
        )
        self.ingest_seconds = Histogram(
            "tokencogs_ingest_seconds",
            "Seconds from the admission of a batch to its commit.",
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._waiting = Gauge(
            "tokencogs_ingest_waiting_events",
            "Events received whose transaction has not ended.",
            registry=self._registry,
        )
        build = Gauge("tokencogs_build_info", "1, with the version as label.", ("version",), registry=self._registry)
        build.labels(version("tokencogs")).set(1)
        for outcome in ("accepted", "duplicate", "conflict", "rejected", "exception", "aggregate"):
            self._events.labels(outcome)

    def watch(self, writer: IngestWriter) -> None:
        """Takes the number of waiting events from the writer whenever it is asked for."""
        self._waiting.set_function(lambda: writer.waiting_events)

    def count(self, result: IngestResult) -> None:
        """Adds one answered batch."""
        self._events.labels("accepted").inc(result.accepted)
        self._events.labels("duplicate").inc(result.duplicates)
        self._events.labels("conflict").inc(len(result.conflicts))
        self._events.labels("rejected").inc(len(result.rejected))
        self._events.labels("exception").inc(len(result.exceptions))
        self._events.labels("aggregate").inc(result.aggregates)

    def text(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return generate_latest(self._registry)


class CountRequests:
    """ASGI middleware that counts answers by route template, so that ids in paths don't become label values."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 500

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            route = getattr(scope.get("route"), "path_format", "unmatched")
            self._metrics.requests.labels(scope["method"], route, status).inc()
