"""How long until a page has its first figures, and until a changed filter shows, in a browser with 10 million events behind it?"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import Any

from playwright.sync_api import expect, sync_playwright
from sqlalchemy import Engine

from accounting.revenue.monthly import Subscription
from accounting.revenue.plans import put_plan, put_subscription
from accounting.storage import embedded, migrate
from accounting.storage.engine import engine_for
from accounting.storage.tariffs import seed_list_tariffs
from accounting.storage.tenants import context, create_key, create_tenant
from tests.bench.bench_ingest import NOW
from tests.bench.bench_reports import USERS, fill
from tests.dashboard.browser.conftest import FLAGS
from tests.dashboard.browser.reading import Reader, reading
from tests.dashboard.browser.stack import dashboard
from tests.served import served

EVENTS = int(os.environ.get("BENCH_DASHBOARD_EVENTS", "10000000"))
TRIES = int(os.environ.get("BENCH_DASHBOARD_TRIES", "5"))
PAGES = {"overview": "/", "users": "/users", "plans": "/plans"}
JULY = "?from=2026-07-01&to=2026-08-01"


def _first(reader: Reader, path: str, key: str) -> float:
    """Seconds from the sign-in to the first figure of a page: a tile or a table."""
    reader.page.goto(reader.url + path + JULY)
    started = time.perf_counter()
    reader.sign_in(key)
    figure = reader.page.get_by_test_id("stMetricValue").or_(reader.page.locator(".tc-table"))
    expect(figure.first).to_be_visible()
    return time.perf_counter() - started


def _changed(reader: Reader) -> float:
    """Seconds from showing every digit to its figures on the page."""
    started = time.perf_counter()
    reader.page.get_by_text("Every digit").click()
    reader.idle()
    reader.drawn()
    return time.perf_counter() - started


def _filter(reader: Reader, label: str, value: str, link: str) -> float:
    """Seconds from a choice to the page that shows it."""
    started = time.perf_counter()
    reader.choose(label, value, link)
    reader.drawn()
    return time.perf_counter() - started


def _sell(owner: Engine) -> None:
    """Two of three users are on a plan."""
    known = context(owner, "bench")
    put_plan(owner, known, "pro", "Pro")
    price, start, end = 20 * 10**15, date(2026, 7, 1), date(2026, 8, 1)
    for number in range(USERS * 2 // 3):
        one = Subscription(f"s{number}", "pro", f"user-{number}", None, price, "USD", start, end)
        put_subscription(owner, known, one)


def run() -> dict[str, Any]:
    """Medians of TRIES windows, in seconds, each of somebody who was never there."""
    folder = Path(tempfile.mkdtemp(prefix="tokencogs-bench-", dir="/var/tmp"))
    folder.chmod(0o711)
    server = embedded.attach(folder)
    owner = engine_for(server.owner_url)
    migrate.upgrade(owner, today=NOW.date())
    seed_list_tariffs(owner)
    create_tenant(owner, "bench", "Bench")
    key = create_key(owner, "bench", "viewer")
    fill(owner, 1, EVENTS)
    _sell(owner)
    env = {"DATABASE_URL": server.app_url, "TOKENCOGS_OWNER_URL": server.owner_url}
    chromium = shutil.which("chromium")
    taken: dict[str, list[float]] = {f"first content, {name}": [] for name in PAGES}
    taken |= {"changed filter, users by account": [], "changed display, users": []}
    with served(env, folder) as api, dashboard(api.url, folder) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        for _ in range(TRIES):
            for name, path in PAGES.items():
                with reading(browser, url) as reader:
                    taken[f"first content, {name}"].append(_first(reader, path, key))
                    if name == "users":
                        reader.drawn()
                        taken["changed filter, users by account"].append(
                            _filter(reader, "Margins by", "Account", "by=account")
                        )
                        taken["changed display, users"].append(_changed(reader))
        browser.close()
    embedded.detach(folder)
    time.sleep(3)
    shutil.rmtree(folder, ignore_errors=True)
    return {
        "events": EVENTS,
        "tries": TRIES,
        "median_seconds": {name: round(statistics.median(seconds), 2) for name, seconds in taken.items()},
        "slowest_seconds": {name: round(max(seconds), 2) for name, seconds in taken.items()},
    }


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
