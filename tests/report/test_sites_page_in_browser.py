"""The page of many sites, opened in a browser."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from chromium import LAPTOP, PHONE, Visit, chromium

from autoeval.monitoring.monitored import Monitored, MonitoredSite, MonitorSettings
from autoeval.report.monitor import MOST_PICTURES, OF_SITE, monitored_page, site_board
from autoeval.report.pictures import thumbnail_uri

pytestmark = pytest.mark.rare

HOSTILE = "<img src=x onerror=alert(1)>/gate"


def seen(n_sites, n_days=5):
    """Sites 0, 1, 2 ... the worst first; the second has fallen on the last day."""
    names = [HOSTILE, *(f"site {k // 50}/camera {k}" for k in range(1, n_sites))]
    level = np.linspace(0.1, 0.8, n_sites)
    sites, start = [], pd.Timestamp("2026-03-01")
    for k, name in enumerate(names):
        rows = []
        for day in range(n_days):
            at = level[k] + 0.01 * day
            row = {"site": name, "window": f"{start + pd.Timedelta(days=day):%Y-%m-%d}"}
            row |= {"complete": True, "baseline": day < 2, "n_images": 100, "n_boxes": 300}
            row |= dict.fromkeys(("change", "change_lower", "change_upper"), np.nan)
            rows.append(row | {"value": at, "lower": max(0, at - 0.15), "upper": at + 0.15})
        fell = k == 1
        sites.append(
            MonitoredSite(
                name=name,
                state="fell" if fell else "ok",
                alarms=("fell",) if fell else (),
                reasons={"fell": "likely boxes an image: 4.00 to 1.20"} if fell else {"ok": ""},
                window=rows[-1]["window"],
                **{end: rows[-1][end] for end in ("value", "lower", "upper")},
                change=-0.09 if fell else 0.01,
                change_lower=-0.13 if fell else -0.03,
                change_upper=-0.05 if fell else 0.05,
                level=0.9,
                target="mAP",
                n_images=100,
                n_unreadable=0,
                units="48 independent blocks of images in the baseline, 16 in the window",
                p_worst=1.0 if k < 3 else 0.0,
                history=pd.DataFrame(rows),
            )
        )
    settings = MonitorSettings()
    warnings = ("yard: the clock jumps back",)
    fallen_first = tuple(sorted(sites, key=lambda site: not site.alarms))
    return Monitored(fallen_first, "mAP", 0.9, settings, warnings, 7, {"exif": 1})


def write(folder, n_sites, n_days=5):
    picture = thumbnail_uri(np.random.default_rng(0).integers(0, 255, (180, 240, 3), np.uint8))
    now = seen(n_sites, n_days)
    first = now.names[: MOST_PICTURES // OF_SITE]
    pictures = {name: [(picture, f"{name}: 1.jpg")] * OF_SITE for name in first}
    commands = {"site 0/camera 1": "autoeval label plan --images cameras/1"}
    page = monitored_page(now, label_commands=commands, pictures=pictures)
    return page.write(folder / "report.html")[0]


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return write(tmp_path_factory.mktemp("page"), 12)


def test_changes_are_drawn_against_all_of_the_baseline(monkeypatch):
    """Also where the page leaves the first windows of a long history out."""
    now = seen(2)
    for site in now.sites:
        site.history[["change", "change_lower", "change_upper"]] = 0.02, -0.01, 0.05
    monkeypatch.setattr("autoeval.report.monitor.MOST_POINTS", 2 * 3)
    item = site_board(now, {})["items"][1]  # of the worst, whose baseline is .10 and .11
    assert len(item["times"]) == 3 and not item.get("baseline")
    np.testing.assert_allclose(item["changes"], [[12.5, 9.5, 15.5]] * 3)


def test_changes_are_drawn_against_the_level_that_labels_measured():
    """They are relative to it: against the estimates they were drawn at another level."""
    now = seen(2)
    site = replace(now.sites[1], labelled_level=0.5)
    site.history[["change", "change_lower", "change_upper"]] = -0.2, -0.3, -0.1
    item = site_board(replace(now, sites=(site,)), {})["items"][0]
    np.testing.assert_allclose(item["changes"], [[30, 20, 40]] * len(item["times"]))
    of_change = site.plot().lines[1]
    np.testing.assert_allclose(of_change.get_ydata(), [30] * len(item["times"]))


@pytest.mark.parametrize("viewport", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_the_order_the_alarm_and_nothing_strange(viewport, page, browser):
    visit = Visit(browser, page, viewport=viewport)
    names = visit.texts(".board-line .who")
    assert names[0].startswith("site 0/camera 1") and names[1].startswith(HOSTILE)
    alarms = ["fell: likely boxes an image: 4.00 to 1.20"]
    assert visit.texts(".board-line.alarmed .alarm") == alarms
    text = visit.page.inner_text("main")
    assert "fell by 9.0 points (-13.0 to -5.0)" in text
    assert "autoeval label plan --images cameras/1" in text
    # The site with an alarm is open from the start.
    assert visit.page.locator(".board-open").count() == 1
    assert visit.page.locator(".board-line").nth(0).get_attribute("aria-expanded") == "true"
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    assert visit.complaints == []


def test_a_site_opens_with_its_line_over_time_its_alarm_and_its_images(page, browser):
    visit = Visit(browser, page, viewport=PHONE)
    line = visit.page.locator(".board-line").nth(0)  # with an alarm: open from the start
    assert line.get_attribute("aria-expanded") == "true"
    assert len(visit.all(".board-open circle")) == 5
    # forth along the upper ends of five windows and back along the lower ones, no change is known
    assert visit.page.locator(".board-open .band").first.get_attribute("d").count("L") == 9
    assert visit.page.locator(".board-open .baseline").count() == 1
    assert visit.all(".board-open .board-key") == []
    assert visit.texts(".board-open .mark title") == ["alarm: 2026-03-05"]
    assert "48 independent blocks" in " ".join(visit.texts(".board-open li"))
    images = visit.page.locator(".board-open img")
    assert images.count() == 4
    images.first.scroll_into_view_if_needed()  # which loads it
    width = images.first.evaluate("async (image) => (await image.decode(), image.naturalWidth)")
    assert width == 240
    assert images.evaluate_all("all => all.every((image) => image.loading === 'lazy')")
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    line.click()
    assert visit.all(".board-open") == []
    line.click()
    assert len(visit.all(".board-open")) == 1
    assert visit.complaints == []


def test_the_page_begins_with_its_numbers_and_has_twelve_pictures_at_most(page, browser):
    visit = Visit(browser, page, viewport=LAPTOP)
    assert visit.texts("main > :first-child .value") == ["1", "11", "1"]  # alarms, ok, fell
    assert visit.texts("main > :first-child .note")[0] == "of 12"
    board = json.loads(visit.page.locator(".board-of-many script").text_content())
    assert sum(len(item.get("pictures", ())) for item in board["items"]) == MOST_PICTURES == 12


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
    expected = seen(12).to_pandas()[["value", "lower", "upper"]].to_numpy()
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
