"""How does the demo run the API and the dashboard? As processes of their own, which end with the demo."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from accounting.processes import Process, free_port, running

API_PORT = 8000
DASHBOARD_PORT = 8501


@contextmanager
def serving(port: int | None, *words: str) -> Iterator[Process]:
    """A ready API on the port, else on 8000, else on a free one; `words` are more options of `tokencogs serve`."""
    with running("server", ("serve", *words), free_port(port, API_PORT), "/readyz") as server:
        yield server


@contextmanager
def showing(api: str, port: int | None = None, key: str | None = None) -> Iterator[Process | None]:
    """A ready dashboard of the API on the port, else on 8501, else on a free one; with `key` readers are signed in by it.

    None where streamlit, the extra `dashboard`, is not installed.
    """
    if find_spec("streamlit") is None:
        yield None
        return
    environment = {} if key is None else {"TOKENCOGS_DASHBOARD_KEY": key}
    words = ("dashboard", "--api", api)
    with running("dashboard", words, free_port(port, DASHBOARD_PORT), "/_stcore/health", environment) as pages:
        yield pages
