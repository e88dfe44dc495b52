-- Published exchange rates: units of a currency for one euro, as text as published. tenant null = readable by all. Rows are never
-- edited: a rate stated anew is a further row, and the newest recorded one holds.
CREATE TABLE fx_rates (
  tenant text,
  rate_date date NOT NULL,
  currency text NOT NULL CHECK (currency ~ '^[A-Z]{3}$' AND currency <> 'EUR'),
  per_eur text NOT NULL CHECK (per_eur ~ '^[0-9]{1,38}(\.[0-9]{1,38})?$' AND per_eur::numeric > 0),
  source text NOT NULL,
  source_version text NOT NULL,
  recorded_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE NULLS NOT DISTINCT (tenant, currency, rate_date, recorded_at)
);
SELECT tokencogs_protect('fx_rates', 'list');
GRANT SELECT ON fx_rates TO tokencogs_app;

-- Calls whose usage is missing are a line of every report's coverage; few they are, so that counting them follows their number alone.
CREATE INDEX usage_events_missing ON usage_events (tenant, occurred_at) WHERE NOT usage_known;
