"""How do the READMEs come by their pictures? `make demo MONTH=2026-10`, then this module with the address of its dashboard."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import expect, sync_playwright

from tests.dashboard.browser.conftest import FLAGS, found_browser
from tests.dashboard.browser.reading import Reader, reading

FOLDER = Path(__file__).parents[3] / "dashboard" / "pictures"
SHOWN = {
    "overview": ("", "Overview"),
    "user": ("users?user=user-0927", "Users and accounts"),
    "plans": ("plans", "Plans"),
    "self-hosted": ("selfhosted?topic=curve", "Self-hosted"),
}
"""Picture -> page and what is chosen on it, its heading."""
WIDTH, HEIGHT = 1_280, 1_060


def take(reader: Reader, name: str) -> Path:
    """One page of somebody who is signed in, as a PNG."""
    path, title = SHOWN[name]
    reader.page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    reader.page.goto(f"{reader.url}/{path}")
    expect(reader.page.get_by_role("heading", level=1, name=title)).to_be_visible()
    reader.drawn()
    expect(reader.page.get_by_test_id("stSkeleton")).to_have_count(0)
    charts = reader.page.get_by_test_id("stPlotlyChart")
    for number in range(charts.count()):
        expect(charts.nth(number).locator(".main-svg").first).to_be_visible()
    reader.page.wait_for_timeout(2_000)  # charts fade in
    file = FOLDER / f"{name}.png"
    few_colours(Image.open(io.BytesIO(reader.page.screenshot()))).save(file, optimize=True)
    return file


def few_colours(picture: Image.Image) -> Image.Image:
    """The same in the 256 colours that matter most: exact for every area, near for the edges of letters."""
    pixels = np.asarray(picture.convert("RGB"))
    colours, place, count = np.unique(pixels.reshape(-1, 3), axis=0, return_inverse=True, return_counts=True)
    # A small swatch of a legend matters more than as many pixels of grey.
    vivid = np.ptp(colours.astype(np.int64), axis=1)
    palette = colours[np.argsort(-count * (1 + vivid), kind="stable")[:256]]
    distance = (colours[:, None, :].astype(np.int64) - palette[None, :, :].astype(np.int64)) ** 2
    nearest = distance.sum(axis=2).argmin(axis=1).astype(np.uint8)
    made = Image.fromarray(nearest[place.reshape(-1)].reshape(pixels.shape[:2]))
    made.putpalette(palette.tobytes())
    return made


def main(url: str, names: list[str]) -> None:
    FOLDER.mkdir(exist_ok=True)
    path = found_browser()
    assert path is not None, "no chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        with reading(browser, url) as reader:
            for name in names or list(SHOWN):
                file = take(reader, name)
                print(f"{file.name}  {file.stat().st_size:,} bytes")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
