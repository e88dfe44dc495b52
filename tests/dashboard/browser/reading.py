"""How does a test read a page as a person does? Signing in, waiting until it is drawn, following links, taking pictures."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Page, expect

SCREENSHOTS = Path(os.environ.get("TOKENCOGS_SCREENSHOTS", Path(__file__).parents[3] / "build" / "screenshots"))
WIDE, PHONE = (1280, 900), (390, 844)
PATIENCE = 30_000
_PROBES = re.compile(r"/_stcore/(health|host-config)")
"""What Streamlit's page asks for below a page's own path first, and is told 404; it then asks at the root."""


expect.set_options(timeout=PATIENCE)


class Reader:
    """One person's browser window.

    Attributes: page. errors: what went wrong in the console or on the page, in order.
    """

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.url = page, url
        self.errors: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.on("console", self._told)
        page.on("pageerror", lambda error: self.errors.append(f"page: {error}"))

    def _told(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not _PROBES.search(message.location.get("url", "")):
            self.errors.append(f"console: {message.text} {message.location.get('url', '')}")

    def open(self, path: str, key: str) -> None:
        """Opens a link as somebody who is not signed in yet, and signs in."""
        self.page.goto(self.url + path)
        self.sign_in(key)
        self.drawn()

    def sign_in(self, key: str) -> None:
        """Types a key where the page asks for one; whether it is good shows afterwards."""
        field = self.page.get_by_test_id("stTextInputField")
        expect(field).to_be_visible()
        self.idle()
        field.fill(key)
        expect(self.page.get_by_text("Press Enter to submit form")).to_be_visible()
        field.press("Enter")

    def follow(self, title: str) -> None:
        """Goes to a page by the navigation."""
        self.page.get_by_test_id("stSidebarNav").get_by_role("link", name=title, exact=True).click()
        expect(self.page.get_by_role("heading", level=1, name=title)).to_be_visible()
        self.drawn()

    def drawn(self) -> None:
        """Waits until the page says what it has to say."""
        expect(self.page.get_by_role("heading", level=1)).to_be_visible()
        expect(
            self.page.get_by_text("Where these figures come from").or_(self.page.get_by_role("alert")).first
        ).to_be_visible()
        self.idle()

    def idle(self) -> None:
        """Waits until the server has nothing more to send."""
        expect(self.page.locator("[data-test-script-state='notRunning']")).to_have_count(1)
        expect(self.page.get_by_text("Waiting for figures")).to_have_count(0)

    def choose(self, label: str, value: str, link: str) -> None:
        """Chooses in a selectbox, and waits until the link says so (`link` is a part of it) and the page shows it."""
        self.page.get_by_role("combobox", name=label).click()
        self.page.get_by_role("option", name=value, exact=True).click()
        expect(self.page).to_have_url(re.compile(re.escape(link)))
        self.idle()

    def metric(self, label: str) -> str:
        """What a tile shows; the first of that label."""
        tile = self.page.get_by_test_id("stMetric").filter(has=self.page.get_by_text(label, exact=True)).first
        return tile.get_by_test_id("stMetricValue").inner_text()

    def table(self, caption: str) -> list[dict[str, str]]:
        """The table of that caption: a row of exact values (what hovering shows) by column, as text."""
        table = self.page.get_by_role("region", name=re.compile(re.escape(caption))).first
        found: list[dict[str, str]] = table.evaluate(
            """region => {
                 const names = [...region.querySelectorAll('thead th')].map(one => one.innerText.trim());
                 return [...region.querySelectorAll('tbody tr')].map(row =>
                   Object.fromEntries([...row.cells].map((cell, at) => [names[at], cell.title])));
               }"""
        )
        return found

    def shows(self, caption: str, row: str, value: str) -> None:
        """Waits until the row that names `row` has a cell of that exact value.

        A press is answered some moments later, and until then the page is idle with the old figures: what is
        awaited has to be the new figure itself.
        """
        table = self.page.get_by_role("region", name=re.compile(re.escape(caption))).first
        cell = table.locator("tbody tr").filter(has_text=row).locator(f"td[title='{value}']")
        expect(cell.first).to_be_visible()

    def undefined(self) -> list[str]:
        """Numbers without a definition one hover away: tiles without help, columns of numbers without a title."""
        found: list[str] = self.page.evaluate(
            """() => [
                 ...[...document.querySelectorAll('[data-testid=stMetric]')]
                   .filter(one => !one.querySelector('[data-testid=stTooltipIcon], [data-testid=stTooltipHoverTarget]'))
                   .map(one => one.innerText),
                 ...[...document.querySelectorAll('.tc-table th.n')].filter(one => !one.title).map(one => one.innerText)]"""
        )
        return found

    def unsourced(self) -> list[str]:
        """Headings of charts below which no URL is named that returns their figures."""
        found: list[str] = self.page.evaluate(
            """() => {
                 const sources = [...document.querySelectorAll('[data-testid=stExpander]')]
                   .filter(one => one.innerText.includes('Where these figures come from'));
                 return [...document.querySelectorAll('[data-testid=stPlotlyChart]')]
                   .filter(chart => !sources.some(one => chart.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING))
                   .map(chart => chart.innerText);
               }"""
        )
        return found

    def download(self, name: str) -> bytes:
        """The bytes of a file that a button gives."""
        with self.page.expect_download() as begun:
            self.page.get_by_role("button", name=name, exact=True).first.click()
        return Path(begun.value.path()).read_bytes()

    def picture(self, name: str) -> None:
        """The whole page at 1280 pixels, on a phone, and in the dark, as PNG files."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        for suffix, (width, height), scheme in (
            ("", WIDE, "light"),
            ("-phone", PHONE, "light"),
            ("-dark", WIDE, "dark"),
        ):
            self.page.emulate_media(color_scheme=scheme)
            self.page.set_viewport_size({"width": width, "height": height})
            self._whole(width, height)
            self.page.screenshot(path=SCREENSHOTS / f"{name}{suffix}.png")
        self.page.emulate_media(color_scheme="light")
        self.page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})

    def _whole(self, width: int, height: int) -> None:
        """Makes the window as high as the page, which scrolls inside of it."""
        self.page.wait_for_timeout(350)
        needed: Any = self.page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
        self.page.set_viewport_size({"width": width, "height": min(max(height, int(needed) + 20), 5_000)})
        self.page.wait_for_timeout(350)


@contextmanager
def reading(browser: Browser, url: str) -> Iterator[Reader]:
    """A window of somebody who was never here."""
    context = browser.new_context(viewport={"width": WIDE[0], "height": WIDE[1]}, accept_downloads=True)
    try:
        yield Reader(context.new_page(), url)
    finally:
        context.close()
