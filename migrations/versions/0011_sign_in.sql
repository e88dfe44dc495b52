-- An admin key makes and ends keys of its own tenant; nothing else of a key can change.
GRANT INSERT ON api_keys TO tokencogs_app;
GRANT UPDATE (revoked_at) ON api_keys TO tokencogs_app;

-- Which tenant and scope a person of an identity provider has. Its subject is one tenant's at most: else a token would not say whose.
CREATE TABLE logins (
  tenant text NOT NULL REFERENCES tenants,
  issuer text NOT NULL,
  subject text NOT NULL,
  scope text NOT NULL CHECK (scope IN ('viewer', 'analyst', 'admin')),
  label text NOT NULL DEFAULT '',
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant, issuer, subject),
  UNIQUE (issuer, subject)
);
SELECT tokencogs_protect('logins', 'tenant');
-- Before the tenant is known, a proven subject may see its own row and no other.
CREATE POLICY own_subject ON logins FOR SELECT TO tokencogs_app
  USING (issuer = current_setting('tokencogs.issuer', true) AND subject = current_setting('tokencogs.subject', true));
GRANT SELECT, INSERT, UPDATE, DELETE ON logins TO tokencogs_app;
