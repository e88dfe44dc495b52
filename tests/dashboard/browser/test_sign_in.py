"""Does a person of the identity provider sign in, read what the API allows, and sign out again, in a browser?"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from accounting.storage.logins import grant, revoke
from api.settings import Settings
from tests.api.serving import make_keys, running
from tests.conftest import Database
from tests.dashboard.browser.reading import Reader, reading
from tests.dashboard.browser.stack import dashboard
from tests.identity_provider import AUDIENCE, SECRET, SUBJECT, provider
from tests.served import free_port

pytestmark = [pytest.mark.storage, pytest.mark.one_server, pytest.mark.browser]
BUTTON = "Sign in with your company's account"


def settings(issuer: str, port: int) -> str:
    """The file that dashboard/README.md describes."""
    return f"""[auth]
redirect_uri = "http://127.0.0.1:{port}/oauth2callback"
cookie_secret = "a long random text"
client_id = "{AUDIENCE}"
client_secret = "{SECRET}"
server_metadata_url = "{issuer}/.well-known/openid-configuration"
expose_tokens = ["id"]
"""


def test_a_person_of_the_provider_signs_in_and_out(browser: Browser, database: Database, tmp_path: Path) -> None:
    make_keys(database, "acme")
    port, file = free_port(), tmp_path / "auth.toml"
    with provider() as (issuer, _), running(database, Settings(oidc_issuer=issuer, oidc_audience=AUDIENCE)) as api:
        grant(database.app, "acme", issuer, SUBJECT, "viewer")
        file.write_text(settings(issuer, port))
        with (
            dashboard(api.url, tmp_path, "--oidc", str(file), port=port) as url,
            reading(browser, url) as reader,
        ):
            _walk(reader, url, lambda: revoke(database.app, "acme", issuer, SUBJECT))
    log = (tmp_path / "dashboard.log").read_text()
    assert SECRET not in log
    assert "eyJ" not in log  # no token, which begins so


def _walk(reader: Reader, url: str, shut_out: Callable[[], None]) -> None:
    page = reader.page
    signed_in = page.get_by_text(re.compile(r"\(acme\), scope viewer"))
    page.goto(f"{url}/administration")
    page.get_by_role("button", name=BUTTON).click()
    page.get_by_role("link", name=f"Continue as {SUBJECT}").click()
    expect(signed_in).to_be_visible()
    assert "code=" not in page.url
    page.reload()  # the provider's session outlives the page, unlike a typed key
    expect(signed_in).to_be_visible()
    reader.idle()
    shut_out()
    page.get_by_role("button", name="Refresh").click()
    expect(page.get_by_text("You are signed out")).to_be_visible()
    page.get_by_role("button", name="Sign in again").click()
    expect(page.get_by_role("button", name=BUTTON)).to_be_visible()
    page.reload()  # signing out ended the session at the dashboard, not only on this page
    expect(page.get_by_role("button", name=BUTTON)).to_be_visible()
