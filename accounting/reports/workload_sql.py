"""Which statement sums the events of a workload report?"""

from __future__ import annotations

GROUPS = {
    "feature": "coalesce(feature, '')",
    "model": "coalesce(response_model, model)",
    "reasoning_effort": "coalesce(reasoning_effort, '')",
    "score": "CASE WHEN score IS NULL THEN '' ELSE round(score::numeric, 1)::text END",
    "purpose": "purpose",
}
"""Name -> SQL of the key; scores in tenths."""

# An event counts once, in its newest revision; what is void does not count. The first charge is the event's own columns, later lines
# (settlement, corrections) are charges of it. A price is for a million (or a thousand) tokens.
_PRICE = "(SELECT unit_price / per FROM tariff_prices p WHERE p.sku_price_id = e.sku_price_id AND p.token_class = '{name}') AS {name}_price"
_PERCENTILES = ", ".join(
    f"percentile_cont({share}) WITHIN GROUP (ORDER BY {name}) AS {name}_{point}"
    for name in ("queue_ms", "ttft_ms", "itl_ms")
    for point, share in (("p50", "0.5"), ("p95", "0.95"))
)
SQL = f"""
    WITH newest AS (
      SELECT DISTINCT ON (event_id) * FROM usage_events
      WHERE tenant = :tenant AND occurred_at >= :since AND occurred_at < :until ORDER BY event_id, revision DESC
    ),
    later AS (
      SELECT subject_id, sum(effective_cost) AS cost, bool_or(charge_status = 'priced') AS priced FROM charges
      WHERE tenant = :tenant AND subject_kind = 'event' GROUP BY 1
    ),
    first AS (
      SELECT event_id, sum(contracted_cost_e15) FILTER (WHERE charge_status = 'priced') * 0.000000000000001 AS cost FROM usage_events
      WHERE tenant = :tenant AND occurred_at >= :since AND occurred_at < :until GROUP BY 1
    ),
    e AS (
      SELECT n.*, {{key}} AS key, f.cost IS NOT NULL OR coalesce(l.priced, false) AS is_priced,
             coalesce(f.cost, 0) + coalesce(l.cost, 0) AS cost, coalesce(n.task_id, n.trace_id) AS task,
             n.uncached_input_tokens::bigint + n.cache_read_tokens + n.cache_write_5m_tokens + n.cache_write_1h_tokens
               + n.cache_write_30m_tokens + n.cache_write_12h_tokens + n.cache_write_tokens AS input_tokens
      FROM newest n LEFT JOIN later l ON l.subject_id = n.event_id LEFT JOIN first f ON f.event_id = n.event_id
      WHERE n.charge_status <> 'void' AND n.billing_currency = :currency AND n.purpose = ANY(:purposes)
    ),
    r AS (
      SELECT e.*, {_PRICE.format(name="uncached_input")}, {_PRICE.format(name="cache_read")}, {_PRICE.format(name="output")},
             extract(epoch FROM first_token_at - occurred_at) * 1000 AS ttft_ms,
             CASE WHEN output_tokens > 1 THEN extract(epoch FROM completed_at - first_token_at) * 1000 / (output_tokens - 1) END AS itl_ms
      FROM e
    )
    SELECT key, grouping(key) AS total, count(*) AS events, count(*) FILTER (WHERE is_priced) AS priced_events,
           count(*) FILTER (WHERE retry_of IS NOT NULL) AS retries, count(*) FILTER (WHERE status <> 'ok') AS failures,
           count(DISTINCT task) AS tasks, count(*) FILTER (WHERE task IS NOT NULL) AS task_calls,
           coalesce(sum(cost) FILTER (WHERE task IS NOT NULL), 0) AS task_cost,
           sum(input_tokens)::bigint AS input_tokens, sum(cache_read_tokens)::bigint AS cache_read_tokens,
           sum(output_tokens)::bigint AS output_tokens, sum(cost) AS effective_cost,
           coalesce(sum(cost) FILTER (WHERE retry_of IS NOT NULL), 0) AS retry_cost,
           coalesce(sum(cost) FILTER (WHERE status <> 'ok'), 0) AS failure_cost,
           percentile_disc(0.5) WITHIN GROUP (ORDER BY coalesce(context_tokens, input_tokens))::bigint AS context_p50,
           percentile_disc(0.95) WITHIN GROUP (ORDER BY coalesce(context_tokens, input_tokens))::bigint AS context_p95,
           max(coalesce(context_tokens, input_tokens))::bigint AS context_max,
           CASE WHEN bool_or(cache_read_tokens > 0 AND (cache_read_price IS NULL OR uncached_input_price IS NULL)) THEN NULL
                ELSE coalesce(sum(cache_read_tokens * (uncached_input_price - cache_read_price)), 0) END AS cache_saving,
           CASE WHEN bool_or(output_price IS NULL AND is_priced) THEN NULL ELSE sum(output_tokens * output_price) END AS output_cost,
           CASE WHEN bool_or(output_price IS NULL AND is_priced) THEN NULL
                ELSE sum(cost) - sum(output_tokens * output_price) END AS input_cost,
           {_PERCENTILES}
    FROM r GROUP BY GROUPING SETS ((key), ()) HAVING count(*) > 0 ORDER BY total, key
"""
