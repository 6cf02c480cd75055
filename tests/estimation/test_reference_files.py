"""Files of a reference detector that are not what the fit had: of other images, cut, the same."""

import json
from pathlib import Path

import numpy as np
import pytest
from commands.predicted_world import write_world

import autoeval
from autoeval.errors import InputError

SAMPLE = Path(__file__).resolve().parents[2] / "docs/getting-started/sample"
FEW = {"n_images": 40, "n_categories": 3}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Boxes of a weak detector and a good one, on labelled images and at a site."""
    folder = tmp_path_factory.mktemp("reference")
    for name, seed in {"val": 0, "site": 1}.items():
        for detector, skill in {"weak": 0.5, "good": 0.98}.items():
            (folder / detector).mkdir(exist_ok=True)
            write_world(folder / detector, name, seed=seed, skill=skill, **FEW)
    return folder


def rows_of(path):
    return json.loads(path.read_text())


def given(world, tmp_path, name, reference):
    path = tmp_path / f"{name}_reference.json"
    path.write_text(json.dumps(reference))
    return autoeval.Predictions(world / f"weak/{name}_predictions.json", reference=path)


def fit(world, tmp_path, least=0.0):
    rows = [row for row in rows_of(world / "good/val_predictions.json") if row["score"] >= least]
    return autoeval.fit(world / "weak/val_labels.json", given(world, tmp_path, "val", rows))


def estimate(fitted, world, tmp_path, rows):
    images = world / "weak/site_labels.json"
    return fitted.predict(given(world, tmp_path, "site", rows), images=images)


def codes(estimate):
    return [notice.code for notice in estimate.warnings if str(notice).startswith("reference: ")]


@pytest.fixture(scope="module")
def fitted(world, tmp_path_factory):
    return fit(world, tmp_path_factory.mktemp("fit"))


@pytest.fixture(scope="module")
def rows(world):
    return rows_of(world / "good/site_predictions.json")


def test_a_reference_as_in_the_fit_has_no_warning(fitted, world, tmp_path, rows):
    assert fitted.regression_.reference_weight_ > 0  # it is read
    assert codes(estimate(fitted, world, tmp_path, rows)) == []


def test_images_that_a_reference_was_not_run_on_are_left_out(fitted, world, tmp_path, rows):
    half = estimate(fitted, world, tmp_path, [row for row in rows if row["image_id"] % 2])
    assert codes(half) == ["images-not-covered"] and half.n_images == FEW["n_images"] // 2


def test_images_that_the_detector_has_not_seen_are_none_that_the_reference_lacks(
    fitted, world, rows
):
    """With them in the list, the image in which the reference finds nothing was left out, too."""
    site = rows_of(world / "weak/site_labels.json")
    boxes = {**site, "annotations": rows_of(world / "weak/site_predictions.json")}
    size = {name: site["images"][0][name] for name in ("height", "width")}
    others = [{"id": 1000 + k, "file_name": f"other{k}.jpg", **size} for k in range(40)]
    longer = {"images": [*site["images"], *others]}
    reference = [row for row in rows if row["image_id"] != 1]
    files = autoeval.Predictions(boxes, reference=reference)
    estimates = [fitted.predict(files, images=listed) for listed in (site, longer)]
    assert [len(estimated.site) for estimated in estimates] == [FEW["n_images"]] * 2
    assert estimates[0].value == estimates[1].value
    assert [codes(estimated) for estimated in estimates] == [[], []]


def test_numbers_of_a_reference_that_a_fit_guesses_are_warned_of(world, tmp_path, rows):
    """An estimate said so, and the fit, where the reference is weighed, did not."""
    labelled = rows_of(world / "good/val_predictions.json")
    from_0 = [
        [{**row, "category_id": row["category_id"] - 1} for row in of] for of in (labelled, rows)
    ]
    files = given(world, tmp_path, "val", from_0[0])
    fitted = autoeval.fit(world / "weak/val_labels.json", files)
    (guessed,) = [w for w in fitted.fit_result_.warnings if w.code == "category-numbers-guessed"]
    assert guessed.startswith("val_labels: reference: ")
    assert codes(estimate(fitted, world, tmp_path, from_0[1])) == ["category-numbers-guessed"]


def test_a_reference_that_is_cut_is_warned_of(fitted, world, tmp_path, rows):
    cut = estimate(fitted, world, tmp_path, [row for row in rows if row["score"] >= 0.3])
    assert "low-scores-missing" in codes(cut)


def test_boxes_under_those_of_the_fit_are_left_out(world, tmp_path, rows):
    fitted = fit(world, tmp_path, least=0.3)
    floor = fitted.known_looks().reference_floor
    assert floor >= 0.3
    cut = estimate(fitted, world, tmp_path, [row for row in rows if row["score"] >= floor])
    assert estimate(fitted, world, tmp_path, rows).value == cut.value
    saved = tmp_path / "estimator.parquet"
    fitted.save(saved)
    loaded = autoeval.AccuracyEstimator.load(saved)
    assert estimate(loaded, world, tmp_path, rows).value == cut.value


def test_a_reference_that_is_read_for_a_cut_detector_alone_is_asked_for(tmp_path):
    """Its own boxes, a little surer: no stronger than the detector, but than a cut one."""

    def written(name, rows):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(rows))
        return path

    def surer(name):
        rows = rows_of(SAMPLE / f"{name}_predictions.json")
        return written(name, [row | {"score": min(1.0, 1.1 * row["score"])} for row in rows])

    labelled = autoeval.Predictions(SAMPLE / "val_predictions.json", reference=surer("val"))
    fitted = autoeval.fit(SAMPLE / "val.json", labelled)
    assert fitted.regression_.reference_weight_ == 0
    assert fitted.at_floor(0.25).regression_.reference_weight_ > 0
    whole = SAMPLE / "new_predictions.json"
    cut = written("sites/cut.json", [row for row in rows_of(whole) if row["score"] >= 0.25])
    assert fitted.predict(whole).value > 0
    with pytest.raises(InputError, match="fitted with a reference detector"):
        fitted.predict(cut)
    with pytest.raises(InputError, match="fitted with a reference detector"):
        autoeval.monitor(fitted, cut.parent, by="folder", work_dir=tmp_path / "work")
    assert fitted.predict(autoeval.Predictions(cut, reference=surer("new"))).value > 0


def test_a_reference_counts_by_words_that_the_detector_does_not_find_here(world, tmp_path):
    """Its boxes of them were left out: an estimate of .33 where .17 are right was one of .14."""
    named = {1: "car", 2: "bus", 3: "van"}

    def in_words(path):
        rows = [{"category": named[row.pop("category_id")], **row} for row in rows_of(path)]
        return [row for row in rows if row["category"] != "van"]

    labels = rows_of(world / "weak/val_labels.json")
    labels["categories"] = [{"id": number, "name": word} for number, word in named.items()]
    (tmp_path / "val.json").write_text(json.dumps(labels))
    (tmp_path / "task.py").write_text(
        "name = 'road'; data_root = '.'; categories = ['vehicle']\n"
        "detector_mapping = {'car': 'vehicle', 'bus': 'vehicle'}\n"
        "seed_sets = [dict(name='val', labels='val.json')]"
    )
    for detector in ("weak", "good"):
        (tmp_path / detector).mkdir()
        rows = in_words(world / detector / "val_predictions.json")
        (tmp_path / detector / "val.json").write_text(json.dumps(rows))
    files = autoeval.Predictions(tmp_path / "weak", reference=tmp_path / "good")
    fitted = autoeval.fit_task(tmp_path / "task.py", files)
    assert fitted.regression_.reference_weight_ > 0
    weak, good = (in_words(world / of / "site_predictions.json") for of in ("weak", "good"))
    cars = [row for row in weak if row["category"] == "car"]
    a_bus = {
        **cars[0],
        "category": "bus",
        "bbox": [1, 1, 5, 5],
        "score": min(cars[0]["score"], 0.02),
    }
    scores = []
    for rows in (cars, [*cars, a_bus]):
        site = fitted.predict(autoeval.Predictions(rows, reference=good)).site
        assert np.count_nonzero(site.reference.label == 0) == len(good)
        scores.append(float(site.row["rows"]["reference_ap"][0]))
    assert scores[0] == pytest.approx(scores[1], abs=1e-3)


def test_boxes_of_other_images_and_of_the_detector_itself_are_warned_of(
    fitted, world, tmp_path, rows
):
    turned = [{**row, "image_id": (row["image_id"] + 1) % FEW["n_images"]} for row in rows]
    assert codes(estimate(fitted, world, tmp_path, turned)) == ["reference-elsewhere"]
    same = rows_of(world / "weak/site_predictions.json")
    assert "same-boxes" in codes(estimate(fitted, world, tmp_path, same[::-1]))


def test_a_reference_in_memory_is_named_by_its_kind(fitted, world, rows):
    """Its rows stood in the message."""
    images = world / "weak/site_labels.json"
    other = [{**{k: row[k] for k in row if "categ" not in k}, "category": "cat"} for row in rows]
    files = autoeval.Predictions(world / "weak/site_predictions.json", reference=other)
    with pytest.raises(InputError, match=r"^the list in memory has other categories"):
        fitted.predict(files, images=images)
    half = [row for row in rows if row["image_id"] % 2]
    files = autoeval.Predictions(world / "weak/site_predictions.json", reference=half)
    (told,) = [w for w in fitted.predict(files, images=images).warnings if "reference: " in w]
    assert "have no box in the list in memory" in told
