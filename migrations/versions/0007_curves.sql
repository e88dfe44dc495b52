-- Measured curves as files. Without a tenant: shared, readable by all, written by the owner. A curve of an id is never edited: charges name it.
CREATE TABLE curves (
  curve_key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant text,
  curve_id text NOT NULL CHECK (curve_id <> '' AND length(curve_id) <= 256),
  form text NOT NULL CHECK (form IN ('step', 'table')),
  model text NOT NULL,
  engine text NOT NULL,
  gpu text NOT NULL,
  measured_at text NOT NULL,
  floor boolean NOT NULL,
  behaviour_changing boolean NOT NULL,
  file_hash text NOT NULL,
  file jsonb NOT NULL,
  created_by text,
  recorded_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE NULLS NOT DISTINCT (tenant, curve_id)
);
SELECT tokencogs_protect('curves', 'list');
SELECT tokencogs_append_only('curves');
SELECT tokencogs_own_rows('curves', ARRAY['INSERT']);
GRANT SELECT, INSERT ON curves TO tokencogs_app;
