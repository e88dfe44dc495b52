-- Months are closed in order, and stay closed: the latest row says up to where. There is no reopening, as a figure once reported would
-- move; what changes later is booked in the first open month.
CREATE TABLE closed_months (
  tenant text NOT NULL,
  month date NOT NULL CHECK (extract(day FROM month) = 1),
  closed_at timestamptz NOT NULL DEFAULT now(),
  closed_by text NOT NULL CHECK (closed_by <> ''),
  totals jsonb NOT NULL,
  coverage jsonb NOT NULL,
  accepted text[] NOT NULL DEFAULT '{}',
  note text NOT NULL DEFAULT '',
  PRIMARY KEY (tenant, month)
);
SELECT tokencogs_protect('closed_months', 'tenant');
GRANT SELECT, INSERT ON closed_months TO tokencogs_app;
