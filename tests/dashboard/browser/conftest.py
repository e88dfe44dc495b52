"""Which browser reads the pages? Debian's chromium; without it the tests are skipped, under CI=1 they fail."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.conftest import Database
from tests.dashboard.browser.reading import Reader, reading
from tests.dashboard.browser.stack import Stack, stack

FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run")


def found_browser() -> str | None:
    """Path of the browser; None: there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of the browser."""
    found = found_browser()
    if found is None and os.environ.get("CI"):
        pytest.fail("no chromium: apt-get install chromium")
    if found is None:
        pytest.skip("no chromium: apt-get install chromium")
    return found


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def made(
    chromium: str, make_database: Callable[[], Database], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stack]:
    """The running stack; no browser, no stack."""
    with stack(make_database(), tmp_path_factory.mktemp("stack")) as running:
        yield running


@pytest.fixture(scope="module")
def reader(browser: Browser, made: Stack) -> Iterator[Reader]:
    """Somebody of the tenant `demo`, signed in for all tests of the module."""
    with reading(browser, made.dashboard) as one:
        one.open("/", made.key)
        yield one


@pytest.fixture
def window(browser: Browser, made: Stack) -> Iterator[Reader]:
    """A window of somebody who was never here."""
    with reading(browser, made.dashboard) as one:
        yield one
