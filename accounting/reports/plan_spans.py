"""Which plan is a user on, on which days? Usage finds its plan by user, and where the user has none by account."""

from __future__ import annotations

# Each owner's days are cut where any of its subscriptions begins or ends; of several that cover a piece the latest begun counts, of
# those the largest id. The holder is the user of the subscription: the one whose revenue the usage is set against.
_OF = """
    {name}_cuts AS (
      SELECT {owner} AS owner, starts_on AS day FROM mine WHERE {owner} IS NOT NULL
      UNION SELECT {owner}, ends_on FROM mine WHERE {owner} IS NOT NULL
    ),
    {name}_pieces AS (
      SELECT owner, day AS since, lead(day) OVER (PARTITION BY owner ORDER BY day) AS until FROM {name}_cuts
    ),
    {name} AS (
      SELECT DISTINCT ON (p.owner, p.since) p.owner, p.since, p.until, m.plan, m.user_id AS holder
      FROM {name}_pieces p JOIN mine m ON m.{owner} = p.owner AND m.starts_on <= p.since AND m.ends_on >= p.until
      WHERE p.until IS NOT NULL ORDER BY p.owner, p.since, m.starts_on DESC, m.subscription_id DESC
    )
"""
_SPANS = f"""
    mine AS (
      SELECT subscription_id, plan, user_id, account_id, starts_on, coalesce(ends_on, date 'infinity') AS ends_on
      FROM subscriptions
      WHERE tenant = :tenant AND starts_on < :until AND coalesce(ends_on, date 'infinity') > :first {{only}}
    ),
    {_OF.format(name="by_user", owner="user_id")},
    {_OF.format(name="by_account", owner="account_id")}
"""
SPANS = _SPANS.format(only="")
"""Common table expressions by_user and by_account(owner, since, until, plan, holder); parameters tenant, first, until."""
SPANS_OF_ONE = _SPANS.format(
    only="""AND (user_id = :user OR account_id IN (
        SELECT account_id FROM rollup_user_day WHERE tenant = :tenant AND user_id = :user AND day >= :first AND day < :until))"""
)
"""The same for the usage of one user; parameters also user."""

JOIN_SPANS = """
    LEFT JOIN by_user u ON u.owner = r.user_id AND r.day >= u.since AND r.day < u.until
    LEFT JOIN by_account a ON u.owner IS NULL AND a.owner = r.account_id AND r.day >= a.since AND r.day < a.until
"""
"""Joins them to usage `r` with user_id, account_id and day."""

PLAN = "coalesce(u.plan, a.plan, '')"
HOLDER = "coalesce(u.holder, a.holder, r.user_id)"
