"""Which statements sum the events of a workload report?

An event counts once, in its newest revision; what is void does not count. Its cost is the sum of its ledger lines: the first charge, in
the event's own columns, and later ones (settlement, corrections), each in its currency at the rate of its own day.
"""

from __future__ import annotations

from accounting.ledger.corrected import CORRECTED, JOIN_CORRECTIONS
from accounting.reports.convert import JOIN

GROUPS = {
    "feature": "coalesce(feature, '')",
    "model": "coalesce(response_model, model)",
    "reasoning_effort": "coalesce(reasoning_effort, '')",
    "score": "CASE WHEN score IS NULL THEN '' ELSE round(score::numeric, 1)::text END",
    "purpose": "purpose",
}
"""Name -> SQL of the key; scores in tenths."""

# A price is for a million (or a thousand) tokens.
_PRICE = (
    "(SELECT unit_price / per * {{rate}} FROM tariff_prices p WHERE p.sku_price_id = e.price_row "
    "AND p.token_class = '{name}') AS {name}_price"
)
_PERCENTILES = ", ".join(
    f"percentile_cont({share}) WITHIN GROUP (ORDER BY {name}) AS {name}_{point}"
    for name in ("queue_ms", "ttft_ms", "itl_ms")
    for point, share in (("p50", "0.5"), ("p95", "0.95"))
)
_EVENTS = """
    newest AS (
      SELECT DISTINCT ON (event_id) * FROM usage_events
      WHERE tenant = :tenant AND occurred_at >= :since AND occurred_at < :until ORDER BY event_id, revision DESC
    ),
    users AS (
      SELECT *, (occurred_at AT TIME ZONE :tz)::date AS day FROM newest
      WHERE charge_status <> 'void' AND purpose = ANY(:purposes) AND (CAST(:currency AS text) IS NULL OR billing_currency = :currency)
    ),
    lines AS (
      SELECT event_id, (occurred_at AT TIME ZONE :tz)::date AS day, billing_currency,
             contracted_cost_e15 * 0.000000000000001 AS cost, charge_status = 'priced' AS is_priced FROM usage_events
      WHERE tenant = :tenant AND occurred_at >= :since AND occurred_at < :until AND charge_status <> 'void'
      UNION ALL
      SELECT subject_id, (charge_period_start AT TIME ZONE :tz)::date, billing_currency, effective_cost, charge_status = 'priced'
      FROM charges
      WHERE tenant = :tenant AND subject_kind = 'event' AND charge_period_start >= CAST(:since AS timestamptz) - interval '15 minutes'
    )
"""
BOOKED = f"""
    WITH {_EVENTS}
    SELECT lines.day, lines.billing_currency, sum(lines.cost) AS amount FROM lines JOIN users USING (event_id)
    GROUP BY 1, 2 HAVING bool_or(lines.cost <> 0)
"""
"""What the report's costs are by day and currency, as booked."""

_CALLS = f"""
    WITH {_EVENTS},
    costs AS (
      SELECT event_id, sum(cost * {{rate}}) AS cost, bool_or(is_priced) AS is_priced FROM lines {{line_rates}}
      WHERE CAST(:currency AS text) IS NULL OR billing_currency = :currency GROUP BY 1
    ),
    e AS (
      SELECT users.*, coalesce(costs.is_priced, false) AS is_priced, coalesce(costs.cost, 0) AS cost,
             coalesce(task_id, trace_id) AS task,
             uncached_input_tokens::bigint + cache_read_tokens + cache_write_5m_tokens + cache_write_1h_tokens
               + cache_write_30m_tokens + cache_write_12h_tokens + cache_write_tokens AS input_tokens
      FROM users LEFT JOIN costs USING (event_id)
    ),
    r AS (
      SELECT e.*, {_PRICE.format(name="uncached_input")}, {_PRICE.format(name="cache_read")}, {_PRICE.format(name="output")},
             extract(epoch FROM first_token_at - occurred_at) * 1000 AS ttft_ms,
             CASE WHEN output_tokens > 1 THEN extract(epoch FROM completed_at - first_token_at) * 1000 / (output_tokens - 1) END AS itl_ms
      FROM (
        SELECT e.*, {CORRECTED["sku_price_id"]} AS price_row FROM e {JOIN_CORRECTIONS}
      ) e {{event_rates}}
    )
"""
_SIZES = """
    count(*) AS events, count(*) FILTER (WHERE is_priced) AS priced_events, count(DISTINCT task) AS tasks,
    count(*) FILTER (WHERE task IS NOT NULL) AS task_calls, sum(input_tokens)::bigint AS input_tokens,
    sum(output_tokens)::bigint AS output_tokens, sum(cost) AS effective_cost,
    CASE WHEN bool_or(output_price IS NULL AND is_priced) THEN NULL
         ELSE coalesce(sum(output_tokens * output_price), 0) END AS output_cost,
    CASE WHEN bool_or(output_price IS NULL AND is_priced) THEN NULL
         ELSE sum(cost) - coalesce(sum(output_tokens * output_price), 0) END AS input_cost
"""
_KEYS = f"""
    SELECT {{key}} AS key, grouping({{key}}) AS total, {_SIZES},
           count(*) FILTER (WHERE retry_of IS NOT NULL) AS retries, count(*) FILTER (WHERE status <> 'ok') AS failures,
           coalesce(sum(cost) FILTER (WHERE task IS NOT NULL), 0) AS task_cost,
           sum(cache_read_tokens)::bigint AS cache_read_tokens,
           coalesce(sum(cost) FILTER (WHERE retry_of IS NOT NULL), 0) AS retry_cost,
           coalesce(sum(cost) FILTER (WHERE status <> 'ok'), 0) AS failure_cost,
           percentile_disc(0.5) WITHIN GROUP (ORDER BY coalesce(context_tokens, input_tokens))::bigint AS context_p50,
           percentile_disc(0.95) WITHIN GROUP (ORDER BY coalesce(context_tokens, input_tokens))::bigint AS context_p95,
           max(coalesce(context_tokens, input_tokens))::bigint AS context_max,
           CASE WHEN bool_or(cache_read_tokens > 0 AND (cache_read_price IS NULL OR uncached_input_price IS NULL)) THEN NULL
                ELSE coalesce(sum(cache_read_tokens * (uncached_input_price - cache_read_price)), 0) END AS cache_saving,
           {_PERCENTILES}
    FROM r GROUP BY GROUPING SETS (({{key}}), ()) HAVING count(*) > 0 ORDER BY total, key
"""
_MONTHS = f"SELECT date_trunc('month', day)::date AS month, {_SIZES} FROM r GROUP BY 1 ORDER BY 1"
_POINTS = ", ".join(
    f"percentile_disc({share}) WITHIN GROUP (ORDER BY {name}) AS {name}_{point}"
    for name in ("cost", "calls")
    for point, share in (("p50", "0.5"), ("p90", "0.9"), ("p95", "0.95"), ("p99", "0.99"))
)
_TASKS = f"""
    SELECT count(*) AS tasks, max(cost) AS cost_max, max(calls) AS calls_max, {_POINTS} FROM (
      SELECT task, sum(cost) AS cost, count(*) AS calls FROM r WHERE task IS NOT NULL GROUP BY 1 HAVING bool_and(is_priced)
    ) one HAVING count(*) > 0
"""
COSTS = {
    "keys": ("effective_cost", "task_cost", "retry_cost", "failure_cost", "cache_saving", "output_cost", "input_cost"),
    "months": ("effective_cost", "output_cost", "input_cost"),
    "tasks": ("cost_max", "cost_p50", "cost_p90", "cost_p95", "cost_p99"),
}
"""Statement -> columns that are amounts."""
_STATEMENTS = {"keys": _KEYS, "months": _MONTHS, "tasks": _TASKS}


def statement(name: str, *, rated: bool, key: str = "''") -> str:
    """keys | months | tasks. `rated`: amounts x rate, with the parameters of `convert.JOIN` and `first`, the day its numbers begin at."""
    rates = {
        "rate": "rated.rate" if rated else "1",
        "line_rates": _rates("lines.day") if rated else "",
        "event_rates": _rates("e.day") if rated else "",
    }
    return (_CALLS + _STATEMENTS[name].replace("{key}", key)).format(**rates)


def _rates(day: str) -> str:
    return JOIN.format(day_no=f"({day} - CAST(:first AS date) + 1)")
