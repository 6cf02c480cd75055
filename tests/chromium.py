"""A headless Chromium that notes everything a page should not do."""

import shutil
from contextlib import contextmanager

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 120_000  # milliseconds, for machines that do much else
LAPTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}


def needs_chromium():
    """Return playwright and the program of the browser; skip the tests where one is missing."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the test extra")
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip(f"needs one of {', '.join(NAMES)} on the PATH: apt-get install chromium")
    return playwright, found


@contextmanager
def chromium():
    """Yield a browser; skip the tests where there is none."""
    playwright, found = needs_chromium()
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=found, args=["--no-sandbox"], timeout=PATIENCE
        )
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """A page that was opened in a browser or a context of it, and what went wrong there.

    Attributes
    ----------
    page : playwright.sync_api.Page
    complaints : list of str
        Console errors and warnings, uncaught errors, dialogs, and requests for another address.
    """

    def __init__(self, browser, path, **options):
        self.address, self.complaints = path.as_uri(), []
        self.page = browser.new_page(**options)
        self.page.set_default_timeout(PATIENCE)
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("dialog", self._dialog)
        self.page.on("request", self._request)
        self.page.goto(self.address)

    def all(self, selector):
        return self.page.locator(selector).all()

    def texts(self, selector):
        return self.page.locator(selector).all_text_contents()

    def _console(self, message):
        if message.type in ("error", "warning"):
            self.complaints.append(f"console: {message.text}")

    def _dialog(self, dialog):
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, request):
        if request.url != self.address and not request.url.startswith("data:"):
            self.complaints.append(f"request: {request.url}")
