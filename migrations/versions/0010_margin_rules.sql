-- Where revenue that names an account and no user goes from a day on: it stays on the account's row, is shared equally among the
-- account's users, or by their requests.
CREATE TABLE account_revenue_rules (
  tenant text NOT NULL,
  effective_from date NOT NULL,
  rule text NOT NULL CHECK (rule IN ('account', 'seats', 'use')),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant, effective_from)
);
SELECT tokencogs_protect('account_revenue_rules', 'tenant');
GRANT SELECT, INSERT, UPDATE ON account_revenue_rules TO tokencogs_app;

-- A tenant dates its own purpose policy; the rows of all tenants stay as they are.
SELECT tokencogs_own_rows('purpose_policies', ARRAY['INSERT', 'UPDATE']);
GRANT INSERT, UPDATE ON purpose_policies TO tokencogs_app;

-- Searches and fetches cost apart from tokens; finding their calls must follow their own number, not that of all events.
CREATE INDEX usage_events_tools ON usage_events (tenant, occurred_at) WHERE web_search_requests > 0 OR web_fetch_requests > 0;
