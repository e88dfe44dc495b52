"""What is there to settle, in order?"""

from __future__ import annotations

from collections.abc import Sequence

from accounting.ledger.charge_line import Settler
from accounting.ledger.settlers.contracts import settle_contracts

SETTLERS: Sequence[Settler] = (settle_contracts,)
"""Every settler, in the order in which a run asks them."""
