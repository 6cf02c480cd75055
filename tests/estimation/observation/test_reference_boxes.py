"""A reference detector as a detector and by its predictions, through a stand-in detector."""

import json
import pickle
from copy import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from brightness import BRIGHT, BrightnessDetector, write_table

from autoeval import Detector, fit
from autoeval.api.options import given_boxes_of
from autoeval.detections import Detections
from autoeval.detectors.black_box import BlackBoxDetector
from autoeval.detectors.detector_spec import DetectorSpec
from autoeval.errors import InputError
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.pass_settings import PassSettings
from autoeval.estimation.observation.reference_boxes import (
    DetectorReference,
    PredictionsReference,
    load_reference,
)
from autoeval.estimation.observation.samples import UnlabelledSamples
from autoeval.io.image_lists import ImageFile
from autoeval.io.labels.content import NO_BOXES
from autoeval.io.predictions.formats import SUFFIXES
from autoeval.io.tasks.seed_set import NO_PIXELS, Sample, load_seed_set
from autoeval.io.tasks.task import Task
from autoeval.stability.metasets import MetaSetConfig, SampleSet, own_images
from autoeval.stability.metasets.recipe import draw_recipes
from autoeval.stability.passes.presets import light
from autoeval.stability.passes.tally import scored_rows

SEEN = tuple(BRIGHT)[:4]


class Sharp(BrightnessDetector):
    """Knows half of the words, in another order, and is right about them."""

    categories = SEEN[::-1]
    fingerprint = "sharp"

    def observe(self, images, image_ids, **options):
        return [self._known(e) for e in super().observe(images, image_ids)]

    def _known(self, evidence):
        found = evidence.clean[evidence.clean.labels < len(SEEN)]
        level = 255 - np.array(list(BRIGHT.values()))[found.labels]
        boxes = found.boxes - (level / 25)[:, None]
        sure = np.full(len(boxes), 0.9)
        labels = len(SEEN) - 1 - found.labels
        return type(evidence)(evidence.image_id, (1, 1), Detections(boxes, sure, labels))


def write_predictions(folder, labels):
    """Write what is labelled as the boxes of a reference detector."""
    content = json.loads(labels.read_text())
    words = {c["id"]: c["name"] for c in content["categories"]}
    boxes = [
        {**{k: a[k] for k in ("image_id", "bbox", "category_id")}, "score": 0.9}
        | {"category": words[a["category_id"]]}
        for a in content["annotations"]
    ]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{labels.stem}.json").write_text(json.dumps(boxes))
    return folder


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return write_table(tmp_path_factory.mktemp("table"))


def test_a_detector_that_is_right_makes_the_score_the_accuracy(table):
    run = Detector(BrightnessDetector(), reference=DetectorReference(Sharp()))
    rows = fit(table[0], run, img_dir=table[1]).table_
    rows = rows.set_index("category")
    # its calibrated boxes are nearly certain, not quite
    known, unknown = rows.loc[list(SEEN)], rows.drop(index=list(SEEN))
    np.testing.assert_allclose(known["reference_ap"], known["mAP"], atol=0.05)
    assert unknown["reference_ap"].isna().all()


def test_another_reference_than_that_of_the_fit_is_refused_where_both_are_run(table):
    """Its agreement with the detector is another; it was read by the calibration of the first."""
    references = []
    for setting in (1, 1, 2):
        sharp = Sharp()
        sharp.settings, sharp.fingerprint = {"setting": setting}, f"sharp {setting}"
        references.append(Detector(BrightnessDetector(), reference=DetectorReference(sharp)))
    fitted = fit(table[0], references[0], img_dir=table[1])
    assert fitted.predict(references[1], images=table[1]).value > 0
    with pytest.raises(InputError, match="reference: fitted with 'sharp 1', now 'sharp 2'"):
        fitted.predict(references[2], images=table[1])


@pytest.mark.parametrize(("settings", "codes"), [(None, 1), ({"size": 1}, 0)])
def test_an_estimate_notes_a_reference_that_states_nothing(table, settings, codes):
    def find(images):
        return [[[0, 0, 9, 9]]] * len(images), [[0.9]] * len(images), [["cup"]] * len(images)

    reference = DetectorReference(BlackBoxDetector(find, ["cup"], settings=settings))
    run = Detector(BrightnessDetector(), reference=reference)
    estimate = fit(table[0], run, img_dir=table[1]).predict(run, images=table[1])
    assert [w.code for w in estimate.warnings].count("detector-not-identified") == codes


def test_words_of_a_reference_may_be_spelt_otherwise_than_those_of_the_detector(table):
    """Boxes of such words were left out where the detector is run, and counted in files."""

    class Capitals(Sharp):
        categories = tuple(word.upper() for word in Sharp.categories)

    features = [
        fit(
            table[0],
            Detector(BrightnessDetector(), reference=DetectorReference(reference)),
            img_dir=table[1],
        ).table_["reference_ap"]
        for reference in (Sharp(), Capitals())
    ]
    assert features[0].notna().any()
    np.testing.assert_array_equal(*features)


OWN = """
import threading
from autoeval.detectors import BlackBoxDetector

lock = threading.Lock()  # goes to no other process

def find(images):
    with lock:
        n = len(images)
        return [[[1, 2, 5, 7]]] * n, [[{score}]] * n, [["cup"]] * n

detector = BlackBoxDetector(find, ["cup"], settings={{"score": {score}}})
"""


def test_a_named_detector_is_loaded_anew_in_another_process(tmp_path):
    (tmp_path / "own.py").write_text(OWN.format(score=0.5))
    reference = load_reference(DetectorSpec(f"{tmp_path}/own.py:detector"))
    sent = pickle.dumps(PassSettings(reference=reference))
    arrived = pickle.loads(sent).reference
    assert arrived.digest == reference.digest
    image = np.zeros((9, 9, 3), np.uint8)
    sample = Sample("7.jpg", image, *NO_BOXES)
    found = arrived.find(Task("t", ("cup",), ()), [sample], sample)
    assert (found.boxes.tolist(), found.scores.tolist()) == ([[1, 2, 5, 7]], [0.5])
    (tmp_path / "own.py").write_text(OWN.format(score=0.9))
    other = pickle.loads(sent).reference
    with pytest.raises(InputError, match=f"this run is of {reference.digest}"):
        other.find(Task("t", ("cup",), ()), [sample], sample)


def test_a_detector_that_is_run_loads_its_reference_once(tmp_path):
    """Each use loaded the network again: a fit twice or more."""
    specs = []
    for score in (0.5, 0.9):
        path = tmp_path / f"{score}.py"
        path.write_text(OWN.format(score=score))
        specs.append(DetectorSpec(f"{path}:detector"))
    run = Detector(BrightnessDetector(), reference=specs[0])
    reference = run.loaded_reference
    assert run.loaded_reference is reference and run.observer().settings.reference is reference
    other, none = copy(run), copy(run)
    other.reference, none.reference = specs[1], None
    assert other.loaded_reference.digest == specs[1]().fingerprint != reference.digest
    assert none.loaded_reference is None and run.loaded_reference is reference


def test_a_reference_that_is_loaded_is_run():
    """Its ``find`` was taken for that of a `Reference`."""
    loaded = BrightnessDetector()
    of_options = given_boxes_of(None, {"detector": BrightnessDetector(), "reference": loaded})
    for run in (Detector(BrightnessDetector(), reference=loaded), of_options):
        assert isinstance(run.loaded_reference, DetectorReference)
        assert run.loaded_reference.detector is loaded


@pytest.mark.parametrize("as_folder", [True, False])
def test_predictions_teach_as_their_detector_does(table, tmp_path, as_folder):
    labels, images = table
    folder = write_predictions(tmp_path, labels)
    reference = PredictionsReference(folder if as_folder else folder / "annotations.json")
    fitted = fit(labels, Detector(BrightnessDetector(), reference=reference), img_dir=images)
    np.testing.assert_allclose(fitted.table_["reference_ap"], fitted.table_["mAP"], atol=0.05)
    assert "reference_ap" in fitted.regression_.features_


def test_a_folder_holds_predictions_in_any_format(tmp_path):
    """Their digest is that of all files that are read, so that a change of any is seen."""
    box = {"file_name": "7.jpg", "category": "cup", "score": 0.9}
    box |= {"x1": 1.0, "y1": 2.0, "x2": 5.0, "y2": 7.0}
    pd.DataFrame([box]).to_parquet(tmp_path / "new images.parquet")
    sample = Sample("7.jpg", NO_PIXELS, *NO_BOXES)
    samples = UnlabelledSamples([ImageFile("7.jpg", tmp_path / "7.jpg")])
    reference = PredictionsReference(tmp_path)
    before = reference.digest
    found = reference.find(Task("t", ("cup",), ()), samples, sample)
    assert found.boxes.tolist() == [[1, 2, 5, 7]]
    (tmp_path / "yard.jsonl").write_text("")
    assert PredictionsReference(tmp_path).digest != before


@pytest.mark.parametrize("end", SUFFIXES)
def test_a_file_of_boxes_is_no_name_of_a_reference_detector(end, tmp_path):
    file = tmp_path / f"boxes{end}"
    file.write_text("")
    run = given_boxes_of(None, {"detector": "x.onnx", "reference": [str(file)]})
    assert run.reference.path == file and run.reference.names == {}


def test_who_was_fitted_with_a_reference_needs_one_at_a_new_place(table, tmp_path):
    labels, images = table
    reference = PredictionsReference(write_predictions(tmp_path, labels))
    fit(labels, Detector(BrightnessDetector(), reference=reference), img_dir=images).save(
        tmp_path / "e.parquet"
    )
    estimator = AccuracyEstimator.load(tmp_path / "e.parquet")
    task = Task("t", tuple(BRIGHT), ())
    context = Observer(BrightnessDetector(), task, replace(light(), reference=reference)).context()
    on_task = AccuracyEstimator(estimator.rows_, context_=context)
    with pytest.raises(InputError, match="fitted with a reference detector"):
        estimator.predict(BrightnessDetector(), images=images)
    with pytest.raises(InputError, match="fitted with a reference detector"):
        on_task.predict(BrightnessDetector(), images=images)
    here = PredictionsReference(tmp_path / "annotations.json")
    asked = {"cup": ["cup"], "spoon": ["spoon"]}
    found = estimator.predict(
        Detector(BrightnessDetector(), reference=here), images=images, categories=asked
    ).per_category
    assert found["cup"]["value"] > found["spoon"]["value"]


def test_a_reference_with_other_categories_is_told(table):
    other = Sharp()
    other.categories = ("cat", "dog", "cow", "hen")
    with pytest.raises(InputError, match=r"reference detector cannot be used here.*cat, dog"):
        run = Detector(BrightnessDetector(), reference=DetectorReference(other))
        fit(table[0], run, img_dir=table[1])


@pytest.mark.rare  # sample sets import torch
def test_predictions_are_of_images_as_they_are_and_of_one_place_each(table, tmp_path):
    labels, images = table
    seed_set = load_seed_set("annotations", labels, images, tuple(BRIGHT), {w: w for w in BRIGHT})
    own = SampleSet(seed_set, own_images(seed_set))
    reference = PredictionsReference(write_predictions(tmp_path / "t", labels))
    settings = replace(light(), reference=reference)
    observer = Observer(BrightnessDetector(), Task("t", tuple(BRIGHT), ()), settings)
    assert scored_rows(observer, own)[0]["hard_reference_ap@0.30"] > 0.4
    (recipe,) = draw_recipes(seed_set, MetaSetConfig(n_sets=1, n_images=4), seed=0)
    with pytest.raises(InputError, match="transformed"):
        scored_rows(observer, SampleSet(seed_set, recipe))
    write_predictions(tmp_path / "u", labels)
    with pytest.raises(InputError, match=r"one file annotations\.json"):
        PredictionsReference(tmp_path).find(observer.task, own, own[0])
    with pytest.raises(InputError, match="No boxes of a reference detector"):
        _ = PredictionsReference(tmp_path / "nowhere").digest


def with_file(folder, boxes, images=None):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "boxes.json").write_text(json.dumps(boxes))
    return Detector(BrightnessDetector(), reference=folder / "boxes.json")


def boxes_of_labels(labels, tmp_path):
    """The labels as boxes of a reference, by file names; scores from .5 on."""
    rows = json.loads(next(write_predictions(tmp_path, labels).glob("*.json")).read_text())
    for k, row in enumerate(rows):
        row |= {"file_name": f"{row.pop('image_id')}.png", "score": 0.5 + 0.4 * k / len(rows)}
    return rows


def test_boxes_of_a_reference_under_those_of_the_fit_are_left_out_as_of_files(table, tmp_path):
    labels, images = table
    rows = boxes_of_labels(labels, tmp_path / "rows")
    fitted = fit(labels, with_file(tmp_path / "fit", rows), img_dir=images)
    assert fitted.looks_.reference_floor == 0.5
    low = [{**row, "bbox": [1, 1, 9, 9], "score": 0.3} for row in rows]
    whole, more = (
        fitted.predict(with_file(tmp_path / name, boxes), images=images)
        for name, boxes in {"whole": rows, "more": [*rows, *low]}.items()
    )
    assert more.value == whole.value and len(more.site.reference) == len(rows)


def test_images_that_the_file_of_a_reference_is_not_of_are_left_out_as_of_files(tmp_path):
    """All of their objects would be ones that the reference did not find."""
    labels, images = write_table(tmp_path / "table", n_images=24)
    rows = boxes_of_labels(labels, tmp_path / "rows")
    for row in rows[::8]:
        row["score"] = 0.01  # from which on a detector finds something everywhere
    half = [row for row in rows if int(row["file_name"].partition(".")[0]) % 2]
    fitted = fit(labels, with_file(tmp_path / "fit", half), img_dir=images)
    (site,) = fitted.sites_.read()
    assert {image.image_id for image in site.boxes.images} == {str(k) for k in range(1, 24, 2)}
    estimate = fitted.predict(with_file(tmp_path / "new", half), images=images)
    assert estimate.n_images == 12
    told = [w.code for w in estimate.warnings if w.startswith("reference: ")]
    assert told == ["images-not-covered"]
    listed = {**json.loads(labels.read_text()), "annotations": half}  # it has seen all of them
    estimate = fitted.predict(with_file(tmp_path / "listed", listed), images=images)
    assert estimate.n_images == 24


def test_files_of_one_name_in_two_folders_are_told_apart(tmp_path):
    """As of YOLO labels in subfolders, whose images are named by their paths."""
    labels, images = write_table(tmp_path / "table")
    document, places = json.loads(labels.read_text()), {}
    for image in document["images"]:
        k = image["id"]
        name = places[image["file_name"]] = f"{'ab'[k % 2]}/{(k + 1) // 2}.png"
        (images / name).parent.mkdir(exist_ok=True)
        (images / image["file_name"]).rename(images / name)
        image["file_name"] = name
    rows = boxes_of_labels(labels, tmp_path / "rows")
    labels.write_text(json.dumps(document))
    rows = [{**row, "file_name": places[row["file_name"]]} for row in rows]
    rows_of_fit = fit(labels, with_file(tmp_path / "fit", rows), img_dir=images).table_
    np.testing.assert_allclose(rows_of_fit["reference_ap"], rows_of_fit["mAP"], atol=0.05)
