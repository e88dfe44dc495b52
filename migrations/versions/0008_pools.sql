-- Self-hosted serving: pools, their replicas, what a GPU-hour costs, and what an hour of a pool cost. All of it is said with a date and
-- written down with a moment; nothing is edited, of what is said about the same thing the newest record counts.

-- A pool's settings from a moment on, until the next statement's. pool_id: what events name as deployment or prefill_deployment.
CREATE TABLE pools (
  tenant text NOT NULL,
  record_id bigint GENERATED ALWAYS AS IDENTITY,
  pool_id text NOT NULL CHECK (pool_id <> '' AND length(pool_id) <= 256),
  state text NOT NULL CHECK (state IN ('stated', 'withdrawn')),
  effective_from timestamptz NOT NULL,
  effective_until timestamptz CHECK (effective_until > effective_from),
  role text NOT NULL CHECK (role IN ('mixed', 'prefill', 'decode')),
  model text NOT NULL,
  curve_id text NOT NULL,
  gpu text NOT NULL,
  gpus_per_replica integer NOT NULL CHECK (gpus_per_replica > 0),
  scheduler_order text NOT NULL CHECK (scheduler_order IN ('decode_first', 'prefill_first')),
  token_budget integer NOT NULL CHECK (token_budget > 0),
  max_batch integer NOT NULL CHECK (max_batch > 0),
  kv_capacity_tokens bigint CHECK (kv_capacity_tokens > 0),
  admission text NOT NULL CHECK (admission IN ('prompt', 'peak')),
  ttft_target_ms double precision CHECK (ttft_target_ms > 0),
  itl_target_ms double precision CHECK (itl_target_ms > 0),
  policy text NOT NULL CHECK (policy IN ('switch', 'equal')),
  outside_range text NOT NULL CHECK (outside_range IN ('refuse', 'flag')),
  prefix_policy text NOT NULL CHECK (prefix_policy IN ('first_pays', 'amortised')),
  billing_currency text NOT NULL CHECK (billing_currency ~ '^[A-Z]{3}$'),
  created_by text NOT NULL,
  recorded_at timestamptz NOT NULL,
  PRIMARY KEY (tenant, record_id)
);
CREATE INDEX pools_newest ON pools (tenant, pool_id, effective_from, recorded_at DESC, record_id DESC);
SELECT tokencogs_protect('pools', 'tenant');
SELECT tokencogs_append_only('pools');
GRANT SELECT, INSERT ON pools TO tokencogs_app;

-- From when until when a replica serves in a pool, and which rate pays its GPUs; null: its bill is imported.
CREATE TABLE pool_replicas (
  tenant text NOT NULL,
  record_id bigint GENERATED ALWAYS AS IDENTITY,
  pool_id text NOT NULL,
  replica text NOT NULL CHECK (replica <> '' AND length(replica) <= 256),
  state text NOT NULL CHECK (state IN ('stated', 'withdrawn')),
  effective_from timestamptz NOT NULL,
  effective_until timestamptz CHECK (effective_until > effective_from),
  rate_id text,
  created_by text NOT NULL,
  recorded_at timestamptz NOT NULL,
  PRIMARY KEY (tenant, record_id)
);
CREATE INDEX pool_replicas_newest ON pool_replicas (tenant, pool_id, replica, effective_from, recorded_at DESC, record_id DESC);
SELECT tokencogs_protect('pool_replicas', 'tenant');
SELECT tokencogs_append_only('pool_replicas');
GRANT SELECT, INSERT ON pool_replicas TO tokencogs_app;

-- What a GPU-hour costs from a moment on. proposed: imported, a person has not decided; stated: in force as dated. terms:
-- accounting/selfhosted/rate_json.py, amounts as decimal text.
CREATE TABLE gpu_rates (
  tenant text NOT NULL,
  record_id bigint GENERATED ALWAYS AS IDENTITY,
  rate_id text NOT NULL CHECK (rate_id <> '' AND length(rate_id) <= 256),
  state text NOT NULL CHECK (state IN ('proposed', 'stated', 'refused', 'withdrawn')),
  effective_from timestamptz NOT NULL,
  effective_until timestamptz CHECK (effective_until > effective_from),
  kind text NOT NULL CHECK (kind IN ('on_demand', 'spot', 'reserved', 'owned')),
  gpu text NOT NULL,
  billing_currency text NOT NULL CHECK (billing_currency ~ '^[A-Z]{3}$'),
  terms jsonb NOT NULL,
  source text NOT NULL,
  checked_on date,
  created_by text NOT NULL,
  approved_by text,
  recorded_at timestamptz NOT NULL,
  PRIMARY KEY (tenant, record_id)
);
CREATE INDEX gpu_rates_newest ON gpu_rates (tenant, rate_id, effective_from, recorded_at DESC, record_id DESC);
SELECT tokencogs_protect('gpu_rates', 'tenant');
SELECT tokencogs_append_only('gpu_rates');
GRANT SELECT, INSERT ON gpu_rates TO tokencogs_app;

-- What an hour of a pool cost; the newest record of an hour counts. gpu_hours: scheduled, null where no schedule says.
-- source_id: the file an imported one came from. parts: by rate or by the biller's own resource, they add up to the amount.
CREATE TABLE pool_bills (
  tenant text NOT NULL,
  record_id bigint GENERATED ALWAYS AS IDENTITY,
  pool_id text NOT NULL,
  hour timestamptz NOT NULL CHECK (date_bin('1 hour', hour, timestamptz '2000-01-01 00:00:00+00') = hour),
  amount numeric(38, 18) NOT NULL CHECK (amount >= 0),
  billing_currency text NOT NULL CHECK (billing_currency ~ '^[A-Z]{3}$'),
  gpu_hours numeric(38, 18) CHECK (gpu_hours >= 0),
  source text NOT NULL CHECK (source IN ('schedule', 'csv', 'focus')),
  source_id text,
  parts jsonb NOT NULL,
  created_by text NOT NULL,
  recorded_at timestamptz NOT NULL,
  PRIMARY KEY (tenant, record_id)
);
CREATE INDEX pool_bills_newest ON pool_bills (tenant, pool_id, hour, recorded_at DESC, record_id DESC);
SELECT tokencogs_protect('pool_bills', 'tenant');
SELECT tokencogs_append_only('pool_bills');
GRANT SELECT, INSERT ON pool_bills TO tokencogs_app;

-- Hours of held capacity (reserved or owned) that no pool was scheduled on: a line of its own, of no pool. rate_id: or the biller's id of
-- the commitment.
CREATE TABLE unused_gpu_hours (
  tenant text NOT NULL,
  record_id bigint GENERATED ALWAYS AS IDENTITY,
  rate_id text NOT NULL,
  hour timestamptz NOT NULL CHECK (date_bin('1 hour', hour, timestamptz '2000-01-01 00:00:00+00') = hour),
  amount numeric(38, 18) NOT NULL CHECK (amount >= 0),
  billing_currency text NOT NULL CHECK (billing_currency ~ '^[A-Z]{3}$'),
  gpu_hours numeric(38, 18) CHECK (gpu_hours >= 0),
  source text NOT NULL CHECK (source IN ('schedule', 'focus')),
  source_id text,
  created_by text NOT NULL,
  recorded_at timestamptz NOT NULL,
  PRIMARY KEY (tenant, record_id)
);
CREATE INDEX unused_gpu_hours_newest ON unused_gpu_hours (tenant, rate_id, hour, recorded_at DESC, record_id DESC);
SELECT tokencogs_protect('unused_gpu_hours', 'tenant');
SELECT tokencogs_append_only('unused_gpu_hours');
GRANT SELECT, INSERT ON unused_gpu_hours TO tokencogs_app;

-- Capacity that nobody used is caused by no request: a purpose of its own, mapped by date as every other one is.
INSERT INTO purpose_policies (tenant, purpose, effective_from, statement_line)
VALUES (NULL, 'unused_capacity', '2000-01-01', 'cost_of_revenue');
