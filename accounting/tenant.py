"""Whose events are these, and by which settings are they booked?"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class TenantContext:
    """Attributes:
    tenant: slug.
    reporting_tz: IANA zone of its reporting days.
    billing_currency: ISO 4217.
    reported_costs: (provider, surface) pairs, surface '' for all, whose own stated cost is booked instead of the calculated one.
    """

    tenant: str
    reporting_tz: str
    billing_currency: str
    reported_costs: frozenset[tuple[str, str]] = field(default=frozenset())
