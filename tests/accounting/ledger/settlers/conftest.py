"""How do tests of settlers get a pool?"""

from __future__ import annotations

import pytest

from tests.accounting.ledger.pool_world import Make, PoolWorld
from tests.conftest import Database


@pytest.fixture
def make(database: Database) -> Make:
    """Makes a tenant with one pool."""

    def made(*replicas: str, **settings: object) -> PoolWorld:
        return PoolWorld.make(database, replicas or ("r0",), **settings)

    return made
