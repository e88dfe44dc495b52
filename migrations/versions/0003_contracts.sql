-- The list price row of an event, where a contract priced it by another one; null: sku_price_id is that of both costs.
ALTER TABLE usage_events ADD COLUMN list_sku_price_id bigint;
ALTER TABLE charges ADD COLUMN list_sku_price_id bigint;

-- Rollups tell the categories apart, so that a purchase never adds to the cost of usage. Every line so far is usage.
DO $$
DECLARE
  name text;
  key text;
BEGIN
  FOREACH name IN ARRAY ARRAY['rollup_15m', 'rollup_day', 'rollup_user_day'] LOOP
    EXECUTE format('ALTER TABLE %I ADD COLUMN category text NOT NULL DEFAULT ''Usage''', name);
    EXECUTE format('ALTER TABLE %I ALTER COLUMN category DROP DEFAULT', name);
    SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY array_position(i.indkey::int2[], a.attnum)) INTO key
    FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)
    WHERE i.indrelid = name::regclass AND i.indisprimary;
    EXECUTE format('ALTER TABLE %I DROP CONSTRAINT %I, ADD PRIMARY KEY (%s, category)', name, name || '_pkey', key);
  END LOOP;
END $$;

-- What a contract costs beside usage (a purchase, its unused part) is caused by no request: a purpose of its own, mapped by date as
-- every other one is.
INSERT INTO purpose_policies (tenant, purpose, effective_from, statement_line)
VALUES (NULL, 'commitment', '2000-01-01', 'cost_of_revenue');

CREATE OR REPLACE VIEW ledger WITH (security_invoker = true) AS
SELECT tenant,
       event_id || ':' || revision AS charge_id,
       'event'::text AS subject_kind,
       event_id AS subject_id,
       revision AS subject_revision,
       occurred_at,
       date_bin('15 minutes', occurred_at, timestamptz '2000-01-01 00:00:00+00') AS charge_period_start,
       booking_period,
       'Usage'::text AS category,
       NULL::text AS class,
       NULL::text AS supersedes,
       charge_status,
       seller,
       coalesce(response_model, model) AS model,
       purpose,
       account_id,
       user_id,
       feature,
       deployment,
       1::bigint AS events,
       uncached_input_tokens::bigint AS uncached_input_tokens,
       cache_read_tokens::bigint AS cache_read_tokens,
       cache_write_5m_tokens::bigint + cache_write_1h_tokens + cache_write_30m_tokens + cache_write_12h_tokens
         + cache_write_tokens AS cache_write_tokens,
       output_tokens::bigint AS output_tokens,
       list_cost_e15 * 0.000000000000001 AS list_cost,
       contracted_cost_e15 * 0.000000000000001 AS contracted_cost,
       contracted_cost_e15 * 0.000000000000001 AS effective_cost,
       contracted_cost_e15 * 0.000000000000001 AS billed_cost,
       billing_currency,
       basis,
       NULL::text AS policy,
       NULL::text AS quality,
       sku_price_id,
       NULL::text AS run_id,
       reason,
       coalesce(list_sku_price_id, sku_price_id) AS list_sku_price_id
FROM usage_events
WHERE charge_status <> 'void'
UNION ALL
SELECT tenant, charge_id, subject_kind, subject_id, subject_revision, charge_period_start, charge_period_start, booking_period,
       category, class,
       supersedes, charge_status, seller, model, purpose, account_id, user_id, feature, deployment, events,
       uncached_input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, list_cost, contracted_cost,
       effective_cost, billed_cost, billing_currency, basis, policy, quality, sku_price_id, run_id, reason,
       list_sku_price_id
FROM charges;

-- A model that only a contract prices has no list cost: unknown, not 0.
ALTER TABLE usage_events DROP CONSTRAINT usage_events_check;
ALTER TABLE usage_events ADD CHECK ((charge_status = 'priced') = (contracted_cost_e15 IS NOT NULL));
ALTER TABLE usage_events ADD CHECK (charge_status = 'priced' OR list_cost_e15 IS NULL);
