"""How does a request's body become committed rows, whatever its format? Read, parsed in a thread, handed to the writer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from anyio.to_thread import run_sync
from fastapi import Request

from accounting.pipeline import IngestResult
from accounting.storage.tenants import Principal
from accounting.usage.columns import Prepared
from api import body
from api.body import SentBody
from api.service import Service


async def ingest(
    request: Request,
    service: Service,
    principal: Principal,
    parse: Callable[[SentBody, bytes], list[Prepared]],
    kinds: tuple[str, ...] = body.ITEMS,
) -> IngestResult:
    """What became of a request; returns after the commit of all of it.

    Args:
        parse: batches of a body and its decompressed bytes; runs in a thread.
        kinds: media types that the route reads.

    Raises what `parse` raises, Busy, TooLarge, UnsupportedMedia, StorageUnavailable.
    """
    started = time.perf_counter()
    with service.admission():
        sent = await body.read(request, kinds)

        def prepared() -> list[Prepared]:
            return parse(sent, sent.inflated(service.settings.max_inflated))

        batches = await run_sync(prepared, limiter=service.parsers)
        futures = [asyncio.wrap_future(service.writer.submit(principal.context, batch)) for batch in batches]
        # Shielded: a request given up must not cancel what the writer has in hand for it.
        result = IngestResult.together(await asyncio.shield(asyncio.gather(*futures)))
    service.metrics.ingest_seconds.observe(time.perf_counter() - started)
    service.metrics.count(result)
    return result
