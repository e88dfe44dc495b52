-- Usage that no list prices stands in the footer of the cost statement; finding it must follow its own number, not that of all events.
CREATE INDEX usage_events_unlisted ON usage_events (tenant, occurred_at)
  WHERE charge_status = 'priced' AND list_cost_e15 IS NULL;
CREATE INDEX charges_unlisted ON charges (tenant, charge_period_start)
  WHERE category = 'Usage' AND charge_status = 'priced' AND list_cost IS NULL;
