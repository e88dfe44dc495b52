"""What do the tests of the API share? One server and one tenant's keys a module."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.api.serving import Running, make_keys, running
from tests.conftest import Database


@pytest.fixture(scope="module")
def keys(database: Database) -> dict[str, str]:
    """Scope -> key of the tenant `acme`, whose reporting zone is UTC."""
    return make_keys(database, "acme")


@pytest.fixture(scope="module")
def api(database: Database) -> Iterator[Running]:
    """A server with the default limits."""
    with running(database) as server:
        yield server


@pytest.fixture(scope="module")
def ingest(api: Running, keys: dict[str, str]) -> Iterator[httpx.Client]:
    """A client with a key that may send events."""
    with api.client(keys["ingest"]) as client:
        yield client


@pytest.fixture(scope="module")
def admin(api: Running, keys: dict[str, str]) -> Iterator[httpx.Client]:
    """A client with a key that may do all."""
    with api.client(keys["admin"]) as client:
        yield client
