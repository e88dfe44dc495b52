-- From which instant on the charges of events may have changed since the last settlement: one row a transaction that adds to them or
-- forgets whose they are. The settlement that looks at them takes them away.
CREATE TABLE ledger_changes (
  tenant text NOT NULL,
  change_id bigint GENERATED ALWAYS AS IDENTITY,
  since timestamptz NOT NULL,
  PRIMARY KEY (tenant, change_id)
);
SELECT tokencogs_protect('ledger_changes', 'tenant');
GRANT SELECT, INSERT, DELETE ON ledger_changes TO tokencogs_app;

-- What events before `until` have used of each commitment and credit of a contract ({part: 10^-15 currency units}), where the contract,
-- the reporting zone and the rules are those of `basis`. Worked out from the ledger: without these rows a settlement works out the
-- whole term, with the same result.
CREATE TABLE contract_standings (
  tenant text NOT NULL,
  contract_id text NOT NULL,
  until timestamptz NOT NULL,
  basis text NOT NULL,
  used jsonb NOT NULL,
  PRIMARY KEY (tenant, contract_id, until)
);
SELECT tokencogs_protect('contract_standings', 'tenant');
GRANT SELECT, INSERT, DELETE ON contract_standings TO tokencogs_app;
