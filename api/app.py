"""What is the application made of? Routes, errors, metrics, and a service opened at its start and closed at its end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from anyio.to_thread import current_default_thread_limiter, run_sync
from fastapi import FastAPI

from api import errors, openapi
from api.body import BoundBodies
from api.metrics import CountRequests, Metrics
from api.routes import (
    charges,
    closed_months,
    contracts,
    cost_basis,
    curves,
    exceptions,
    fx,
    gpu_rates,
    health,
    keys,
    me,
    plans,
    policies,
    pool_steps,
    pools,
    pools_what_if,
    prices,
    prices_impact,
    reports,
    reprice,
    revenue,
    traces,
    usage,
    users,
    wire,
)
from api.service import Service
from api.settings import Settings

_DESCRIPTION = (
    "What every LLM request cost, and whether the people and plans behind it earn more than that. "
    "Money is a plain decimal string, times are RFC 3339, intervals are half-open [from, to)."
)


def create_app(settings: Settings | None = None) -> FastAPI:
    """The application; its database is the environment's and is first touched when it starts."""
    limits = settings or Settings()
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        current_default_thread_limiter().total_tokens = limits.threads
        service = await run_sync(Service, limits, metrics)
        app.state.service = service
        try:
            yield
        finally:
            await run_sync(service.close)

    app = FastAPI(
        title="tokencogs",
        version=version("tokencogs"),
        description=_DESCRIPTION,
        lifespan=lifespan,
        redoc_url=None,
        swagger_ui_oauth2_redirect_url=None,
    )
    app.add_middleware(BoundBodies, limit=limits.max_sent)
    app.add_middleware(CountRequests, metrics=metrics)
    errors.install(app)
    for family in (
        usage,
        wire,
        traces,
        exceptions,
        cost_basis,
        closed_months,
        reports,
        users,
        fx,
        plans,
        revenue,
        policies,
        prices_impact,
        reprice,
        prices,
        contracts,
        curves,
        gpu_rates,
        pools,
        pool_steps,
        pools_what_if,
        charges,
        me,
        keys,
        health,
    ):
        app.include_router(family.router)
    openapi.install(app)
    return app
