"""Which part of a provider's cost is for tools: searches, fetches, and what is priced by the request and not by tokens?

A call's tools cost their counts at the prices of the row that it is priced by now. Calls whose cost is booked as the provider reported it
are not divided. Read from the events themselves, by an index of those that used tools.
"""

from __future__ import annotations

from datetime import date

from sqlalchemy import Connection, text

from accounting.tenant import TenantContext

_PRICE = (
    "coalesce((SELECT unit_price / per FROM tariff_prices p WHERE p.sku_price_id = priced.sku_price_id "
    "AND p.token_class = '{name}'), 0)"
)
_COST = (
    f"web_search_requests * {_PRICE.format(name='web_search')} + web_fetch_requests * {_PRICE.format(name='web_fetch')} "
    f"+ {_PRICE.format(name='requests')}"
)
# OFFSET 0 keeps the question for a later revision one of an index for each of the few events, where statements join by hash (scanning).
# The newest revision counts: what came before is reversed. Its price row is that of its last correction, else of its first charge.
_TOOLS = f"""
    tools AS (
      SELECT coalesce(e.user_id, '') AS user_id, coalesce(e.account_id, '') AS account_id, (e.occurred_at AT TIME ZONE :tz)::date AS day,
             e.purpose, 'priced' AS charge_status, priced.billing_currency, e.feature, coalesce(e.response_model, e.model) AS model,
             {_COST} AS cost
      FROM usage_events e CROSS JOIN LATERAL (
        SELECT sku_price_id, charge_status, billing_currency FROM (
          SELECT c.sku_price_id, c.charge_status, c.billing_currency, length(c.charge_id) AS size, c.charge_id FROM charges c
          WHERE c.tenant = e.tenant AND c.subject_kind = 'event' AND c.subject_id = e.event_id AND c.subject_revision = e.revision
            AND c.basis = 'price_list'
          UNION ALL SELECT e.sku_price_id, e.charge_status, e.billing_currency, 0, ''
        ) line ORDER BY size DESC, charge_id DESC LIMIT 1
      ) priced
      WHERE e.tenant = :tenant AND e.occurred_at >= :since AND e.occurred_at < :before AND e.basis = 'price_list'
        AND priced.charge_status = 'priced' AND e.charge_status <> 'void'
        AND (e.web_search_requests > 0 OR e.web_fetch_requests > 0 OR e.sku_price_id = ANY(:by_request))
        AND NOT EXISTS (SELECT FROM usage_events later WHERE later.tenant = e.tenant AND later.event_id = e.event_id
                        AND later.revision > 0 AND later.revision > e.revision OFFSET 0) {{only}}
    )
"""
TOOLS, TOOLS_OF_ONE = _TOOLS.format(only=""), _TOOLS.format(only="AND e.user_id = :user")
"""Common table expression tools; parameters tenant, tz, since, before, by_request, and user where of one."""

_ROW = (
    "UNION ALL SELECT user_id, account_id, day, purpose, charge_status, billing_currency, 0, 0, 0, 0, 0, {sign}cost, "
    "'{component}', {{dimension}} FROM tools WHERE cost <> 0"
)
TOOL_ROWS = f"{_ROW.format(sign='', component='tools')} {_ROW.format(sign='-', component='provider')}"
"""Takes the cost of tools from the provider's and sets it apart; tokens and calls stay where they are."""

_BY_REQUEST = text(
    """
    SELECT t.sku_price_id FROM tariffs t JOIN tariff_prices p USING (sku_price_id)
    WHERE p.token_class = 'requests' AND p.unit_price > 0 AND EXISTS (
      SELECT FROM rollup_day r WHERE r.tenant = :tenant AND r.bucket >= CAST(:first AS date) - 1 AND r.bucket < CAST(:until AS date) + 1
        AND r.charge_status = 'priced' AND r.seller = t.seller)
    """
)


def priced_by_request(connection: Connection, context: TenantContext, first: date, until: date) -> list[int]:
    """Price rows with a price by the request, of sellers that the days have calls of; none: no call need be looked at for it."""
    rows = connection.execute(_BY_REQUEST, {"tenant": context.tenant, "first": first, "until": until})
    return sorted(rows.scalars())
