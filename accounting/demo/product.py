"""What does the imagined product sell, and which models serve whom? All here is invented but the models' names."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal

from accounting.selfhosted.pool import Pool


@dataclass(frozen=True)
class Plan:
    """One plan. users: how many subscribe. activity: requests of a typical user beside a typical free user's."""

    name: str
    display_name: str
    monthly_price: Decimal
    users: int
    activity: float


@dataclass(frozen=True)
class Model:
    """One model as a provider's wire names it.

    Attributes:
        response_model: the dated name that the gateway logs, failed or not; None where it is `model` itself.
        surface, service_tier: as its responses state them; service_tier None where they state none.
        writes: the usage field of its cache writes; None where the provider charges no writes.
        reasons: whether its output holds reasoning tokens.
        forgets: whether its prefix cache lives for 5 minutes; the others keep it as long as they have room.
    """

    provider: str
    model: str
    surface: str
    response_model: str | None = None
    service_tier: str | None = None
    writes: str | None = None
    reasons: bool = False
    forgets: bool = False


PLANS = (
    Plan("free", "Free", Decimal("0.00"), 760, 1.0),
    Plan("pro", "Pro", Decimal("20.00"), 150, 4.0),
    Plan("team", "Team", Decimal("60.00"), 60, 6.0),
)
TRIAL_USERS = 30
"""Users with every feature of Pro and no subscription yet; with those of the plans, 1,000."""

TRIAL_ACTIVITY = 2.0
LARGEST_SEATS = 25
"""Team seats of the largest account; the other accounts have 5 each."""

OTHER_SEATS = 5
STAFF = 20

MODELS = (
    Model("google", "gemini-2.5-flash-lite", "generate_content"),
    Model("google", "gemini-2.5-flash", "generate_content", reasons=True),
    Model("google", "gemini-2.5-pro", "generate_content", reasons=True),
    Model("openai", "gpt-5-mini", "responses", "gpt-5-mini-2025-08-07", "default", reasons=True),
    Model("openai", "gpt-5.4-mini", "responses", None, "default", reasons=True),
    Model("openai", "gpt-5.6-terra", "responses", None, "default", "cache_write_30m_tokens", reasons=True),
    Model(
        "anthropic",
        "claude-haiku-4-5",
        "messages",
        "claude-haiku-4-5-20251001",
        "standard",
        "cache_write_5m_tokens",
        forgets=True,
    ),
    Model("anthropic", "claude-sonnet-5", "messages", None, "standard", "cache_write_5m_tokens", forgets=True),
    Model("anthropic", "claude-opus-4-8", "messages", None, "standard", "cache_write_5m_tokens", forgets=True),
    Model("openai", "gpt-unlisted-preview", "responses", None, "default"),
    Model("self-hosted", "small-chat", "chat_completions"),
)
HOSTED = len(MODELS) - 1
"""The last model is the product's own: a pool serves it."""

UNLISTED = len(MODELS) - 2
"""The model before is in no price list: its share of requests shows what a report says about the unpriced."""

UNLISTED_SHARE = 0.002

ROUTES: dict[str, tuple[float, ...]] = {
    "free": (0.60, 0.15, 0.00, 0.25, 0.00, 0.00, 0.00, 0.00, 0.00),
    "trial": (0.10, 0.20, 0.05, 0.20, 0.15, 0.05, 0.15, 0.10, 0.00),
    "pro": (0.10, 0.20, 0.08, 0.15, 0.15, 0.08, 0.12, 0.10, 0.02),
    "team": (0.05, 0.12, 0.10, 0.10, 0.12, 0.13, 0.13, 0.17, 0.08),
    "eval": (0.12, 0.12, 0.11, 0.11, 0.11, 0.11, 0.11, 0.11, 0.10),
    "internal": (0.05, 0.10, 0.10, 0.10, 0.15, 0.10, 0.15, 0.15, 0.10),
}
"""Who is served -> share of each model of MODELS, without the unlisted one."""

POOL, REPLICA = "small-chat", "r0"
HOSTED_FOR = ("free", "trial", "pro", "internal")
HOSTED_FEATURES = ("chat", "documents", "digest")
"""Who is served by the pool, and with what: requests short enough for its model that come while it is up and run through no batch."""

UP_FROM, UP_HOURS = time(14), 10
"""The pool's machine is there on weekdays, UTC: the hours in which most is asked."""

ENGINE = Pool(token_budget=512, max_batch=16)
MACHINE_HOUR = Decimal("0.096")
"""USD of an hour of the machine that the curve was measured on, on demand; invented."""

FEATURES = ("chat", "documents", "research", "digest")
FEATURE_SHARES = (0.62, 0.24, 0.06, 0.08)
"""`research` searches the web; `digest` runs through the providers' batch interfaces, as evals do."""

BATCH_FROM = date(2026, 10, 14)
"""First day on which the product uses batch interfaces: the first for which the price list states batch prices."""

EVAL_SHARE = 0.04
INTERNAL_SHARE = 0.02
WEEKEND = 0.6
"""Requests of a weekend day beside those of a weekday."""

STATUSES = ("ok", "error", "timeout", "cancelled")
STATUS_SHARES = (0.985, 0.007, 0.005, 0.003)
