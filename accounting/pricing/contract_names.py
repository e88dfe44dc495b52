"""Does a contract name its seller and service tiers as price rows do? Under a log's name it would change nothing, without a word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from accounting.errors import InvalidInput
from accounting.pricing.contract import Contract, Scope
from accounting.pricing.data_files import seller_names, tier_names
from accounting.pricing.names import as_priced


def check_names(contract: Contract) -> None:
    """Raises InvalidInput where price rows have another name for the seller or for a tier of a scope."""
    _check("seller", contract.seller, seller_names())
    for where, scope in _scopes(contract):
        for tier in sorted(scope.service_tiers or ()):
            _check(f"{where}.scope.service_tiers", tier, tier_names())


def _scopes(contract: Contract) -> Iterator[tuple[str, Scope]]:
    for name in ("rules", "volume_tiers", "commitments", "credits"):
        for place, one in enumerate(getattr(contract, name)):
            yield f"{name}[{place}]", one.scope


def _check(field: str, name: str, logged: Mapping[str, str]) -> None:
    known = as_priced(name, logged)
    if known != name:
        raise InvalidInput(field, name, f"price rows call it {known!r}")
