"""The report of a run with hostile names, opened in a browser."""

import json

import cv2
import numpy as np
import pandas as pd
import pytest
from chromium import LAPTOP, PHONE, Visit, chromium
from made_reports import report
from rectangles import RectangleDetector, write_world

from autoeval.cli import main

pytestmark = [pytest.mark.rare, pytest.mark.usefixtures("drawn")]

HOSTILE = "<img src=x onerror=alert(1)>"
SOURCES = ["w0", f"{HOSTILE}.source", "_w2$", "w3"]
TASK = """
name = {name!r}
categories = [{name!r}]
data_root = "worlds"
detector_mapping = dict(box={name!r})
mapping = dict(box={name!r})
seed_sets = [
    dict(name=n, ann_file=f"{{d}}/annotations.json", img_dir=f"{{d}}/images", mapping=mapping)
    for n, d in {sources!r}
]
"""


@pytest.fixture(scope="module")
def work_dir(tmp_path_factory):
    """Run estimate-map once, with a source, a category and a file of hostile names."""
    folder = tmp_path_factory.mktemp("report")
    named = list(zip(SOURCES, ("a", "b", "c", "d"), strict=True))
    for k, (_, world) in enumerate(named):
        write_world(folder / "worlds" / world, 250 - 30 * k, seed=k)
    new = write_world(folder / "new", 205, n_images=10, seed=9) / "images"
    (new / "1.png").rename(new / f"{HOSTILE}.png")
    (new / f"{HOSTILE}.broken.jpg").write_bytes(b"no picture")
    (folder / "task.py").write_text(TASK.format(name=HOSTILE, sources=named))
    words = "--n-sets 3 --n-images 5 --repeats 2 --method bos bos_strict"
    words += " --detector rectangles"
    paths = {"task": folder / "task.py", "images": new, "work-dir": folder / "work"}
    options = [word for name, path in paths.items() for word in (f"--{name}", str(path))]
    with pytest.MonkeyPatch.context() as patch:
        loading = "autoeval.detectors.loading.load_detector"
        patch.setattr(loading, lambda *a, **k: RectangleDetector())
        assert main(["estimate-map", *words.split(), *options]) == 0
    return folder / "work"


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def table(work_dir):
    """The score table, averaged over repeats."""
    rows = pd.read_parquet(work_dir / "scores.parquet")
    keys = ["source", "sample_set", "kind", "transforms"]
    return rows.groupby(keys, sort=False).mean(numeric_only=True).reset_index()


@pytest.fixture
def visit(browser, work_dir):
    opened = Visit(browser, work_dir / "report.html", viewport=LAPTOP)
    yield opened
    opened.page.close()


@pytest.fixture(scope="module")
def opened(browser, work_dir):
    """The page as it opens, for tests that only read it."""
    visit = Visit(browser, work_dir / "report.html", viewport=LAPTOP)
    yield visit
    visit.page.close()


def column(visit, caption, name):
    """Numbers of a column, in the order of the page; NaN for cells without one."""
    return visit.page.evaluate(
        """([caption, name]) => {
          const table = document.querySelector(`[aria-label="${caption}"] table`);
          const head = Array.from(table.tHead.rows[0].cells);
          const k = head.findIndex((cell) => cell.textContent.trim() === name);
          return Array.from(table.tBodies[0].rows, (row) => Number(row.cells[k].dataset.value));
        }""",
        [caption, name],
    )


METHODS = "Methods over all held-out sites, in points of 100"
HELD_OUT = "Estimates of held-out sites, in points of 100"


def test_opens_without_complaint_and_without_asking_anyone_else(opened):
    opened.page.wait_for_timeout(200)
    assert opened.complaints == []


def test_the_answer_on_top_is_that_of_the_run(opened, work_dir):
    estimate = json.loads((work_dir / "result.json").read_text())["estimate"]
    assert opened.texts(".interval .value") == [f"{100 * estimate['value']:.1f}"]
    low, high = 100 * estimate["lower"], 100 * estimate["upper"]
    assert opened.texts(".interval .range") == [f"90% interval: {low:.1f} to {high:.1f}"]
    shown = opened.page.locator(".warnings").first.inner_text()
    assert estimate["warnings"] and all(warning in shown for warning in estimate["warnings"])


def test_numbers_are_those_of_the_parquet_file(opened, table):
    caption = f"All {len(table)} sample sets with the ids of their recipes"
    np.testing.assert_array_equal(column(opened, caption, "bos"), table["bos"])
    np.testing.assert_array_equal(column(opened, caption, "true mAP"), 100 * table["mAP"])
    own = table[table["kind"] == "seed"]
    assert column(opened, HELD_OUT, "true mAP") == (100 * own["mAP"]).tolist()
    drawn = json.loads(opened.page.locator(".scatter script").text_content())
    assert drawn["scores"].pop("held-out estimate")
    for name, score in drawn["scores"].items():
        values = np.array(score["values"], float)
        np.testing.assert_allclose(values, table[name], rtol=1e-5)
    assert [point["y"] for point in drawn["points"]] == pytest.approx(100 * table["mAP"], rel=1e-5)
    assert [point["set"] for point in drawn["points"]] == table["sample_set"].tolist()
    samples = table[table["kind"] == "sample"].dropna(subset="bos")
    r2 = np.corrcoef(samples["bos"], samples["mAP"])[0, 1] ** 2
    assert f"R² {r2:.2f}" in opened.texts(".scatter .note")[0]


@pytest.mark.parametrize("way", ["click", "keyboard"])
def test_a_table_sorts_up_and_down(visit, way):
    errors = column(visit, METHODS, "mean abs. error")
    header = visit.page.get_by_label(METHODS).get_by_role("button", name="mean abs. error")
    for expected in (sorted(errors), sorted(errors, reverse=True)):
        if way == "click":
            header.click()
        else:
            header.press("Enter")
        assert column(visit, METHODS, "mean abs. error") == expected
    assert header.locator("..").get_attribute("aria-sort") == "descending"


def test_the_mean_stays_below_its_sources(visit):
    region = visit.page.get_by_label(HELD_OUT)
    for _ in range(2):
        region.get_by_role("button", name="source").click()
        names = region.locator("tr td:first-child").all_inner_texts()
        assert sorted(names[:-1]) == sorted(SOURCES) and names[-1] == "mean"


def test_pointing_at_a_mark_tells_what_it_is(visit, table):
    label = visit.page.locator(".scatter .label")
    assert not label.is_visible()
    own = table[table["kind"] == "seed"].reset_index(drop=True)
    mark = visit.page.locator(".scatter svg .own").nth(1)
    mark.scroll_into_view_if_needed()
    box = mark.bounding_box()
    visit.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    said = label.inner_text().splitlines()
    row = own.loc[1]
    assert said[0] == row["source"] and said[2] == f"sample set {row['sample_set']}"
    assert said[1] == "its own images" and said[4] == f"mAP {100 * row['mAP']:.1f}"
    assert float(said[3].removeprefix("bos ")) == pytest.approx(row["bos"], rel=1e-3)


def test_a_tap_tells_what_a_mark_is_until_the_next(browser, work_dir):
    context = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    visit = Visit(context, work_dir / "report.html")
    label = visit.page.locator(".scatter .label")
    visit.page.locator(".scatter svg .own").last.tap()
    assert label.inner_text().startswith(SOURCES[-1])
    visit.page.locator(".scatter .plot svg").tap(position={"x": 2, "y": 2})
    assert not label.is_visible() and visit.complaints == []
    context.close()


def test_the_arrow_keys_walk_from_mark_to_mark(visit, table):
    plot = visit.page.locator(".scatter .plot svg")
    plot.press("ArrowRight")
    leftmost = table.loc[table["bos"].idxmin()]
    assert leftmost["sample_set"] in visit.page.locator(".scatter .label").inner_text()


def test_another_score_is_drawn_when_chosen(visit):
    line = ".scatter .legend .key:has(.line)"
    assert visit.texts(line) == ["the regression in use"]
    visit.page.locator(".scatter select").select_option("bos_strict")
    assert "bos_strict" in visit.texts(".scatter .plot svg text")
    assert visit.texts(line) == ["least squares over the points"] and visit.complaints == []


def test_a_source_is_singled_out(visit, table):
    visit.page.locator(".scatter .legend button").first.click()
    others = (table["source"] != SOURCES[0]) & table["bos"].notna()
    assert len(visit.all(".scatter svg .faded")) == others.sum()


def test_hostile_names_are_text(visit):
    visit.page.locator("summary").click()
    shown = visit.page.locator("body").inner_text()
    for name in (*SOURCES, f"{HOSTILE}.png", f"{HOSTILE}.broken.jpg"):
        assert name in shown
    assert visit.page.title() == f"rectangles on {HOSTILE}"
    assert visit.all('img[src="x"]') == [] and visit.complaints == []


def test_categories_of_hostile_names_are_text_and_sort(browser, tmp_path):
    names = [HOSTILE, "</script><script>alert(2)</script>", "car"]
    of = [dict(value=v, lower=0.8 * v, upper=1.2 * v) for v in (0.5, 0.25, 0.75)]
    page = report(title=names[1], per_category=dict(zip(names, of, strict=True)))
    page.write(tmp_path / "report.html")
    visit = Visit(browser, tmp_path / "report.html", viewport=PHONE)
    region = visit.page.get_by_label("Estimated mAP with its interval, in points of 100")
    region.get_by_role("button", name="estimate").click()
    shown = region.locator("td:first-child").all_inner_texts()
    assert shown == [names[1], names[0], names[2]] and visit.complaints == []
    assert visit.page.evaluate("document.documentElement.scrollWidth") == 390
    visit.page.close()


@pytest.mark.parametrize(("place", "n_images"), [("first", 6), ("last", 6)])
def test_the_least_certain_and_the_least_stable_images_are_pictures(opened, place, n_images):
    gallery = getattr(opened.page.locator(".thumbnails"), place)
    images = gallery.locator("img")
    assert images.evaluate_all("all => all.every(i => i.loading === 'lazy')")
    for image in images.all():
        image.scroll_into_view_if_needed()  # which loads it
    images.evaluate_all("all => Promise.all(all.map(i => i.decode()))")
    widths = images.evaluate_all("all => all.map(i => i.naturalWidth)")
    assert len(widths) == n_images and all(0 < width <= 360 for width in widths)


def test_nothing_sticks_out_on_a_phone(browser, work_dir):
    visit = Visit(browser, work_dir / "report.html", viewport=PHONE)
    visit.page.locator("summary").click()
    assert visit.page.evaluate("document.documentElement.scrollWidth") == 390
    outside = visit.page.evaluate(
        """() => Array.from(document.querySelectorAll("main *"))
          .filter((e) => !e.closest("table, svg") && e.getBoundingClientRect().right > 390.5)
          .map((e) => e.outerHTML.slice(0, 80))"""
    )
    assert outside == [] and visit.complaints == []
    cut = visit.page.evaluate(
        """() => Array.from(document.querySelectorAll(".chart, .scatter .plot, .thumbnails"))
          .filter((e) => e.scrollWidth > e.clientWidth + 1).length"""
    )
    assert cut == 0
    visit.page.close()


def test_a_page_has_at_most_twelve_pictures(opened):
    assert 0 < len(opened.all(".thumbnails img")) <= 12


def test_each_part_lies_beside_the_page(work_dir):
    names = {path.name for path in (work_dir / "report").iterdir()}
    parts = ("sample_sets", "methods", "held_out", "least_stable", "times")
    for part in parts:
        assert f"{part}.csv" in names
    for picture in ("scatter.png", "least_stable.png"):
        assert cv2.imread(str(work_dir / "report" / picture)) is not None
    unstable = pd.read_csv(work_dir / "report" / "least_stable.csv")
    assert unstable["stability"].is_monotonic_increasing
