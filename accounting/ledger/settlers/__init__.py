"""What is there to settle, in order?"""

from __future__ import annotations

from collections.abc import Sequence

from accounting.ledger.charge_line import Settler
from accounting.ledger.settlers.contracts import settle_contracts
from accounting.ledger.settlers.pools import settle_pools
from accounting.ledger.settlers.scheduled_bills import bill_scheduled
from accounting.ledger.settlers.unused_hours import settle_unused

SETTLERS: Sequence[Settler] = (settle_contracts, bill_scheduled, settle_pools, settle_unused)
"""Every settler, in the order in which a run asks them."""
