"""Whose events are these, and by which settings are they booked?"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TenantContext:
    """Attributes: tenant: slug; reporting_tz: IANA zone of its reporting days; billing_currency: ISO 4217."""

    tenant: str
    reporting_tz: str
    billing_currency: str
