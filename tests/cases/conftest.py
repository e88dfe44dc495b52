"""What do scenarios on a real database share? A tenant each, and the stored price of the model they are metered with."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from accounting.storage.tariffs import write_tariffs
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from tests.cases.metered import TARIFF
from tests.conftest import Database
from tests.own_tenant import own_tenant


@pytest.fixture(scope="module")
def metered(database: Database) -> Database:
    """The module's database, with the price row that `metered.costing` counts on."""
    with database.owner.begin() as connection:
        write_tariffs(connection, [TARIFF], [])
    return database


@pytest.fixture
def tenant(metered: Database, request: pytest.FixtureRequest) -> Callable[..., TenantContext]:
    """Makes the test's tenant, with a reporting zone."""

    def make(reporting_tz: str = "UTC") -> TenantContext:
        name = own_tenant(request.node.name)
        create_tenant(metered.owner, name, name, reporting_tz)
        return context(metered.app, name)

    return make
