"""From a labelled set of several categories to estimates of any, through a stand-in detector."""

import json
import re
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
from brightness import BRIGHT, BrightnessDetector, write_table
from labelled_colours import write_colours, write_detector

import autoeval
from autoeval.cli import main
from autoeval.commands.command_line import Invocation
from autoeval.commands.estimate import after_estimate
from autoeval.errors import InputError
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.words import option_of


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    labels, images = write_table(tmp_path_factory.mktemp("table"))
    return autoeval.fit(labels, BrightnessDetector(), img_dir=images)


def test_every_category_is_a_source(fitted, tmp_path):
    table = fitted.table_.set_index("category")
    assert list(table.index) == list(BRIGHT) and set(table["n_images"]) == {12}
    labels = json.loads(write_table(tmp_path / "same")[0].read_text())["annotations"]
    for k, name in enumerate(BRIGHT):
        sides = [np.sqrt(of["area"] / (256 * 128)) for of in labels if of["category_id"] == k + 1]
        assert table.loc[name, "box_size"] == pytest.approx(np.log(sides).mean(), abs=0.03)
    scores = np.array([(level - 100) / 300 for level in BRIGHT.values()])
    assert (np.diff(fitted.calibration_.at_half(scores)) < 0).all()
    assert table["mAP"].iloc[0] > 0.8 > 0.5 > table["mAP"].iloc[-1]
    assert table["expected_ap"].iloc[0] > table["expected_ap"].iloc[-1]


def test_the_lowest_score_of_the_reference_of_a_run_is_known_to_the_fit(fitted, tmp_path):
    """Files of its boxes that begin lower are read from there on, as with a fit on files."""
    labels, images = write_table(tmp_path)
    autoeval.detect(BrightnessDetector(), images, tmp_path / "reference.parquet")
    run = autoeval.Detector(BrightnessDetector(), reference=tmp_path / "reference.parquet")
    looks = autoeval.fit(labels, run, img_dir=images).looks_
    assert looks.reference_floor == looks.floor == fitted.looks_.floor > 0
    assert fitted.looks_.reference_floor == 0


def test_words_for_the_numbers_of_a_reference_count_where_the_detector_is_run(tmp_path):
    """They were read with files of predictions alone, and ignored with a detector that is run."""
    labels = write_colours(tmp_path / "val", 0, n_images=30) / "annotations.json"
    content = json.loads(labels.read_text())
    file_names = {image["id"]: image["file_name"] for image in content["images"]}
    numbers = [category["id"] for category in content["categories"]]
    words = [category["name"] for category in content["categories"]]
    rows = [
        {
            "file_name": file_names[box["image_id"]],
            "category_id": box["category_id"] + 70,
            "bbox": box["bbox"],
            "score": 0.9,
        }
        for box in content["annotations"]
    ]
    (tmp_path / "reference.json").write_text(json.dumps(rows))
    run = {
        "detector": write_detector(tmp_path),
        "img_dir": labels.parent / "images",
        "reference": str(tmp_path / "reference.json"),
    }
    right = {number + 70: word for number, word in zip(numbers, words, strict=True)}
    wrong = {number + 70: word for number, word in zip(numbers, reversed(words), strict=True)}
    fitted = autoeval.fit(labels, **run, reference_names=right)
    assert "reference_ap" in fitted.regression_.features_
    (tmp_path / "words.json").write_text(
        json.dumps([{"category": right[row.pop("category_id")], **row} for row in rows])
    )
    with_words = autoeval.fit(labels, **{**run, "reference": str(tmp_path / "words.json")})
    assert fitted.rows_["reference_ap"].tolist() == with_words.rows_["reference_ap"].tolist()
    misled = autoeval.fit(labels, **run, reference_names=wrong)
    assert "reference_ap" not in misled.regression_.features_


def test_paths_that_are_not_there_are_refused_before_a_detector_is_run(
    fitted, tmp_path, monkeypatch
):
    """Labels, boxes of a reference and of a second detector were read after hours of a network."""
    labels, images = write_table(tmp_path / "new", n_images=2)

    def observe(*_):
        raise AssertionError("the detector was run")

    monkeypatch.setattr(BrightnessDetector, "observe", observe)
    nowhere = str(tmp_path / "nowhere.json")
    with pytest.raises(InputError, match=r"No labels .*nowhere\.json"):
        autoeval.threshold(fitted, images=images, labels=nowhere)
    with pytest.raises(InputError, match=r"No predictions file .*nowhere\.json"):
        autoeval.plan_labels(fitted, images=images, compare=fitted, compare_predictions=nowhere)
    with pytest.raises(InputError, match=r"No boxes of a reference .*nowhere\.json"):
        autoeval.fit(labels, detector=BrightnessDetector(), img_dir=images, reference=nowhere)


def test_categories_with_a_likely_box_are_estimated_by_default(fitted, tmp_path):
    """The confidence of the darkened spoons is .013, that of others .15 or more."""
    _, images = write_table(tmp_path / "new", names=("cup", "pan", "spoon"))
    for path in images.iterdir():
        image = cv2.imread(str(path))
        image[image == BRIGHT["spoon"]] = 104
        cv2.imwrite(str(path), image)
    dark, least = fitted.calibration_.at_half(np.array([4, 45]) / 300)
    assert dark < 0.3 < least
    found = fitted.predict(images=images)
    assert list(found.per_category) == ["cup", "pan"]
    cup, pan = (found.per_category[name]["value"] for name in ("cup", "pan"))
    assert cup > pan
    assert found.value == pytest.approx((cup + pan) / 2, abs=0.05)


def test_any_category_is_estimated_and_the_mean_over_several(fitted, tmp_path):
    _, images = write_table(tmp_path / "new", names=("cup", "spoon"))
    both = {"cup": ["cup"], "spoon": ["spoon"]}
    found = fitted.predict(images=images, categories=both)
    assert list(found.per_category) == ["cup", "spoon"]
    cup, spoon = (found.per_category[name] for name in ("cup", "spoon"))
    assert cup["value"] > spoon["value"] + 0.2
    assert found.value == pytest.approx((cup["value"] + spoon["value"]) / 2, abs=1e-12)
    asked = {"cutlery": ["spoon"]}
    one = fitted.predict(images=images, categories=asked)
    assert one.value == one.per_category["cutlery"]["value"]
    assert one.value == pytest.approx(spoon["value"], abs=0.1)
    (images / "torn.png").write_bytes(b"no image")
    torn = fitted.predict(images=images, categories=asked)
    assert torn.value == one.value and torn.n_images == one.n_images
    assert any(re.search("^1 of .* left out: .*torn.png", warning) for warning in torn.warnings)


@pytest.mark.parametrize("settings", [{"score_thr": 0.3}, {"score_thr": 0.05, "stages": 3}])
def test_a_saved_estimator_knows_its_detector(fitted, tmp_path, settings):
    fitted.save(tmp_path / "e.parquet")
    _, images = write_table(tmp_path / "new", n_images=1)
    other = BrightnessDetector()
    other.settings = settings
    with pytest.raises(InputError, match=rf"detector\.{[*settings][-1]}"):
        AccuracyEstimator.load(tmp_path / "e.parquet").predict(other, images=images)


HOW_LOADED = {
    "reference": "nowhere.parquet",
    "reference_names": {0: "cup"},
    "checkpoint": "nowhere.pth",
    "cfg_options": ["a=1"],
    "device": "nowhere",
    "network_precision": "half",
    "ray_workers": 2,
}
OF_COMPARE = ("reference", "reference_names", "device", "ray_workers")


@pytest.mark.parametrize(
    ("call", "name"),
    [
        *((call, name) for call in ("estimate", "plan_labels", "monitor") for name in HOW_LOADED),
        *(("compare", name) for name in OF_COMPARE),
    ],
)
def test_a_detector_that_is_at_hand_ignores_no_option(fitted, tmp_path, call, name):
    """Of an estimator of this process its own detector was run, whatever was said of it."""
    _, images = write_table(tmp_path / "new", n_images=2)
    run = {"estimators": [fitted, fitted]} if call == "compare" else {"estimator": fitted}
    run |= {"work_dir": tmp_path / "work"} if call == "monitor" else {}
    of_name = "reference" if name == "reference" else option_of(name)
    with pytest.raises(InputError, match=of_name):
        getattr(autoeval, call)(images=images, **run, **{name: HOW_LOADED[name]})


def test_a_named_detector_that_is_at_hand_is_loaded_again_where_it_is_said_how(tmp_path):
    named = write_detector(tmp_path)
    labels = write_colours(tmp_path / "val", 0, n_images=30) / "annotations.json"
    fitted = autoeval.fit(labels, detector=named, img_dir=labels.parent / "images")
    images = labels.parent / "images"
    first = autoeval.estimate(estimator=fitted, images=images, batch_size=2)
    assert first.value == fitted.predict(images=images).value
    with pytest.raises(InputError, match="no checkpoint with"):
        autoeval.estimate(estimator=fitted, images=images, checkpoint="nowhere.pth")


def test_the_images_of_a_fit_made_here_lie_where_they_are_said_to(tmp_path, monkeypatch, capsys):
    """The number is that of `fit` and `estimate` apart; of a COCO JSON they are the new ones."""
    monkeypatch.chdir(tmp_path)
    named = write_detector(tmp_path)
    known, new = (write_colours(tmp_path / name, k) for k, name in enumerate(("known", "new")))
    labels = (known / "annotations.json").rename(tmp_path / "val.json")
    images = (known / "images").rename(tmp_path / "elsewhere")
    here = {"detector": named, "fit_labels": labels, "img_dir": str(images)}
    apart = autoeval.fit(labels, detector=named, img_dir=images)
    expected = autoeval.estimate(estimator=apart, images=new / "images")
    together = autoeval.estimate(images=new / "images", **here)
    assert (together.value, together.lower) == (expected.value, expected.lower)
    words = ["--detector", named, "--fit-labels", str(labels), "--img-dir", str(images)]
    assert main(["estimate", *words, "--images", str(new / "images"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["estimate"]["value"] == expected.value
    with pytest.raises(InputError, match=f"none of .* is in .*{tmp_path.name}"):
        autoeval.estimate(images=new / "annotations.json", **here | {"img_dir": new / "images"})


@pytest.mark.parametrize(
    ("given", "repeated"),
    [
        ({"images": "site"}, False),
        ({"images": "site.json"}, True),
        ({"images": "site.json", "predictions": "boxes.json"}, True),
    ],
)
def test_a_plan_takes_no_folder_of_the_labels_of_the_fit(given, repeated, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = {"fit_labels": "val.json", "predictions": None, "img_dir": "d", **given}
    typed = {"img_dir": ["--img-dir", "d"], "images": ["--images", given["images"]]}
    estimator = SimpleNamespace(target="mAP", assistance_=True)
    estimate = SimpleNamespace(width_warning="wide", n_images=50)
    step = after_estimate(Invocation(options, typed, ""), "e.parquet", estimator, estimate)
    assert ("--img-dir" in step) == repeated


def test_warnings_of_a_detector_that_was_run_speak_of_no_file(fitted, tmp_path):
    """Its images have eight boxes each and none under .01, which of a file would be doubted."""
    _, images = write_table(tmp_path / "new")
    warnings = (*fitted.fit_result_.warnings, *fitted.predict(images=images).warnings)
    assert {"low-scores-missing", "boxes-limited"} <= {warning.code for warning in warnings}
    assert [warning for warning in warnings if re.search(r"\bfiles?\b|export", warning)] == []


@pytest.mark.parametrize("categories", [None, {"mug": [], "drink": ["cup", "pot"]}])
@pytest.mark.parametrize("by_files", [False, True])
def test_labels_that_are_spelt_otherwise_are_of_the_words_of_the_detector(
    fitted, tmp_path, categories, by_files
):
    """Half of the categories were left out where a detector was run, or one that was named."""
    labels, images = write_table(tmp_path / "table")
    boxes = BrightnessDetector()
    if by_files:
        autoeval.detect(boxes, images, tmp_path / "boxes.parquet")
        boxes = tmp_path / "boxes.parquet"
    given = {"categories": categories} | ({} if by_files else {"img_dir": images})
    wanted = autoeval.fit(labels, boxes, **given).table_
    document = json.loads(labels.read_text())
    for category in document["categories"][::2]:
        category["name"] = f" {category['name'].upper()}"
    labels.write_text(json.dumps(document))
    spelt = autoeval.fit(labels, boxes, **given)
    np.testing.assert_array_equal(spelt.table_["mAP"], wanted["mAP"])
    (site,) = spelt.sites_.read()
    assert "words-spelt-otherwise" in [w.code for w in (*site.left_out, *spelt.looks_.warnings)]


def test_few_labels_are_refused_before_the_detector_is_run(tmp_path):
    """By the rule of prediction files: 8 boxes in 5 images of one category or more."""
    labels, images = write_table(tmp_path / "few", n_images=7)  # a box of each category an image
    detector = BrightnessDetector()
    detector.observe = None
    with pytest.raises(InputError, match="No category of annotations has 8 boxes in 5 images"):
        autoeval.fit(labels, detector, img_dir=images)
    labels, images = write_table(tmp_path / "enough", n_images=8, names=("cup",))
    assert len(autoeval.fit(labels, BrightnessDetector(), img_dir=images).table_) == 1


def test_bad_input(fitted, tmp_path):
    labels, images = write_table(tmp_path / "nothing", names=())
    with pytest.raises(InputError, match="no word in common"):
        autoeval.fit(labels, BrightnessDetector(), img_dir=images)
    foreign = BrightnessDetector()
    foreign.categories = tuple("abcdefghi")
    with pytest.raises(InputError, match=r"no word in common.*--category") as refused:
        autoeval.fit(labels, foreign, img_dir=images)
    assert "--classes" not in str(refused.value)
    foreign.categories = tuple("01234567")  # a network whose labels have no names
    with pytest.raises(InputError, match=r"no word in common.*--classes FILE"):
        autoeval.fit(labels, foreign, img_dir=images)
    with pytest.raises(InputError, match="words of the detector but got wok"):
        fitted.predict(images=images, categories={"wok": ["wok"]})
    empty = tmp_path / "empty" / "images"
    empty.mkdir(parents=True)
    for k in range(3):
        cv2.imwrite(str(empty / f"{k}.png"), np.full((64, 64, 3), 20, np.uint8))
    nothing = fitted.predict(images=empty)
    assert nothing.value != nothing.value and nothing.site.nothing_found
    assert "nothing found in 1 image" in str(nothing) and "sampling error" not in str(nothing)


@pytest.mark.parametrize(
    "categories",
    [None, {"spoon": ["cup"]}, {"cup": ["cup", "mug"]}],
    ids=["of the labels", "named as another word", "of two words"],
)
def test_boxes_of_other_words_are_known_and_do_not_count_as_with_files(tmp_path, categories):
    """The floor of a fit was that of its categories alone, and a word that is the name of a
    category counted in it, too.
    """
    labels, images = write_table(tmp_path)
    content = json.loads(labels.read_text())
    rows = [row for row in content["annotations"] if row["category_id"] in (1, 2)]
    few = tmp_path / "few.json"
    of_rows = {"annotations": rows, "categories": content["categories"][:2]}
    few.write_text(json.dumps({**content, **of_rows}))
    boxes = tmp_path / "boxes.parquet"
    autoeval.detect(BrightnessDetector(), images, boxes)
    detector = autoeval.Detector(BrightnessDetector(), reference=boxes)
    run = autoeval.fit(few, detector, img_dir=images, categories=categories)
    given = autoeval.Predictions(boxes, reference=boxes)
    by_files = autoeval.fit(few, given, categories=categories)
    assert run.looks_.floor == by_files.looks_.floor < 0.2 < run.sites_.sets[0].boxes.floor
    of_all_boxes = ["n_boxes", "most_boxes", "highest", "frequencies", "confident"]
    for name in [*of_all_boxes, "reference_floor"]:
        assert getattr(run.looks_, name) == getattr(by_files.looks_, name)
    columns = ["category", "n_boxes", "expected_ap", "mAP", "mAP50"]
    assert run.table_[columns].values.tolist() == by_files.table_[columns].values.tolist()
    estimates = [run.predict(images=images), by_files.predict(boxes)]
    for end in ("value", "lower", "upper"):
        assert getattr(estimates[0], end) == getattr(estimates[1], end)


def test_labelled_words_that_are_left_out_are_noted_once(tmp_path):
    """Of a detector that is run among all that are not mapped, of its file as what it lacks."""
    labels, images = write_table(tmp_path)
    content = json.loads(labels.read_text())
    content["categories"].append({"id": 99, "name": "van"})
    for row in content["annotations"][::9]:
        row["category_id"] = 99
    labels.write_text(json.dumps(content))
    boxes = tmp_path / "boxes.parquet"
    autoeval.detect(BrightnessDetector(), images, boxes)
    options = {"img_dir": images, "categories": ["cup", "spoon"]}
    noted = []
    for detector in (BrightnessDetector(), autoeval.Predictions(boxes)):
        fitted = autoeval.fit(labels, detector, **options)
        codes = {notice.code for notice in fitted.fit_result_.warnings}
        noted.append(sorted(code for code in codes if code.startswith("categories-not")))
    assert noted == [["categories-not-mapped"], ["categories-not-named"]]
