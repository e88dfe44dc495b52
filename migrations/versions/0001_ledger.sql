-- The application's role: neither owner nor superuser. Logins are made members of it.
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'tokencogs_app') THEN
    CREATE ROLE tokencogs_app NOLOGIN;
  END IF;
END $$;
GRANT USAGE ON SCHEMA public TO tokencogs_app;
GRANT SELECT ON alembic_version TO tokencogs_app;

-- Row-level security for one table or partition. kind: 'tenant' (rows of one tenant) or 'list' (rows without tenant are readable by all).
CREATE FUNCTION tokencogs_protect(target regclass, kind text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', target);
  EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', target);
  IF kind = 'tenant' THEN
    EXECUTE format($p$CREATE POLICY tenant_rows ON %s
      USING (tenant = current_setting('tokencogs.tenant', true))
      WITH CHECK (tenant = current_setting('tokencogs.tenant', true))$p$, target);
  ELSIF kind = 'list' THEN
    EXECUTE format($p$CREATE POLICY tenant_rows ON %s
      USING (tenant IS NULL OR tenant = current_setting('tokencogs.tenant', true))
      WITH CHECK (tenant IS NULL OR tenant = current_setting('tokencogs.tenant', true))$p$, target);
  ELSE
    RAISE EXCEPTION 'kind=%: must be tenant or list', kind;
  END IF;
END $$;

CREATE TABLE tenants (
  tenant text PRIMARY KEY CHECK (tenant ~ '^[a-z][a-z0-9]{1,30}$'),
  display_name text NOT NULL,
  reporting_tz text NOT NULL DEFAULT 'UTC',
  billing_currency text NOT NULL DEFAULT 'USD' CHECK (billing_currency ~ '^[A-Z]{3}$'),
  raw_usage_days integer CHECK (raw_usage_days > 0),
  identity_days integer CHECK (identity_days > 0),
  created_at timestamptz NOT NULL DEFAULT now()
);
SELECT tokencogs_protect('tenants', 'tenant');
-- Forced security binds the owner too; it may list the tenants it serves, and see nothing else of them.
CREATE POLICY owner_lists ON tenants FOR SELECT TO CURRENT_USER USING (true);
GRANT SELECT ON tenants TO tokencogs_app;

CREATE TABLE api_keys (
  tenant text NOT NULL REFERENCES tenants,
  key_id text NOT NULL,
  scope text NOT NULL CHECK (scope IN ('ingest', 'viewer', 'analyst', 'admin')),
  secret_hash bytea NOT NULL,
  label text NOT NULL DEFAULT '',
  created_at timestamptz NOT NULL DEFAULT now(),
  revoked_at timestamptz,
  PRIMARY KEY (tenant, key_id)
);
SELECT tokencogs_protect('api_keys', 'tenant');
GRANT SELECT ON api_keys TO tokencogs_app;

-- Identity: the one arbiter of duplicates, across months. body_hash is of the event as received.
CREATE TABLE event_ids (
  tenant text NOT NULL,
  event_id text NOT NULL,
  occurred_at timestamptz NOT NULL,
  body_hash bytea NOT NULL,
  PRIMARY KEY (tenant, event_id)
);
SELECT tokencogs_protect('event_ids', 'tenant');
GRANT SELECT, INSERT ON event_ids TO tokencogs_app;

-- The usage parts of a batch of raw bodies, one compressed block; prompts and answers never reach it.
CREATE TABLE raw_usage (
  tenant text NOT NULL,
  raw_batch bigint GENERATED ALWAYS AS IDENTITY,
  received_at timestamptz NOT NULL,
  format text NOT NULL,
  codec text NOT NULL,
  events integer NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (tenant, raw_batch)
);
ALTER TABLE raw_usage ALTER COLUMN body SET STORAGE EXTERNAL;
SELECT tokencogs_protect('raw_usage', 'tenant');
GRANT SELECT, INSERT ON raw_usage TO tokencogs_app;

-- One row a call as logged; immutable. revision 0 is what came first; voids and revisions are further rows.
-- list_cost_e15, contracted_cost_e15: the first charge, exact integers of 10^-15 billing_currency, null when not priced.
CREATE TABLE usage_events (
  tenant text NOT NULL,
  event_id text NOT NULL,
  revision smallint NOT NULL,
  occurred_at timestamptz NOT NULL,
  received_at timestamptz NOT NULL,
  booking_period date NOT NULL,
  response_id text,
  retry_of text,
  queue_ms double precision,
  prefill_started_at timestamptz,
  first_token_at timestamptz,
  completed_at timestamptz,
  provider text NOT NULL,
  surface text,
  model text NOT NULL,
  response_model text,
  deployment text,
  replica text,
  prefill_deployment text,
  prefill_replica text,
  accepted_steps integer,
  preemptions integer,
  reasoning_effort text,
  score double precision,
  region text,
  service_tier text,
  requested_service_tier text,
  reported_cost_usd numeric(38, 18),
  batch boolean NOT NULL,
  status text NOT NULL,
  purpose text NOT NULL,
  account_id text,
  user_id text,
  feature text,
  task_id text,
  trace_id text,
  tags jsonb,
  context_tokens integer,
  usage_known boolean NOT NULL DEFAULT true,
  cache_read_known boolean NOT NULL,
  uncached_input_tokens integer NOT NULL,
  cache_read_tokens integer NOT NULL,
  cache_write_5m_tokens integer NOT NULL,
  cache_write_1h_tokens integer NOT NULL,
  cache_write_30m_tokens integer NOT NULL,
  cache_write_12h_tokens integer NOT NULL,
  cache_write_tokens integer NOT NULL,
  output_tokens integer NOT NULL,
  reasoning_tokens integer NOT NULL,
  audio_input_tokens integer NOT NULL,
  audio_cache_read_tokens integer NOT NULL,
  audio_output_tokens integer NOT NULL,
  image_input_tokens integer NOT NULL,
  image_output_tokens integer NOT NULL,
  video_input_tokens integer NOT NULL,
  web_search_requests integer NOT NULL,
  web_fetch_requests integer NOT NULL,
  body_hash bytea NOT NULL,
  wire_format text NOT NULL DEFAULT 'native',
  raw_batch bigint,
  raw_index integer,
  basis text NOT NULL DEFAULT 'price_list' CHECK (basis IN ('price_list', 'reported')),
  seller text NOT NULL,
  charge_status text NOT NULL CHECK (charge_status IN ('priced', 'unpriced', 'pending_settlement', 'void')),
  reason text,
  sku_price_id bigint,
  list_cost_e15 bigint,
  contracted_cost_e15 bigint,
  billing_currency text NOT NULL,
  CHECK ((charge_status = 'priced') = (list_cost_e15 IS NOT NULL AND contracted_cost_e15 IS NOT NULL)),
  CHECK (charge_status <> 'priced' OR basis = 'reported' OR sku_price_id IS NOT NULL)
) PARTITION BY RANGE (occurred_at);
CREATE INDEX usage_events_time ON usage_events (tenant, occurred_at);
CREATE INDEX usage_events_revised ON usage_events (tenant, event_id) WHERE revision > 0;
SELECT tokencogs_protect('usage_events', 'tenant');
GRANT SELECT, INSERT ON usage_events TO tokencogs_app;
CREATE TABLE usage_events_default PARTITION OF usage_events DEFAULT;
SELECT tokencogs_protect('usage_events_default', 'tenant');

-- Makes the partition of one month; rows that fell into the default partition meanwhile are moved into it. True when made.
CREATE FUNCTION tokencogs_make_partition(month date) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  first date := date_trunc('month', month)::date;
  next date := (date_trunc('month', month) + interval '1 month')::date;
  name text := 'usage_events_' || to_char(month, 'YYYY_MM');
  lower_bound timestamptz := first::timestamp AT TIME ZONE 'UTC';
  upper_bound timestamptz := next::timestamp AT TIME ZONE 'UTC';
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('tokencogs.partitions'));
  IF to_regclass('public.' || name) IS NOT NULL THEN
    RETURN false;
  END IF;
  LOCK TABLE usage_events IN SHARE ROW EXCLUSIVE MODE;
  ALTER TABLE usage_events_default NO FORCE ROW LEVEL SECURITY;
  EXECUTE format('CREATE TABLE %I (LIKE usage_events INCLUDING ALL)', name);
  EXECUTE format('WITH moved AS (DELETE FROM usage_events_default WHERE occurred_at >= %L AND occurred_at < %L RETURNING *)
    INSERT INTO %I SELECT * FROM moved', lower_bound, upper_bound, name);
  EXECUTE format('ALTER TABLE usage_events ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', name, lower_bound, upper_bound);
  ALTER TABLE usage_events_default FORCE ROW LEVEL SECURITY;
  PERFORM tokencogs_protect(name::regclass, 'tenant');
  RETURN true;
END $$;

-- Every later charge: reversals, corrections, settlement. Quantities and costs are signed; a line is never edited.
CREATE TABLE charges (
  tenant text NOT NULL,
  charge_id text NOT NULL,
  subject_kind text NOT NULL CHECK (subject_kind IN ('event', 'pool_hour', 'contract_month', 'fee')),
  subject_id text NOT NULL,
  subject_revision smallint,
  charge_period_start timestamptz NOT NULL,
  booking_period date NOT NULL,
  category text NOT NULL CHECK (category IN ('Usage', 'Purchase', 'Tax', 'Credit', 'Adjustment')),
  class text CHECK (class = 'Correction'),
  supersedes text,
  charge_status text NOT NULL CHECK (charge_status IN ('priced', 'unpriced', 'pending_settlement')),
  seller text NOT NULL,
  model text NOT NULL,
  purpose text NOT NULL,
  account_id text,
  user_id text,
  feature text,
  deployment text,
  events bigint NOT NULL,
  uncached_input_tokens bigint NOT NULL,
  cache_read_tokens bigint NOT NULL,
  cache_write_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  list_cost numeric(38, 18),
  contracted_cost numeric(38, 18),
  effective_cost numeric(38, 18),
  billed_cost numeric(38, 18),
  billing_currency text NOT NULL,
  basis text NOT NULL,
  policy text,
  quality text,
  sku_price_id bigint,
  run_id text,
  reason text,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant, charge_id)
);
CREATE INDEX charges_time ON charges (tenant, charge_period_start);
CREATE INDEX charges_subject ON charges (tenant, subject_kind, subject_id);
SELECT tokencogs_protect('charges', 'tenant');
GRANT SELECT, INSERT ON charges TO tokencogs_app;

-- The one ledger: first charges (columns of the event's row) and all later lines. cache_write_tokens is of all lifetimes.
-- occurred_at is the column that finds partitions; of a later line it is the start of its charge period.
CREATE VIEW ledger WITH (security_invoker = true) AS
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
       reason
FROM usage_events
WHERE charge_status <> 'void'
UNION ALL
SELECT tenant, charge_id, subject_kind, subject_id, subject_revision, charge_period_start, charge_period_start, booking_period,
       category, class,
       supersedes, charge_status, seller, model, purpose, account_id, user_id, feature, deployment, events,
       uncached_input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, list_cost, contracted_cost,
       effective_cost, billed_cost, billing_currency, basis, policy, quality, sku_price_id, run_id, reason
FROM charges;
GRANT SELECT ON ledger TO tokencogs_app;

-- Sums of the ledger by 15 minutes; may be dropped and rebuilt. '' stands for "none" in a key.
CREATE TABLE rollup_15m (
  tenant text NOT NULL,
  bucket timestamptz NOT NULL,
  booking_period date NOT NULL,
  seller text NOT NULL,
  model text NOT NULL,
  purpose text NOT NULL,
  charge_status text NOT NULL,
  billing_currency text NOT NULL,
  events bigint NOT NULL,
  uncached_input_tokens bigint NOT NULL,
  cache_read_tokens bigint NOT NULL,
  cache_write_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  list_cost numeric(38, 18) NOT NULL,
  contracted_cost numeric(38, 18) NOT NULL,
  effective_cost numeric(38, 18) NOT NULL,
  billed_cost numeric(38, 18) NOT NULL,
  PRIMARY KEY (tenant, bucket, booking_period, seller, model, purpose, charge_status, billing_currency)
);
-- Lines booked in another month than they belong to: what reconciles charge periods with booking periods.
CREATE INDEX rollup_15m_late ON rollup_15m (tenant, booking_period)
  WHERE booking_period <> (date_trunc('month', bucket AT TIME ZONE 'UTC'))::date;
SELECT tokencogs_protect('rollup_15m', 'tenant');
GRANT SELECT, INSERT, UPDATE, DELETE ON rollup_15m TO tokencogs_app;

-- The same by the tenant's reporting day, so that quarters and years are as quick as a day. bucket is noon of the day: it lies in
-- the day whatever the zone's clock does at midnight.
CREATE TABLE rollup_day (
  tenant text NOT NULL,
  bucket timestamptz NOT NULL,
  booking_period date NOT NULL,
  seller text NOT NULL,
  model text NOT NULL,
  purpose text NOT NULL,
  charge_status text NOT NULL,
  billing_currency text NOT NULL,
  events bigint NOT NULL,
  uncached_input_tokens bigint NOT NULL,
  cache_read_tokens bigint NOT NULL,
  cache_write_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  list_cost numeric(38, 18) NOT NULL,
  contracted_cost numeric(38, 18) NOT NULL,
  effective_cost numeric(38, 18) NOT NULL,
  billed_cost numeric(38, 18) NOT NULL,
  PRIMARY KEY (tenant, bucket, booking_period, seller, model, purpose, charge_status, billing_currency)
);
CREATE INDEX rollup_day_late ON rollup_day (tenant, booking_period)
  WHERE booking_period <> (date_trunc('month', bucket AT TIME ZONE 'UTC'))::date;
SELECT tokencogs_protect('rollup_day', 'tenant');
GRANT SELECT, INSERT, UPDATE, DELETE ON rollup_day TO tokencogs_app;

-- Sums of the ledger by user and the tenant's reporting day.
CREATE TABLE rollup_user_day (
  tenant text NOT NULL,
  day date NOT NULL,
  user_id text NOT NULL,
  account_id text NOT NULL,
  booking_period date NOT NULL,
  purpose text NOT NULL,
  charge_status text NOT NULL,
  billing_currency text NOT NULL,
  events bigint NOT NULL,
  uncached_input_tokens bigint NOT NULL,
  cache_read_tokens bigint NOT NULL,
  cache_write_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  list_cost numeric(38, 18) NOT NULL,
  contracted_cost numeric(38, 18) NOT NULL,
  effective_cost numeric(38, 18) NOT NULL,
  billed_cost numeric(38, 18) NOT NULL,
  PRIMARY KEY (tenant, day, user_id, account_id, booking_period, purpose, charge_status, billing_currency)
);
SELECT tokencogs_protect('rollup_user_day', 'tenant');
GRANT SELECT, INSERT, UPDATE, DELETE ON rollup_user_day TO tokencogs_app;

-- Dated unit prices with their conditions. tenant null = list price, readable by all. Rows are never edited.
CREATE TABLE tariffs (
  sku_price_id bigint PRIMARY KEY,
  tenant text,
  seller text NOT NULL,
  surface text,
  model text NOT NULL,
  service_tier text NOT NULL,
  above_input_tokens bigint NOT NULL CHECK (above_input_tokens >= 0),
  operator text NOT NULL CHECK (operator IN ('>', '>=')),
  window_start time,
  window_end time,
  effective_from timestamptz,
  effective_until timestamptz,
  currency text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
  source text NOT NULL,
  source_version text NOT NULL,
  checked_on date,
  hash text NOT NULL,
  recorded_at timestamptz NOT NULL DEFAULT now(),
  CHECK (effective_from IS NULL OR effective_until IS NULL OR effective_from < effective_until)
);
CREATE INDEX tariffs_model ON tariffs (seller, model);
SELECT tokencogs_protect('tariffs', 'list');
GRANT SELECT ON tariffs TO tokencogs_app;

-- One price a class. unit_price is per `per` tokens or units; fallback names the class whose price stands in for a missing one.
CREATE TABLE tariff_prices (
  sku_price_id bigint NOT NULL REFERENCES tariffs,
  tenant text,
  token_class text NOT NULL,
  unit_price numeric(38, 18) NOT NULL CHECK (unit_price >= 0),
  per integer NOT NULL CHECK (per IN (1000, 1000000)),
  fallback text,
  price_text text,
  PRIMARY KEY (sku_price_id, token_class)
);
SELECT tokencogs_protect('tariff_prices', 'list');
GRANT SELECT ON tariff_prices TO tokencogs_app;

-- Exact names under which a seller's model is called; model_seller differs where a seller resells another's list.
CREATE TABLE tariff_aliases (
  tenant text,
  seller text NOT NULL,
  alias text NOT NULL,
  model_seller text NOT NULL,
  model text NOT NULL,
  source text NOT NULL,
  checked_on date,
  UNIQUE NULLS NOT DISTINCT (tenant, seller, alias)
);
SELECT tokencogs_protect('tariff_aliases', 'list');
GRANT SELECT ON tariff_aliases TO tokencogs_app;

CREATE TABLE plans (
  tenant text NOT NULL,
  plan text NOT NULL,
  display_name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant, plan)
);
SELECT tokencogs_protect('plans', 'tenant');
GRANT SELECT, INSERT, UPDATE ON plans TO tokencogs_app;

-- Days are the tenant's reporting days, half-open [starts_on, ends_on).
CREATE TABLE subscriptions (
  tenant text NOT NULL,
  subscription_id text NOT NULL,
  plan text NOT NULL,
  user_id text NOT NULL,
  account_id text,
  monthly_price numeric(38, 18) NOT NULL CHECK (monthly_price >= 0),
  billing_currency text NOT NULL CHECK (billing_currency ~ '^[A-Z]{3}$'),
  starts_on date NOT NULL,
  ends_on date,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant, subscription_id),
  FOREIGN KEY (tenant, plan) REFERENCES plans,
  CHECK (ends_on IS NULL OR starts_on < ends_on)
);
CREATE INDEX subscriptions_user ON subscriptions (tenant, user_id);
SELECT tokencogs_protect('subscriptions', 'tenant');
GRANT SELECT, INSERT, UPDATE ON subscriptions TO tokencogs_app;

-- Which line of the income statement a purpose belongs to, by date. tenant null = the default policy.
CREATE TABLE purpose_policies (
  tenant text,
  purpose text NOT NULL,
  effective_from date NOT NULL,
  statement_line text NOT NULL
    CHECK (statement_line IN ('cost_of_revenue', 'sales_and_marketing', 'research_and_development', 'internal')),
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE NULLS NOT DISTINCT (tenant, purpose, effective_from)
);
INSERT INTO purpose_policies (tenant, purpose, effective_from, statement_line) VALUES
  (NULL, 'production', '2000-01-01', 'cost_of_revenue'),
  (NULL, 'free', '2000-01-01', 'sales_and_marketing'),
  (NULL, 'trial', '2000-01-01', 'sales_and_marketing'),
  (NULL, 'eval', '2000-01-01', 'research_and_development'),
  (NULL, 'training', '2000-01-01', 'research_and_development'),
  (NULL, 'internal', '2000-01-01', 'internal');
SELECT tokencogs_protect('purpose_policies', 'list');
GRANT SELECT ON purpose_policies TO tokencogs_app;

-- What a person should look at, with the usage part of the body. kind: conflict (another body under a known id; the first
-- stays), contradiction (numbers that can't all be true; booked nowhere until replayed), finding (booked, to be reviewed).
-- context is what a replay reads beside usage_body; who made the call is in it alone, where it can be erased.
CREATE TABLE exceptions (
  tenant text NOT NULL,
  exception_id text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('conflict', 'contradiction', 'finding')),
  event_id text NOT NULL,
  format text NOT NULL,
  reason text NOT NULL,
  detail text NOT NULL,
  context jsonb NOT NULL,
  usage_body text NOT NULL,
  occurred_at timestamptz,
  received_at timestamptz NOT NULL DEFAULT now(),
  resolved_at timestamptz,
  resolution text CHECK (resolution IN ('replayed', 'dismissed')),
  PRIMARY KEY (tenant, exception_id),
  CHECK ((resolved_at IS NULL) = (resolution IS NULL))
);
CREATE INDEX exceptions_open ON exceptions (tenant, received_at) WHERE resolved_at IS NULL;
SELECT tokencogs_protect('exceptions', 'tenant');
GRANT SELECT, INSERT ON exceptions TO tokencogs_app;
GRANT UPDATE (resolved_at, resolution) ON exceptions TO tokencogs_app;

-- Which of the two costs is booked where a provider states its own: by provider and surface ('' = all), from a moment on.
CREATE TABLE cost_basis_rules (
  tenant text NOT NULL,
  provider text NOT NULL,
  surface text NOT NULL,
  basis text NOT NULL CHECK (basis IN ('price_list', 'reported')),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant, provider, surface)
);
SELECT tokencogs_protect('cost_basis_rules', 'tenant');
GRANT SELECT, INSERT, UPDATE, DELETE ON cost_basis_rules TO tokencogs_app;

CREATE TABLE settlement_runs (
  tenant text NOT NULL,
  run_id text NOT NULL,
  started_at timestamptz NOT NULL,
  finished_at timestamptz,
  subjects integer NOT NULL DEFAULT 0,
  charges integer NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, run_id)
);
SELECT tokencogs_protect('settlement_runs', 'tenant');
GRANT SELECT, INSERT, UPDATE ON settlement_runs TO tokencogs_app;
