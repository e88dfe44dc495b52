-- What an engine wrote down of its steps, by replica and hour in which they began. The newest record of (pool, replica, hour, ledger_hash)
-- counts; an hour may have several ledgers, of times apart. starts_at, ends_at: what of the hour the ledger covers, the last part to the
-- end of its last step. step_columns, part_columns: Arrow streams (accounting/selfhosted/step_ledger.py), null where withdrawn.
CREATE TABLE pool_steps (
  tenant text NOT NULL,
  record_id bigint GENERATED ALWAYS AS IDENTITY,
  pool_id text NOT NULL,
  replica text NOT NULL,
  hour timestamptz NOT NULL CHECK (date_bin('1 hour', hour, timestamptz '2000-01-01 00:00:00+00') = hour),
  ledger_hash bytea NOT NULL,
  state text NOT NULL CHECK (state IN ('stated', 'withdrawn')),
  source_id text NOT NULL,
  starts_at timestamptz NOT NULL,
  ends_at timestamptz NOT NULL CHECK (ends_at >= starts_at),
  steps integer NOT NULL CHECK (steps >= 0),
  requests integer NOT NULL CHECK (requests >= 0),
  measured_ns bigint NOT NULL CHECK (measured_ns >= 0),
  step_columns bytea,
  part_columns bytea,
  created_by text NOT NULL,
  recorded_at timestamptz NOT NULL,
  PRIMARY KEY (tenant, record_id),
  CHECK ((step_columns IS NULL) = (state = 'withdrawn') AND (part_columns IS NULL) = (state = 'withdrawn'))
);
CREATE INDEX pool_steps_newest ON pool_steps (tenant, pool_id, hour, replica, ledger_hash, recorded_at DESC, record_id DESC);
SELECT tokencogs_protect('pool_steps', 'tenant');
SELECT tokencogs_append_only('pool_steps');
GRANT SELECT, INSERT ON pool_steps TO tokencogs_app;

-- variance: measured less standard time of recorded steps, a part of the gap; unlogged: direct shares of requests that a step names and no
-- event is of. Both null where no ledger covers the hour. exact: requests charged by a ledger.
ALTER TABLE pool_hours ADD COLUMN variance numeric(38, 18);
ALTER TABLE pool_hours ADD COLUMN unlogged numeric(38, 18);
ALTER TABLE pool_hours ADD COLUMN exact integer NOT NULL DEFAULT 0;
CREATE OR REPLACE VIEW settled_pool_hours WITH (security_invoker = true) AS
SELECT DISTINCT ON (tenant, pool_id, hour) * FROM pool_hours ORDER BY tenant, pool_id, hour, settlement DESC;
