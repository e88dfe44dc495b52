-- log_digest, lacking: of the requests that touched the hour when it was settled (accounting/ledger/settlers/pool_log.py, Digest); null
-- where it was settled before this was noted: such an hour's log is read again.
ALTER TABLE pool_hours ADD COLUMN log_digest text;
ALTER TABLE pool_hours ADD COLUMN lacking boolean;
CREATE OR REPLACE VIEW settled_pool_hours WITH (security_invoker = true) AS
SELECT DISTINCT ON (tenant, pool_id, hour) * FROM pool_hours ORDER BY tenant, pool_id, hour, settlement DESC;
