-- How a plan earns. acquisition_cost: what winning one subscriber cost, for payback; null: not known.
ALTER TABLE plans
  ADD COLUMN kind text NOT NULL DEFAULT 'flat' CHECK (kind IN ('flat', 'per_seat', 'usage', 'credits', 'free', 'trial')),
  ADD COLUMN acquisition_cost numeric(38, 18) CHECK (acquisition_cost >= 0);

-- Dated prices of a plan, for interval_months. With a unit: included_units a month, and unit_price for each unit_per units beyond.
CREATE TABLE plan_prices (
  tenant text NOT NULL,
  plan text NOT NULL,
  interval_months integer NOT NULL CHECK (interval_months BETWEEN 1 AND 120),
  effective_from date NOT NULL,
  price numeric(38, 18) NOT NULL CHECK (price >= 0),
  billing_currency text NOT NULL CHECK (billing_currency ~ '^[A-Z]{3}$'),
  unit text CHECK (unit IN ('requests', 'tokens')),
  included_units bigint CHECK (included_units >= 0),
  unit_price numeric(38, 18) CHECK (unit_price >= 0),
  unit_per bigint CHECK (unit_per > 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant, plan, interval_months, effective_from),
  FOREIGN KEY (tenant, plan) REFERENCES plans,
  CHECK (num_nulls(unit, included_units, unit_price, unit_per) IN (0, 4)),
  CHECK (unit IS NULL OR interval_months = 1)
);
SELECT tokencogs_protect('plan_prices', 'tenant');
GRANT SELECT, INSERT, UPDATE ON plan_prices TO tokencogs_app;

-- revenue_from: the subscription's own monthly_price, the plan's dated price, or imported invoice lines alone.
ALTER TABLE subscriptions
  ADD COLUMN quantity integer NOT NULL DEFAULT 1 CHECK (quantity BETWEEN 1 AND 1000000),
  ADD COLUMN interval_months integer NOT NULL DEFAULT 1 CHECK (interval_months BETWEEN 1 AND 120),
  ADD COLUMN comped boolean NOT NULL DEFAULT false,
  ADD COLUMN trial_until date,
  ADD COLUMN revenue_from text NOT NULL DEFAULT 'price' CHECK (revenue_from IN ('price', 'plan', 'lines'));
CREATE INDEX subscriptions_account ON subscriptions (tenant, account_id);

-- Days on which a subscription is paused or discounted, half-open. amount_off is for a month of the price.
CREATE TABLE subscription_terms (
  tenant text NOT NULL,
  subscription_id text NOT NULL,
  term_id text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('pause', 'coupon')),
  starts_on date NOT NULL,
  ends_on date,
  percent_off numeric(9, 6) CHECK (percent_off > 0 AND percent_off <= 100),
  amount_off numeric(38, 18) CHECK (amount_off > 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant, subscription_id, term_id),
  FOREIGN KEY (tenant, subscription_id) REFERENCES subscriptions,
  CHECK (ends_on IS NULL OR starts_on < ends_on),
  CHECK (num_nonnulls(percent_off, amount_off) = CASE kind WHEN 'coupon' THEN 1 ELSE 0 END)
);
SELECT tokencogs_protect('subscription_terms', 'tenant');
GRANT SELECT, INSERT, UPDATE ON subscription_terms TO tokencogs_app;

-- Lines of invoices, credit notes and payment fees; never edited, a line of a known id is the same line or a conflict. amount is net of
-- tax, signed as revenue; a payment_fee is a cost and positive. units: of a prepaid pack, earned by use. refers_to: the line a refund is of.
CREATE TABLE revenue_lines (
  tenant text NOT NULL,
  line_id text NOT NULL,
  source text NOT NULL CHECK (source IN ('stripe', 'csv')),
  kind text NOT NULL
    CHECK (kind IN ('subscription', 'proration', 'usage', 'one_off', 'credits', 'discount', 'refund', 'payment_fee')),
  invoice_id text,
  refers_to text,
  customer_id text,
  subscription_id text,
  user_id text,
  account_id text,
  plan text,
  amount numeric(38, 18) NOT NULL,
  billing_currency text NOT NULL CHECK (billing_currency ~ '^[A-Z]{3}$'),
  booked_at timestamptz NOT NULL,
  starts_at timestamptz,
  ends_at timestamptz,
  recognition text NOT NULL CHECK (recognition IN ('day', 'second', 'use', 'use_and_breakage')),
  units bigint CHECK (units > 0),
  unit text CHECK (unit IN ('requests', 'tokens')),
  line_hash text NOT NULL,
  imported_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant, line_id),
  CHECK (num_nulls(starts_at, ends_at) IN (0, 2)),
  CHECK (starts_at <= ends_at),
  CHECK ((kind = 'credits') = (units IS NOT NULL AND unit IS NOT NULL))
);
CREATE INDEX revenue_lines_time ON revenue_lines (tenant, booked_at);
SELECT tokencogs_protect('revenue_lines', 'tenant');
GRANT SELECT, INSERT ON revenue_lines TO tokencogs_app;

-- Which user or account a payment system's customer is; lines of others are kept and shown as unmatched.
CREATE TABLE revenue_customers (
  tenant text NOT NULL,
  customer_id text NOT NULL,
  user_id text,
  account_id text,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant, customer_id),
  CHECK (num_nonnulls(user_id, account_id) >= 1)
);
SELECT tokencogs_protect('revenue_customers', 'tenant');
GRANT SELECT, INSERT, UPDATE ON revenue_customers TO tokencogs_app;
