"""The page of many sites, opened in a browser."""

import json

import numpy as np
import pandas as pd
import pytest
from chromium import LAPTOP, PHONE, Visit, chromium

from autoeval.monitoring.order.site_table import SiteTable
from autoeval.monitoring.watched import Watched
from autoeval.report.embed import thumbnail_uri
from autoeval.results.monitoring.site_board import site_board
from autoeval.results.monitoring.site_pictures import MOST, OF_SITE
from autoeval.results.monitoring.sites_report import sites_report

HOSTILE = "<img src=x onerror=alert(1)>/gate"


def watched(n_sites, n_days=5):
    """Sites 0, 1, 2 ... the worst first; the second has fallen on the third day."""
    rng = np.random.default_rng(0)
    names = [HOSTILE, *(f"site {k // 50}/camera {k}" for k in range(1, n_sites))]
    level = np.linspace(0.1, 0.8, n_sites)
    drawn = level + rng.normal(0, 0.02, (50, n_sites))
    rows, start = [], pd.Timestamp("2026-03-01")
    for k, name in enumerate(names):
        for day in range(-1, n_days):
            at = level[k] + (0.01 * day if day > 0 else 0)
            first = start + pd.Timedelta(days=max(day, 0))
            alarm = k == 1 and day < 0
            row = dict(group=name, period="" if day < 0 else f"{first:%Y-%m-%d}", digest="x")
            row |= dict(first=first, last=first + pd.Timedelta(hours=23), n_images=100)
            row |= dict(n_unreadable=0, estimate=at, lower=max(0, at - 0.15), upper=at + 0.15)
            row |= dict(raw=at, rank=k + 1, p_worst=1.0 if k < 3 else 0.0, warnings="")
            row |= dict(change=-0.09 if alarm else np.nan, change_lower=-0.13, change_upper=-0.05)
            row |= dict(since=start + pd.Timedelta(days=2), alarm=alarm, moved="ac -9.0" * alarm)
            row |= dict(alarm_at=start + pd.Timedelta(days=3), influential=(), unwatched="")
            rows.append(row)
    table = SiteTable(pd.DataFrame(rows), drawn, tuple(names), 3, lambda records: 0.5)
    return Watched(table, "mAP", "day", ("yard: the clock jumps back",), {"exif": 1}, 7)


def write(folder, n_sites, n_days=5):
    picture = thumbnail_uri(np.random.default_rng(0).integers(0, 255, (180, 240, 3), np.uint8))
    seen = watched(n_sites, n_days)
    worst = set(seen.table.sites["group"].head(MOST // OF_SITE))
    pictures = {name: [(picture, f"{name}: 1.jpg")] * OF_SITE for name in worst}
    (page, *_) = sites_report(seen, site_board(seen, pictures)).write(folder)
    return page


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return write(tmp_path_factory.mktemp("page"), 12)


@pytest.mark.parametrize("viewport", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_the_order_the_alarm_and_nothing_strange(viewport, page, browser):
    visit = Visit(browser, page, viewport=viewport)
    names = [text.split("100 images")[0] for text in visit.texts(".board-line .who")]
    assert names[0] == HOSTILE
    assert names[1:3] == ["site 0/camera 1", "site 0/camera 2"]
    alarms = ["fell by 9 ± 4 points since 2026-03-03 00:00"]
    assert visit.texts(".board-line.alarmed .alarm") == alarms
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    assert visit.complaints == []


def test_a_site_opens_with_its_line_over_time_its_alarm_and_its_images(page, browser):
    visit = Visit(browser, page, viewport=PHONE)
    line = visit.page.locator(".board-line").nth(1)
    line.click()
    assert line.get_attribute("aria-expanded") == "true"
    assert len(visit.all(".board-open circle")) == 5
    assert visit.texts(".board-open .mark title") == ["alarm: 2026-03-04"]
    assert "moved: ac -9.0" in " ".join(visit.texts(".board-open li"))
    images = visit.page.locator(".board-open img")
    assert images.count() == 4
    images.first.scroll_into_view_if_needed()  # which loads it
    width = images.first.evaluate("async (image) => (await image.decode(), image.naturalWidth)")
    assert width == 240
    assert images.evaluate_all("all => all.every((image) => image.loading === 'lazy')")
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    line.click()
    assert visit.all(".board-open") == []
    assert visit.complaints == []


def test_the_page_begins_with_its_numbers_and_has_twelve_pictures_at_most(page, browser):
    visit = Visit(browser, page, viewport=LAPTOP)
    assert visit.texts("main > :first-child .value") == ["1", "10.0"]
    assert visit.texts("main > :first-child .note")[0] == "of 12"
    board = json.loads(visit.page.locator(".board-of-many script").text_content())
    assert sum(len(item.get("pictures", ())) for item in board["items"]) == MOST == 12


def test_dots_and_bars_stand_where_their_values_are(page, browser):
    visit = Visit(browser, page, viewport=LAPTOP)
    shares = visit.page.evaluate(
        """[...document.querySelectorAll('.board-line')].map((line) => {
            const of = (name) => line.querySelector(name).getBoundingClientRect();
            const bar = of('.bar'), dot = of('.dot'), reach = of('.reach');
            const edges = [dot.x + dot.width / 2, reach.x, reach.right];
            return edges.map((x) => (x - bar.x) / bar.width);
        })"""
    )
    sites = watched(12).table.sites
    expected = sites[["estimate", "lower", "upper"]].to_numpy()
    assert np.array(shares) == pytest.approx(expected, abs=0.004)


def test_search_and_order(page, browser):
    visit = Visit(browser, page, viewport=LAPTOP)
    visit.page.locator(".board-tools input").fill("CAMERA 1")
    assert visit.texts(".count") == ["3 of 12"]
    visit.page.locator(".board-tools input").fill("")
    visit.page.locator(".board-tools select").select_option("alarms first")
    assert "camera 1" in visit.texts(".board-line .who")[0]
    visit.page.locator(".board-tools select").select_option("by name")
    assert "camera 10" in visit.texts(".board-line .who")[-2]


@pytest.mark.parametrize("n_sites", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_many_sites_are_small_and_open_quickly(tmp_path, browser, n_sites):
    page = write(tmp_path, n_sites, n_days=30)
    assert page.stat().st_size < 3e5 + 5e3 * n_sites
    visit = Visit(browser, page, viewport=PHONE)
    visit.page.locator(".board-line").nth(n_sites - 1).wait_for(state="attached")
    assert len(visit.all(".board-line")) == n_sites
    session = visit.page.context.new_cdp_session(visit.page)
    session.send("Performance.enable")
    measured = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
    assert measured["ProcessTime"] < 2  # seconds of the processor, however busy it is
    assert visit.complaints == []
