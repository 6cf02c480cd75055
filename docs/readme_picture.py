"""Draw the picture of the README: the top of the page that `estimate` writes of the sample.

    python docs/readme_picture.py

It runs `fit` and `estimate` on a copy of the sample, opens the page in Chromium (extra `test`), and
writes `docs/getting-started/estimate_page.png`.
"""

from __future__ import annotations

import contextlib
import io
import shutil
import tempfile
from pathlib import Path

import cv2
import numpy as np

from autoeval.cli import main

PICTURE = Path(__file__).parent / "getting-started/estimate_page.png"
SAMPLE = Path(__file__).parent / "getting-started/sample"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTH = 760
HEIGHT = 700
N_COLOURS = 24  # of the picture: a page has few
LAST = "figure.scatter .board"  # the last thing that is shown
LONG = ".warnings, .scatter figcaption, main > p"  # words that a picture has no room for
COMMANDS = (
    "fit --labels val.json --predictions val_predictions.json",
    "estimate --predictions new_predictions.json --images new_site.json",
)


def take(page: Path, picture: Path) -> None:
    """Write the top of a page, without its warnings and long captions, as a PNG of few colours."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        shown = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        shown.goto(page.resolve().as_uri())
        shown.add_style_tag(content=f"{LONG} {{ display: none }}")
        box = shown.locator(LAST).bounding_box()
        assert box is not None
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": box["y"] + box["height"] + 16}
        raw = shown.screenshot(full_page=True, clip=clip)
        browser.close()
    pixels = cv2.imdecode(np.frombuffer(raw, np.uint8), cv2.IMREAD_COLOR)
    cv2.imwrite(str(picture), few_colours(pixels), [cv2.IMWRITE_PNG_COMPRESSION, 9])


def few_colours(pixels: np.ndarray) -> np.ndarray:
    """Round an image (H, W, 3), uint8, so that it packs well: letters and dots stay readable."""
    step = 256 // N_COLOURS
    rounded = np.minimum((pixels.astype(int) + step // 2) // step * step, 255)
    return rounded.astype(np.uint8)


def run() -> None:
    """Make the page and its picture."""
    with tempfile.TemporaryDirectory() as folder:
        sample = shutil.copytree(SAMPLE, Path(folder) / "sample")
        with contextlib.chdir(sample), contextlib.redirect_stdout(io.StringIO()):
            for words in COMMANDS:
                assert main(words.split()) == 0
        take(sample / "work_dirs/estimate/report.html", PICTURE)
    print(f"{PICTURE}: {PICTURE.stat().st_size / 1024:.0f} kB")


if __name__ == "__main__":
    run()
