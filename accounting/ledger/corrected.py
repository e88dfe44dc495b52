"""What does the ledger hold of an event once its corrections are added? SQL that every reader of single events shares.

The pieces speak of `usage_events e`; `corrections` is one row an event that has later lines: their sums, and the newest of them
that is no reversal, which says status, price rows and currency.
"""

from __future__ import annotations

JOIN_CORRECTIONS = """
LEFT JOIN (
  SELECT subject_id, subject_revision, count(*) AS lines,
         (sum(list_cost) * 1000000000000000)::bigint AS list_cost,
         (sum(contracted_cost) * 1000000000000000)::bigint AS contracted_cost,
         array_agg(ARRAY[charge_status, seller, billing_currency, sku_price_id::text, list_sku_price_id::text, reason,
                         list_cost::text]
                   ORDER BY created_at DESC, charge_id DESC) FILTER (WHERE basis <> 'reversal') AS newest
  FROM charges
  WHERE tenant = :tenant AND subject_kind = 'event' AND charge_period_start < :until
    AND charge_period_start >= date_bin('15 minutes', CAST(:since AS timestamptz), timestamptz '2000-01-01 00:00:00+00')
  GROUP BY subject_id, subject_revision
) corrections ON corrections.subject_id = e.event_id AND corrections.subject_revision = e.revision
"""
"""Parameters: tenant; since and until, on event time."""

_COST = "CASE WHEN corrections.{name} IS NULL THEN e.{name}_e15 ELSE coalesce(e.{name}_e15, 0) + corrections.{name} END"
CORRECTED = {
    "charge_status": "coalesce(corrections.newest[1][1], e.charge_status)",
    "seller": "coalesce(corrections.newest[1][2], e.seller)",
    "billing_currency": "coalesce(corrections.newest[1][3], e.billing_currency)",
    "sku_price_id": (
        "CASE WHEN corrections.newest IS NULL THEN e.sku_price_id ELSE corrections.newest[1][4]::bigint END"
    ),
    "list_sku_price_id": (
        "CASE WHEN corrections.newest IS NULL THEN e.list_sku_price_id ELSE corrections.newest[1][5]::bigint END"
    ),
    "reason": "CASE WHEN corrections.newest IS NULL THEN e.reason ELSE corrections.newest[1][6] END",
    # The newest line of an event without a list price has no list cost, whatever the reversed lines before it add up to.
    "list_cost_e15": (
        "CASE WHEN corrections.newest IS NOT NULL AND corrections.newest[1][7] IS NULL THEN NULL "
        f"ELSE {_COST.format(name='list_cost')} END"
    ),
    "contracted_cost_e15": _COST.format(name="contracted_cost"),
    "lines": "coalesce(corrections.lines, 0)",
}
"""Column -> what the ledger holds of it; `lines` counts the event's later lines."""

NEWEST_REVISION = (
    "NOT EXISTS (SELECT FROM usage_events newer WHERE newer.tenant = :tenant AND newer.event_id = e.event_id "
    "AND newer.revision > 0 AND newer.revision > e.revision)"
)
