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
    calculated_costs: pairs whose calculated cost is booked although their provider as a whole is in reported_costs.
    pools: self-hosted pools that were ever stated; events of other deployments wait for nothing. None: nobody looked, all may be one.
    """

    tenant: str
    reporting_tz: str
    billing_currency: str
    reported_costs: frozenset[tuple[str, str]] = field(default=frozenset())
    calculated_costs: frozenset[tuple[str, str]] = field(default=frozenset())
    pools: frozenset[str] | None = None

    def books_reported(self, provider: str, surface: str | None) -> bool:
        """Whether the cost that this provider's body states is booked; the rule of a surface goes before that of all."""
        own = (provider, surface or "")
        return own in self.reported_costs or (
            (provider, "") in self.reported_costs and own not in self.calculated_costs
        )
