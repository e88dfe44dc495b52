-- The other two bases of a line of a pool: effective_cost is attributed (direct and gap). Null on every other line. In each basis the
-- lines of a pool hour add up to its bill. details: what the cost was worked out from.
ALTER TABLE charges ADD COLUMN direct_cost numeric(38, 18);
ALTER TABLE charges ADD COLUMN fully_loaded_cost numeric(38, 18);
ALTER TABLE charges ADD COLUMN details jsonb;

-- Which events name a pool; others don't enter these.
CREATE INDEX usage_events_hosted ON usage_events (tenant, deployment, occurred_at) WHERE deployment IS NOT NULL;
CREATE INDEX usage_events_prefilled ON usage_events (tenant, prefill_deployment, occurred_at) WHERE prefill_deployment IS NOT NULL;

-- What became of a pool hour's bill: bill = direct + gap + idle. An hour settled again is a further row, the largest `settlement`
-- counts. unallocated_*: terms of an hour without shares. unproven, underfill: memos, of the gap and of direct; underfill and
-- utilisation are null without R* (best_batch). calibration: time in flight over predicted time, null without shares.
CREATE TABLE pool_hours (
  tenant text NOT NULL,
  pool_id text NOT NULL,
  hour timestamptz NOT NULL CHECK (date_bin('1 hour', hour, timestamptz '2000-01-01 00:00:00+00') = hour),
  settlement integer NOT NULL CHECK (settlement > 0),
  bill numeric(38, 18) NOT NULL CHECK (bill >= 0),
  billing_currency text NOT NULL CHECK (billing_currency ~ '^[A-Z]{3}$'),
  direct numeric(38, 18) NOT NULL,
  gap numeric(38, 18) NOT NULL,
  idle numeric(38, 18) NOT NULL CHECK (idle >= 0),
  unallocated_gap numeric(38, 18) NOT NULL,
  unallocated_idle numeric(38, 18) NOT NULL,
  unproven numeric(38, 18) NOT NULL,
  underfill numeric(38, 18),
  utilisation double precision,
  calibration double precision,
  capacity_us bigint NOT NULL,
  in_flight_us bigint NOT NULL,
  idle_us bigint NOT NULL,
  unproven_us bigint NOT NULL,
  requests integer NOT NULL,
  charged integer NOT NULL,
  unpriced integer NOT NULL,
  estimated integer NOT NULL,
  extrapolated integer NOT NULL,
  best_batch integer,
  curve_id text NOT NULL,
  policy text NOT NULL CHECK (policy IN ('switch', 'equal')),
  fluid boolean NOT NULL,
  inputs_hash bytea NOT NULL,
  settled_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant, pool_id, hour, settlement),
  CHECK (bill = direct + gap + idle),
  CHECK (capacity_us = in_flight_us + idle_us)
);
SELECT tokencogs_protect('pool_hours', 'tenant');
SELECT tokencogs_append_only('pool_hours');
GRANT SELECT, INSERT ON pool_hours TO tokencogs_app;

-- The settlement of each hour that counts.
CREATE VIEW settled_pool_hours WITH (security_invoker = true) AS
SELECT DISTINCT ON (tenant, pool_id, hour) * FROM pool_hours ORDER BY tenant, pool_id, hour, settlement DESC;
GRANT SELECT ON settled_pool_hours TO tokencogs_app;

-- What a pool costs beside its requests is caused by none: purposes of their own, mapped by date as every other one is.
INSERT INTO purpose_policies (tenant, purpose, effective_from, statement_line) VALUES
  (NULL, 'pool_idle', '2000-01-01', 'cost_of_revenue'),
  (NULL, 'pool_gap', '2000-01-01', 'cost_of_revenue');
