-- Further conditions of a price row; what identifies a row is its hash, which leaves them out where they are not used.
ALTER TABLE tariffs ADD COLUMN region text;
ALTER TABLE tariffs ADD COLUMN decided_by text NOT NULL DEFAULT 'total_input'
  CHECK (decided_by IN ('total_input', 'uncached_input', 'output', 'total'));
-- The row that a contract's rules, or the end of a row that stands before this one, made it from.
ALTER TABLE tariffs ADD COLUMN derived_from bigint;

-- Rows of these tables are never edited, not even by the owner: what changes is stated again.
CREATE FUNCTION tokencogs_refuse_edit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% of % is refused: its rows are never edited', TG_OP, TG_TABLE_NAME;
END $$;
CREATE FUNCTION tokencogs_append_only(target regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('CREATE TRIGGER never_edited BEFORE UPDATE OR DELETE OR TRUNCATE ON %s
    FOR EACH STATEMENT EXECUTE FUNCTION tokencogs_refuse_edit()', target);
END $$;

-- A table of kind 'list' that the application adds to: rows of its tenant, never rows of all.
CREATE FUNCTION tokencogs_own_rows(target regclass, acts text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  own text := $p$tenant = current_setting('tokencogs.tenant', true) AND tenant <> ''$p$;
  act text;
BEGIN
  FOREACH act IN ARRAY acts LOOP
    EXECUTE format('CREATE POLICY own_%s ON %s AS RESTRICTIVE FOR %s TO tokencogs_app %s (%s)', lower(act), target, act,
      CASE act WHEN 'INSERT' THEN 'WITH CHECK' ELSE 'USING' END, own);
  END LOOP;
END $$;

SELECT tokencogs_append_only('tariffs');
SELECT tokencogs_own_rows('tariffs', ARRAY['INSERT']);
GRANT INSERT ON tariffs TO tokencogs_app;
SELECT tokencogs_append_only('tariff_prices');
SELECT tokencogs_own_rows('tariff_prices', ARRAY['INSERT']);
GRANT INSERT ON tariff_prices TO tokencogs_app;

-- One reading of a source. as_of: the day from which its prices hold, null where the source dates its rows itself.
-- findings: what of it could not be taken over, by name.
CREATE TABLE price_imports (
  import_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant text,
  list_source text NOT NULL,
  source_version text NOT NULL,
  as_of date,
  file_hash text NOT NULL,
  counts jsonb NOT NULL,
  findings jsonb NOT NULL,
  created_by text NOT NULL,
  recorded_at timestamptz NOT NULL
);
CREATE INDEX price_imports_source ON price_imports (list_source, as_of);
SELECT tokencogs_protect('price_imports', 'list');
SELECT tokencogs_append_only('price_imports');
SELECT tokencogs_own_rows('price_imports', ARRAY['INSERT']);
GRANT SELECT, INSERT ON price_imports TO tokencogs_app;

-- What was said about a price row, and when: the second of the two times. Of each row and source the newest record counts.
-- stated: in force as dated; proposed: the source says so, a person has not decided; refused: a person has; withdrawn: no longer
-- stated. source, source_version, checked_on: of this statement. created_by, approved_by: null where it came with the source.
CREATE TABLE tariff_records (
  record_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant text,
  sku_price_id bigint NOT NULL REFERENCES tariffs,
  list_source text NOT NULL,
  state text NOT NULL CHECK (state IN ('stated', 'proposed', 'refused', 'withdrawn')),
  effective_until timestamptz,
  source text NOT NULL,
  source_version text NOT NULL,
  checked_on date,
  created_by text,
  approved_by text,
  import_id bigint REFERENCES price_imports,
  recorded_at timestamptz NOT NULL
);
CREATE INDEX tariff_records_newest ON tariff_records (sku_price_id, list_source, recorded_at DESC, record_id DESC);
SELECT tokencogs_protect('tariff_records', 'list');
SELECT tokencogs_append_only('tariff_records');
SELECT tokencogs_own_rows('tariff_records', ARRAY['INSERT']);
GRANT SELECT, INSERT ON tariff_records TO tokencogs_app;

-- Rows of the first schema: the newest version of each source stated them, or no longer did.
WITH versions AS (
  SELECT DISTINCT split_part(source, ':', 1) AS list_source, source_version,
    ARRAY(SELECT m[1]::numeric FROM regexp_matches(source_version, '\d+', 'g') WITH ORDINALITY AS r(m, n) ORDER BY n) AS numbers
  FROM tariffs
), newest AS (
  SELECT list_source, max(numbers) AS numbers FROM versions GROUP BY 1
)
INSERT INTO tariff_records (tenant, sku_price_id, list_source, state, effective_until, source, source_version, checked_on,
  created_by, approved_by, recorded_at)
SELECT t.tenant, t.sku_price_id, v.list_source,
  CASE WHEN t.tenant IS NOT NULL OR v.numbers = n.numbers THEN 'stated' ELSE 'withdrawn' END,
  t.effective_until, t.source, t.source_version, t.checked_on, NULL, NULL, t.recorded_at
FROM tariffs t
JOIN versions v ON v.list_source = split_part(t.source, ':', 1) AND v.source_version = t.source_version
JOIN newest n ON n.list_source = v.list_source;

-- Names are stated by a source from one moment to another.
ALTER TABLE tariff_aliases DROP CONSTRAINT tariff_aliases_tenant_seller_alias_key;
ALTER TABLE tariff_aliases ADD COLUMN alias_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY;
ALTER TABLE tariff_aliases ADD COLUMN list_source text NOT NULL DEFAULT 'genai-prices';
ALTER TABLE tariff_aliases ALTER COLUMN list_source DROP DEFAULT;
ALTER TABLE tariff_aliases ADD COLUMN created_by text;
ALTER TABLE tariff_aliases ADD COLUMN recorded_at timestamptz NOT NULL DEFAULT now();
ALTER TABLE tariff_aliases ADD COLUMN recorded_until timestamptz CHECK (recorded_until >= recorded_at);
CREATE UNIQUE INDEX tariff_aliases_current ON tariff_aliases (tenant, seller, alias, list_source)
  NULLS NOT DISTINCT WHERE recorded_until IS NULL;
SELECT tokencogs_own_rows('tariff_aliases', ARRAY['INSERT', 'UPDATE']);
GRANT INSERT ON tariff_aliases TO tokencogs_app;
GRANT UPDATE (recorded_until) ON tariff_aliases TO tokencogs_app;

-- A price that a source states otherwise than what was in force or stated by another one. unit prices are per million tokens, or per
-- thousand units; the interval is that in which both were said to hold.
CREATE TABLE price_disagreements (
  disagreement_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant text,
  import_id bigint REFERENCES price_imports,
  sku_price_id bigint NOT NULL REFERENCES tariffs,
  list_source text NOT NULL,
  unit_price numeric(38, 18) NOT NULL,
  other_sku_price_id bigint NOT NULL REFERENCES tariffs,
  other_source text NOT NULL,
  other_unit_price numeric(38, 18) NOT NULL,
  token_class text NOT NULL,
  holds_from timestamptz,
  holds_until timestamptz,
  recorded_at timestamptz NOT NULL
);
CREATE INDEX price_disagreements_row ON price_disagreements (sku_price_id);
SELECT tokencogs_protect('price_disagreements', 'list');
SELECT tokencogs_append_only('price_disagreements');
SELECT tokencogs_own_rows('price_disagreements', ARRAY['INSERT']);
GRANT SELECT, INSERT ON price_disagreements TO tokencogs_app;

-- What a tenant has signed with a seller; of each contract the newest record counts. content: accounting/pricing/contract.py.
CREATE TABLE contracts (
  tenant text NOT NULL,
  record_id bigint GENERATED ALWAYS AS IDENTITY,
  contract_id text NOT NULL,
  state text NOT NULL CHECK (state IN ('stated', 'withdrawn')),
  content jsonb NOT NULL,
  hash text NOT NULL,
  created_by text NOT NULL,
  approved_by text,
  recorded_at timestamptz NOT NULL,
  PRIMARY KEY (tenant, record_id)
);
CREATE INDEX contracts_newest ON contracts (tenant, contract_id, recorded_at DESC, record_id DESC);
SELECT tokencogs_protect('contracts', 'tenant');
SELECT tokencogs_append_only('contracts');
GRANT SELECT, INSERT ON contracts TO tokencogs_app;

-- Who changed what. tenant null: an act of the operator, for all. Its newest number tells whether a price book is still as it was read.
CREATE TABLE audit_log (
  audit_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant text,
  at timestamptz NOT NULL,
  actor text NOT NULL,
  action text NOT NULL,
  subject text NOT NULL,
  before jsonb,
  after jsonb
);
CREATE INDEX audit_log_tenant ON audit_log (tenant, audit_id);
SELECT tokencogs_protect('audit_log', 'list');
SELECT tokencogs_append_only('audit_log');
SELECT tokencogs_own_rows('audit_log', ARRAY['INSERT']);
GRANT SELECT, INSERT ON audit_log TO tokencogs_app;

-- Where a tenant is told of models without a price, and of which ones it has been told.
CREATE TABLE alert_hooks (
  tenant text PRIMARY KEY,
  url text NOT NULL,
  created_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
SELECT tokencogs_protect('alert_hooks', 'tenant');
GRANT SELECT, INSERT, UPDATE, DELETE ON alert_hooks TO tokencogs_app;
CREATE TABLE alerted_models (
  tenant text NOT NULL,
  seller text NOT NULL,
  model text NOT NULL,
  alerted_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant, seller, model)
);
SELECT tokencogs_protect('alerted_models', 'tenant');
GRANT SELECT, INSERT ON alerted_models TO tokencogs_app;
