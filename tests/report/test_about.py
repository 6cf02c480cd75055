"""What a page is about, and where its tables go on to the side."""

import io
import json
import re
from datetime import datetime

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from autoeval.cli import main
from autoeval.report.page import Facts, Page, Table, about
from tests.chromium import chromium
from tests.commands.predicted_world import write_world


def test_what_is_known_is_named():
    facts = about("autoeval fit --level .8", labels="val.json", task=None, group="")
    assert list(facts) == ["labels", "date", "command"]
    assert facts["labels"] == "val.json" and facts["command"] == "autoeval fit --level .8"
    now = datetime.now().astimezone()
    assert abs((now - datetime.fromisoformat(facts["date"])).total_seconds()) < 120
    assert "<table>" not in Page("t", [Facts({})]).render()
    html = Page("t", [Facts(facts)]).render()
    assert re.findall(r'<td class="text[^>]*>([^<]*)</td>', html) == list(facts.values())


def test_the_detector_of_an_estimator_stands_where_none_was_given():
    kept = {"name": "yolox", "checkpoint": "last.pt"}
    found = about(spec=kept, detector=None, checkpoint="best.pt", estimator="e")
    assert list(found) == ["detector", "checkpoint", "estimator", "date"]
    assert (found["detector"], found["checkpoint"]) == ("yolox", "best.pt")


def test_pages_of_fit_and_estimate_name_images_detector_estimator_date_and_command(tmp_path):
    labels, predictions = write_world(tmp_path, "a b", seed=0, n_categories=4)
    fit = ["--labels", str(labels), "--predictions", str(predictions)]
    assert main(["fit", *fit, "--work-dir", str(tmp_path / "fit")]) == 0
    made = json.loads((tmp_path / "fit/result.json").read_text())["about"]
    assert made["labels"] == str(labels) and made["predictions"] == str(predictions)
    estimator = str(tmp_path / "fit/estimator.parquet")
    words = ["estimate", "--estimator", estimator, "--predictions", str(predictions)]
    words += ["--images", str(labels), "--work-dir", str(tmp_path / "new")]
    assert main(words) == 0
    facts = json.loads((tmp_path / "new/result.json").read_text())["about"]
    assert list(facts) == ["images", "predictions", "estimator", "date", "command"]
    assert (facts["images"], facts["estimator"]) == (str(labels), estimator)
    assert facts["command"].startswith(f"autoeval estimate --estimator {estimator} ")
    assert f"'{labels}'" in facts["command"]  # as a shell takes it: there is a space in the name
    page = (tmp_path / "new/report.html").read_text()
    assert "What this page is about" in page and facts["date"] in page


@pytest.mark.rare
def test_pages_of_labels_and_monitoring_do_so_too(tmp_path):
    labels, predictions = write_world(tmp_path, "val", seed=0, n_images=40, boxes=12)
    fit = ["--labels", str(labels), "--predictions", str(predictions)]
    assert main(["fit", *fit, "--work-dir", str(tmp_path / "fit")]) == 0
    estimator = str(tmp_path / "fit/estimator.parquet")
    site = ["--estimator", estimator, "--predictions", str(predictions)]
    site += ["--images", str(labels)]
    made = {}
    for name, words in {
        "plan": ["label", "plan", *site, "--n", "12"],
        "unplanned": ["estimate", *site, "--labels", str(labels)],
        "planned": ["label", "estimate", "--plan", str(tmp_path / "plan"), "--labels", str(labels)],
        "sites": ["monitor", *site, "--category", "thing 0"],
    }.items():
        assert main([*words, "--work-dir", str(tmp_path / name)]) == 0
        made[name] = json.loads((tmp_path / name / "result.json").read_text())["about"]
        page = (tmp_path / name / "report.html").read_text()
        assert "What this page is about" in page and made[name]["date"] in page
        assert made[name]["command"].startswith(f"autoeval {' '.join(words[:1])}")
        assert made[name]["estimator"] == estimator, name
        assert made[name]["predictions"] == str(predictions), name
        assert made[name]["images"] == str(labels), name
    assert made["planned"]["plan"] == str(tmp_path / "plan")
    assert made["planned"]["labels"] == made["unplanned"]["labels"] == str(labels)


@pytest.mark.rare
def test_a_table_that_goes_on_to_the_side_shows_it(tmp_path):
    wide = pd.DataFrame({f"column {k}": [1.0, 2.0] for k in range(40)})
    page = Page("t", [Table("", wide), Table("", wide[["column 0"]])])
    page.write(tmp_path / "t.html")
    with chromium() as browser:
        shown = browser.new_page(viewport={"width": 700, "height": 500})
        shown.goto(f"file://{tmp_path / 't.html'}")
        shaded = []
        for table in shown.locator(".scroll").all():
            pixels = np.array(Image.open(io.BytesIO(table.screenshot())).convert("L"), float)
            row = pixels[-12]  # in the last row of the table, under its figures
            shaded.append(row[-20] - row[-4] > 10)
    assert shaded == [True, False]
