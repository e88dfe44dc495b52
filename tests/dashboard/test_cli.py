"""Does the dashboard run as a process, with and without the API beside it, and end when told?"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from dashboard.cli import dashboard
from tests.conftest import Database
from tests.served import free_port


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "example.com"])
def test_a_key_for_every_reader_is_refused_where_others_could_reach_it(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        os, "execve", lambda *_: pytest.fail("it began to serve")
    )  # else this process would become the server
    done = CliRunner().invoke(dashboard, ["--host", host], env={"TOKENCOGS_DASHBOARD_KEY": "tc_acme_x"})
    assert done.exit_code == 2
    assert f"--host {host}: TOKENCOGS_DASHBOARD_KEY would sign everybody in" in done.output


@pytest.mark.storage
@pytest.mark.one_server
def test_up_runs_api_and_dashboard_says_where_and_ends_both_on_ctrl_c(database: Database, tmp_path: Path) -> None:
    log = tmp_path / "log"
    words = ["up", "--port", str(free_port()), "--dashboard-port", str(free_port())]
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "accounting.cli", *words],
            env={**os.environ, **database.env},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        deadline = time.monotonic() + 120
        while "Ctrl-C ends it." not in log.read_text() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)
        told = log.read_text()
        pages, api = (re.findall(rf"^{name} +(\S+)$", told, re.MULTILINE)[0] for name in ("dashboard", "API"))
        assert httpx.get(f"{api}/readyz", trust_env=False).status_code == 200
        assert "<title>" in httpx.get(pages, trust_env=False).text
        assert "tokencogs tenant create acme" in told  # nobody can sign in yet
    finally:
        process.send_signal(signal.SIGINT)
        code = process.wait(60)
    assert code == 0
    assert "Traceback" not in log.read_text()
    for url in (pages, api):
        with pytest.raises(httpx.TransportError):
            httpx.get(url, trust_env=False)
