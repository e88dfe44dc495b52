"""What is there to settle, in order?"""

from __future__ import annotations

from collections.abc import Sequence

from accounting.ledger.charge_line import Settler
from accounting.ledger.settlers.contracts import settle_contracts
from accounting.ledger.settlers.pools import settle_pools

SETTLERS: Sequence[Settler] = (settle_contracts, settle_pools)
"""Every settler, in the order in which a run asks them."""
