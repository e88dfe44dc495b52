"""`tokencogs dashboard`: how does the dashboard run as a process, beside an API that it reaches over HTTP alone?"""

from __future__ import annotations

import ipaddress
import os
import sys
from importlib.util import find_spec
from pathlib import Path

import click

from dashboard.theme import FLAGS

APP = Path(__file__).with_name("app.py")
_EPILOG = "\b\nExample:\n  tokencogs dashboard --api http://127.0.0.1:8000 --port 8501"


@click.command(epilog=_EPILOG)
@click.option(
    "--api", default="http://127.0.0.1:8000", show_default=True, envvar="TOKENCOGS_API_URL", help="Address of the API."
)
@click.option(
    "--public-api",
    envvar="TOKENCOGS_PUBLIC_API_URL",
    help="The API's address as readers reach it, shown with every figure; default: that of --api.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8501, show_default=True, type=click.IntRange(1, 65535), help="Port.")
@click.option(
    "--oidc",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="TOML file with [auth] of an identity provider (see dashboard/README.md).",
)
@click.option(
    "--session-minutes",
    default=480,
    show_default=True,
    type=click.IntRange(1, 10_080),
    help="A sign-in by key ends after this time.",
)
def dashboard(api: str, public_api: str | None, host: str, port: int, oidc: Path | None, session_minutes: int) -> None:
    """Serve the dashboard until Ctrl-C. Readers sign in with an API key or at an identity provider.

    With TOKENCOGS_DASHBOARD_KEY in the environment every reader is signed in by that key: for one's own machine, so it is refused
    where --host is not a loopback address.
    """
    if find_spec("streamlit") is None:
        raise click.ClickException("streamlit is not installed: pip install 'tokencogs[dashboard]'")
    if os.environ.get("TOKENCOGS_DASHBOARD_KEY") and not _loopback(host):
        raise click.UsageError(
            f"--host {host}: TOKENCOGS_DASHBOARD_KEY would sign everybody in; it is for a loopback address"
        )
    told = {"TOKENCOGS_API_URL": api.rstrip("/"), "TOKENCOGS_SESSION_MINUTES": str(session_minutes)}
    told["TOKENCOGS_PUBLIC_API_URL"] = (public_api or api).rstrip("/")
    flags = FLAGS | {"server.address": host, "server.port": str(port)}
    if oidc is not None:
        told["TOKENCOGS_DASHBOARD_OIDC"] = "1"
        flags |= {"secrets.files": str(oidc.resolve())}
    click.echo(f"tokencogs dashboard at http://{host}:{port}, figures from {api}; Ctrl-C stops it")
    sys.stdout.flush()
    # One process: a signal to stop reaches Streamlit itself.
    os.execve(
        sys.executable,
        [sys.executable, "-m", "streamlit", "run", str(APP), *(f"--{name}={value}" for name, value in flags.items())],
        {**os.environ, **told},
    )


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
