"""How do tests talk to a real server in their own process? One in a thread, on a free port (see also tests/served.py)."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi import FastAPI

from accounting.storage.tenants import SCOPES, create_key, create_tenant
from api.app import create_app
from api.settings import Settings
from tests.conftest import Database

_TLS = ssl.create_default_context()
"""Servers of tests speak plain HTTP; without one made before, each client would read all the certificates there are."""


@dataclass(frozen=True)
class Running:
    """A server that answers. Attributes: url: without a slash at its end; app: where it runs in this process."""

    url: str
    app: FastAPI

    def client(self, key: str | None = None, **options: Any) -> httpx.Client:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=30, trust_env=False, verify=_TLS, **options)


@contextmanager
def running(database: Database, settings: Settings | None = None, app: FastAPI | None = None) -> Iterator[Running]:
    """A server on a free port of 127.0.0.1, in a thread, on the given database; drained at the end."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in database.env.items():
            patch.setenv(name, value)
        app = app or create_app(settings)
        config = uvicorn.Config(app, port=0, log_config=None, access_log=False, timeout_graceful_shutdown=20)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        assert server.started, "the server did not start"
        try:
            yield Running(f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}", app)
        finally:
            server.should_exit = True
            thread.join()


def make_keys(database: Database, tenant: str, **settings: str) -> dict[str, str]:
    """Makes a tenant and one key of each scope: scope -> key."""
    create_tenant(database.owner, tenant, tenant, **settings)
    return {scope: create_key(database.owner, tenant, scope) for scope in SCOPES}
