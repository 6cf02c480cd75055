"""Another detector at the sites of a monitor is compared there as `autoeval.compare` has it."""

import json
import shutil
from datetime import datetime, timedelta

import numpy as np
import pytest
from comparison.two_detectors import site_labels, write_detectors

import autoeval
from autoeval.api import load_estimator
from autoeval.errors import InputError
from autoeval.monitoring.candidate import sites_of_records
from autoeval.monitoring.monitor_store import CameraImage, MonitorStore, box_rows
from autoeval.monitoring.monitored import SiteCategories
from autoeval.report.monitor import candidate_text, monitored_values

NAMES = ("weak", "strong")
THING = {"thing": ["thing 0", "thing 1"]}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = write_detectors(tmp_path_factory.mktemp("against"))
    images = json.loads(site_labels(folder).read_text())["images"]
    for name in NAMES:
        rows = json.loads((folder / f"site_{name}_predictions.json").read_text())
        rows = [row for row in rows if row["image_id"] % 40]  # two have no box of either
        (folder / f"of_{name}").mkdir()
        (folder / f"of_{name}/gate.json").write_text(json.dumps(rows))
    (folder / "gate.json").write_text(json.dumps({"images": images, "annotations": []}))
    listed = [{**image, "file_name": f"gate/{image['file_name']}"} for image in images]
    (folder / "all.json").write_text(json.dumps({"images": listed, "annotations": []}))
    (folder / "lists").mkdir()
    shutil.copy(folder / "gate.json", folder / "lists/gate.json")
    return folder


def beside(world, current, candidate, work_dir, **options):
    """Monitor the weak detector by its boxes in a folder, and beside it the strong one."""
    return autoeval.monitor(
        world / "weak",
        current,
        against=world / "strong",
        against_predictions=candidate,
        work_dir=work_dir,
        **options,
    )


def of_monitor(world, tmp_path, **options):
    folders = world / "of_weak", world / "of_strong"
    monitored = beside(world, *folders, tmp_path, **{"images": world / "lists", **options})
    (row,) = monitored.candidate[0].to_dict("records")
    return [row[name] for name in ("n_images", "difference", "lower", "upper")]


def of_compare(world, **options):
    fits = {name: world / name for name in NAMES}
    files = [world / f"of_{name}/gate.json" for name in NAMES]
    result = autoeval.compare(fits, files, images=world / "gate.json", **options)
    assert result.detectors[0] == "strong"
    row = result.overall.iloc[0]
    return [result.n_images, *row[["difference", "lower", "upper"]]]


@pytest.mark.parametrize("images", ["lists", "all.json"])
def test_all_images_of_a_site_may_stand_in_a_list_of_all_sites(world, tmp_path, images):
    """The list was not read there: images without a box were left out in silence."""
    given = of_monitor(world, tmp_path, images=world / images)
    assert given[0] == 80 and given == pytest.approx(of_compare(world), abs=1e-12)


def test_categories_of_one_site_are_those_of_a_comparison(world, tmp_path):
    """What they are called on the labelled set counts there, too."""
    given = of_monitor(world, tmp_path, site_categories={"gate": THING})
    assert given == pytest.approx(of_compare(world, categories=THING), abs=1e-12)


def test_a_single_word_and_a_list_of_names_are_categories_of_a_comparison(world):
    expected = of_compare(world, categories={"thing": ["thing 1"]})
    assert of_compare(world, categories={"thing": "thing 1"}) == pytest.approx(expected, abs=1e-12)
    both = of_compare(world, categories={"thing 0": ["thing 0"], "thing 1": ["thing 1"]})
    assert of_compare(world, categories=["thing 0", "thing 1"]) == pytest.approx(both, abs=1e-12)


def test_files_that_are_parts_of_a_site_are_refused(world, tmp_path):
    """Each file was a row of the table, and --site-category and --against-known had no effect."""
    for name in NAMES:
        folder = tmp_path / name / "gate"
        folder.mkdir(parents=True)
        shutil.copy(world / f"of_{name}/gate.json", folder / "2026-03-01.json")
    options = {"against": world / "strong", "against_predictions": tmp_path / "strong"}
    options |= {"depth": 1, "work_dir": tmp_path / "work"}
    with pytest.raises(InputError, match="--depth 1"):
        autoeval.monitor(world / "weak", tmp_path / "weak", **options)


def test_intervals_of_differences_have_the_level_of_the_fit(world, tmp_path):
    """They were of 90 % where all others of the page were of 50 %."""
    fits = {
        name: autoeval.fit(world / "set.json", world / f"set_{name}_predictions.json", level=0.5)
        for name in NAMES
    }
    monitored = autoeval.monitor(
        fits["weak"],
        world / "of_weak",
        against=fits["strong"],
        against_predictions=world / "of_strong",
        images=world / "lists",
        work_dir=tmp_path,
    )
    files = [world / f"of_{name}/gate.json" for name in NAMES]
    expected = autoeval.compare(fits, files, images=world / "gate.json", level=0.5).overall.iloc[0]
    (row,) = monitored.candidate[0].to_dict("records")
    assert monitored.level == 0.5 and expected["a"] == "strong"
    assert row["lower"] == pytest.approx(expected["lower"], abs=1e-9)
    assert row["upper"] == pytest.approx(expected["upper"], abs=1e-9)


def stored(folder, words, label, kept):
    """Keep 6 images, every second one without a box, and drop the boxes of all but the last."""
    store, start = MonitorStore(folder), datetime(2026, 3, 1)
    store.add_words(words)
    images = [
        CameraImage(
            f"gate/{k}.jpg",
            "gate",
            (480, 640),
            start + timedelta(days=k),
            box_rows(np.full((k % 2, 4), [9, 9, 99, 99]), np.full(k % 2, 0.9), label),
            stamp=f"{k}",
        )
        for k in range(6)
    ]
    store.add(images)
    store.forget(image.name for image in images[:-kept] if len(image.boxes))
    return store


def test_sites_of_records_have_the_words_of_each_fit_and_no_image_of_a_dropped_time(
    world, tmp_path
):
    """Images without a box stay where those of their time were dropped (--keep): they are none."""
    fits = []
    for name, words in (("a", ["thing 0"]), ("b", ["thing 1"])):
        boxes, labels = world / "set_weak_predictions.json", world / "set.json"
        autoeval.fit(labels, boxes, categories={"thing": words}, work_dir=tmp_path / name)
        fits.append(load_estimator(tmp_path / name))
    words = ["thing 0", "thing 1"]
    stores = [stored(tmp_path / "of a", words, 0, kept=2), stored(tmp_path / "of b", words, 1, 6)]
    first, second = sites_of_records(fits, stores, SiteCategories(()))["gate"]()
    assert [len(first), len(first.boxes)] == [3, 1]  # 0 of the baseline, 4 and 5
    assert [len(second), len(second.boxes)] == [6, 3]
    assert first.boxes.categories == second.boxes.categories == ("thing",)


def test_boxes_that_are_called_by_the_name_of_a_category_are_of_it_by_each_fit(world, tmp_path):
    """Whether a fit found boxes of this word was looked up in the fit of the first detector."""
    fits = [load_estimator(world / name) for name in NAMES]
    words = ["thing", "thing 1"]
    stores = [stored(tmp_path / name, words, 0, kept=6) for name in NAMES]
    categories = SiteCategories((), named={"thing": ["thing 1"]}, known=["thing"])
    of_both = sites_of_records(fits, stores, categories)["gate"]()
    assert [len(site.boxes) for site in of_both] == [3, 3]


def test_warnings_of_the_boxes_of_the_candidate_are_those_of_a_comparison(world, tmp_path):
    """They were given nowhere: the monitor reads the boxes of the current detector alone."""
    rows = json.loads((world / "of_strong/gate.json").read_text())
    cut = [row for row in rows if row["score"] > 0.25]
    for name, boxes in (("gate", cut), ("yard", cut), ("roof", rows)):
        for folder in ("of_weak", "strong", "lists"):
            (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / f"strong/{name}.json").write_text(json.dumps(boxes))
        shutil.copy(world / "of_weak/gate.json", tmp_path / f"of_weak/{name}.json")
        shutil.copy(world / "gate.json", tmp_path / f"lists/{name}.json")
    folders = tmp_path / "of_weak", tmp_path / "strong"
    monitored = beside(world, *folders, tmp_path / "work", images=tmp_path / "lists")
    files = [tmp_path / "of_weak/gate.json", tmp_path / "strong/gate.json"]
    fits = {"current": world / "weak", "candidate": world / "strong"}
    compared = autoeval.compare(fits, files, images=world / "gate.json")
    expected = [w for w in compared.warnings if w.code == "low-scores-missing"]
    given = [w for w in monitored.candidate[1] if w.code == "low-scores-missing"]
    assert expected and all(w.startswith("candidate: ") for w in expected)
    assert sorted(given) == sorted(f"gate, yard: {w}" for w in expected)


def test_a_candidate_that_found_the_same_differs_by_nothing(world, tmp_path):
    """It differed by -0.0 points."""
    monitored = beside(world, world / "of_weak", world / "of_weak", tmp_path / "work")
    rows = monitored.candidate[0][["difference", "lower", "upper"]].to_numpy()
    assert len(rows) and not rows.any() and not np.signbit(rows).any()
    assert "-0.0" not in candidate_text(monitored.candidate[0])


def test_images_that_one_detector_lacks_or_that_are_of_the_fit_are_named(world, tmp_path):
    """The table had the common images, and boxes of the fit, without a word."""
    rows = json.loads((world / "of_weak/gate.json").read_text())
    of_fit = (world / "set_weak_predictions.json").read_text()
    sites = {"gate": json.dumps([row for row in rows if row["image_id"] < 60]), "yard": of_fit}
    for name, content in sites.items():
        for folder in ("weak", "strong"):
            (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / f"weak/{name}.json").write_text(content)
        shutil.copy(world / "of_strong/gate.json", tmp_path / f"strong/{name}.json")
    monitored = beside(world, tmp_path / "weak", tmp_path / "strong", tmp_path / "work")
    about = {
        (name, w.code) for w in monitored.candidate[1] for name in w.partition(": ")[0].split(", ")
    }
    named = ("images-not-common", "images-of-the-fit")
    assert {pair for pair in about if pair[1] in named} == {
        ("gate", "images-not-common"),
        ("yard", "images-not-common"),
        ("yard", "images-of-the-fit"),
    }
    fits = {"current": world / "weak", "candidate": world / "strong"}
    files = [tmp_path / f"{folder}/yard.json" for folder in ("weak", "strong")]
    assert {*named} <= {warning.code for warning in autoeval.compare(fits, files).warnings}


def test_sites_that_are_not_compared_are_in_the_json(world, tmp_path):
    shutil.copytree(world / "of_weak", tmp_path / "sites")
    shutil.copy(world / "of_weak/gate.json", tmp_path / "sites/roof.json")
    monitored = beside(world, tmp_path / "sites", world / "of_strong", tmp_path / "work")
    values = monitored_values(monitored, {})
    assert [row["site"] for row in values["candidate"]] == ["gate"]
    assert "roof: no predictions of the candidate" in values["warnings"]
