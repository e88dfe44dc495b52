"""Who is told when a model without a price appears? A tenant's own address, once for each model, with all that is at stake."""

from __future__ import annotations

import re
from typing import Any

import httpx
from sqlalchemy import Engine, delete, select
from sqlalchemy.dialects.postgresql import insert

from accounting.errors import InvalidInput, NotFound, TokencogsError
from accounting.reports.unpriced import unpriced
from accounting.storage import audit
from accounting.storage.engine import read_only, transaction
from accounting.storage.tables import alert_hooks as hooks
from accounting.storage.tables import alerted_models as alerted
from accounting.tenant import TenantContext

_URL = re.compile(r"https?://[^\s/?#@]+(/[^\s]*)?", re.ASCII)
_LONGEST = 2_000
TIMEOUT = 10.0
"""Seconds an address has to answer."""


class AlertNotDelivered(TokencogsError):
    """A tenant's address did not take an alert; it is sent again with the next one."""


def set_hook(engine: Engine, context: TenantContext, url: str, actor: str) -> dict[str, Any]:
    """Names the address to which alerts of a tenant go by POST, as JSON. Raises InvalidInput."""
    if len(url) > _LONGEST or not _URL.fullmatch(url) or not _has_host(url):
        raise InvalidInput("url", url, "an http or https address without a login in it is expected")
    made = insert(hooks).values(tenant=context.tenant, url=url, created_by=actor)
    changed = made.on_conflict_do_update(
        index_elements=["tenant"], set_={"url": made.excluded.url, "created_by": made.excluded.created_by}
    )
    with transaction(engine, context.tenant) as connection:
        moment = audit.begin(connection)
        connection.execute(changed)
        audit.note(connection, context.tenant, moment, actor, "alerts.set", "unpriced", after={"url": url})
    return {"url": url}


def _has_host(url: str) -> bool:
    """Whether a client can tell whom to ask: host names have labels of 1 to 63 characters, ports are numbers to 65,535."""
    try:
        asked = httpx.URL(url)
        asked.host.encode("idna")
    except (httpx.InvalidURL, ValueError):
        return False
    return bool(asked.host) and (asked.port is None or 0 < asked.port < 65_536)


def remove_hook(engine: Engine, context: TenantContext, actor: str) -> dict[str, Any]:
    """Sends no more alerts. Raises NotFound."""
    with transaction(engine, context.tenant) as connection:
        moment = audit.begin(connection)
        own = delete(hooks).where(hooks.c.tenant == context.tenant).returning(hooks.c.url)
        url = connection.execute(own).scalar_one_or_none()
        if url is None:
            raise NotFound("this tenant has no address for alerts")
        audit.note(connection, context.tenant, moment, actor, "alerts.remove", "unpriced", before={"url": url})
    return {"url": url}


def hook(engine: Engine, context: TenantContext) -> str | None:
    """The address, None where there is none."""
    with read_only(engine, context.tenant) as connection:
        own = select(hooks.c.url).where(hooks.c.tenant == context.tenant)
        return connection.execute(own).scalar_one_or_none()


def alert(engine: Engine, context: TenantContext) -> int:
    """Tells a tenant of models that it was not told of before; returns how many those are.

    Raises AlertNotDelivered where the address is not reached or refuses; nothing is marked as told then.
    """
    url = hook(engine, context)
    if url is None:
        return 0
    every = unpriced(engine, context)
    with read_only(engine, context.tenant) as connection:
        told = {(row.seller, row.model) for row in connection.execute(select(alerted))}
    new = sorted({(row["seller"], row["model"]) for row in every} - told)
    if not new:
        return 0
    body = {
        "tenant": context.tenant,
        "alert": "unpriced_models",
        "new": [{"seller": seller, "model": model} for seller, model in new],
        "unpriced": every,
    }
    try:
        answer = httpx.post(url, json=body, timeout=TIMEOUT, follow_redirects=False)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        # The last two: an address that was stored before may have no host that can be asked.
        raise AlertNotDelivered(f"alert of tenant {context.tenant}: {type(error).__name__}") from error
    if not answer.is_success:
        raise AlertNotDelivered(f"alert of tenant {context.tenant}: the address answered {answer.status_code}")
    values = [{"tenant": context.tenant, "seller": seller, "model": model} for seller, model in new]
    with transaction(engine, context.tenant) as connection:
        connection.execute(insert(alerted).values(values).on_conflict_do_nothing())
    return len(new)
