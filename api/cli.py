"""`tokencogs serve`: how does the API run as a process, from a database made ready to a drain that loses nothing?"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
from types import FrameType

import click
import uvicorn

from accounting.errors import ConfigurationError
from accounting.storage import migrate
from accounting.storage.engine import app_engine, has_owner, owner_engine
from accounting.storage.tariffs import seed_list_tariffs
from api.app import create_app
from api.service import require_schema
from api.settings import Settings

_EPILOG = "\b\nExample:\n  tokencogs serve --port 8000\n  curl -s http://127.0.0.1:8000/readyz"
_SETTLEMENT_SECONDS = 900.0
_SWITCH_SECONDS = 0.0005
_DRAIN_SECONDS = 60


@click.command(epilog=_EPILOG)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="Port; 0 takes a free one."
)
@click.option(
    "--with-settlement",
    is_flag=True,
    help="Run the settlement every 15 minutes in this process; needs the owner's login.",
)
@click.option(
    "--operator",
    metavar="TENANT",
    help="Admin keys of this tenant may change the list prices of all; needs the owner's login.",
)
def serve(host: str, port: int, with_settlement: bool, operator: str | None) -> None:
    """Serve the HTTP API until Ctrl-C or SIGTERM, then finish the requests in work.

    The embedded database is migrated and given its price list first. A database of DATABASE_URL is left as it is: run
    `tokencogs db upgrade` for it. With TOKENCOGS_OIDC_ISSUER and TOKENCOGS_OIDC_AUDIENCE (our client id there) in the environment,
    identity tokens of that provider are taken beside keys (see `tokencogs login`).
    """
    # uvicorn drains, then raises the signal again for the handler that was there before: this one ends with 0.
    signal.signal(signal.SIGTERM, _leave)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)
    if with_settlement and not has_owner():
        raise ConfigurationError(
            "--with-settlement lists the tenants and so needs TOKENCOGS_OWNER_URL, which is not set"
        )
    if operator is not None and not has_owner():
        raise ConfigurationError(
            "--operator changes rows of all tenants and so needs TOKENCOGS_OWNER_URL, which is not set"
        )
    if not os.environ.get("DATABASE_URL"):
        migrate.upgrade()
        seed_list_tariffs(owner_engine())
    app_engine()
    require_schema()
    issuer, audience = (os.environ.get(f"TOKENCOGS_OIDC_{name}") or None for name in ("ISSUER", "AUDIENCE"))
    settled = _SETTLEMENT_SECONDS if with_settlement else None
    app = create_app(
        Settings(settlement_seconds=settled, operator=operator, oidc_issuer=issuer, oidc_audience=audience)
    )
    config = uvicorn.Config(
        app, host=host, port=port, log_config=None, access_log=False, timeout_graceful_shutdown=_DRAIN_SECONDS
    )
    # A writer that wakes from the database must not wait 5 ms for a thread that parses: it does so several times a transaction.
    sys.setswitchinterval(_SWITCH_SECONDS)
    server = _Server(config)
    try:
        server.run()
    except KeyboardInterrupt:
        sys.exit(0)
    if not server.started:
        sys.exit(1)


class _Server(uvicorn.Server):
    """Says where it listens once it does, so that whoever started it on port 0 can tell."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for server in self.servers if self.started else []:
            for listener in server.sockets:
                host, port = listener.getsockname()[:2]
                shown = f"[{host}]" if ":" in host else host
                click.echo(
                    f"tokencogs serves http://{shown}:{port} (API docs: http://{shown}:{port}/docs); Ctrl-C stops it"
                )


def _leave(_signal: int, _frame: FrameType | None) -> None:
    sys.exit(0)
