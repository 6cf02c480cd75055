"""The same boxes from a network and from results files give the same scores, to the last bit."""

import json
from dataclasses import replace

import numpy as np
import pytest
from monitoring.fake_cameras import detector, estimator, write_camera

from autoeval.detections import Detections
from autoeval.estimation.given_boxes import Predictions
from autoeval.io.image_folder import load_image_folder
from autoeval.model.calibrated_features import FEATURES
from autoeval.model.calibration import ScoreCalibration
from autoeval.monitoring.order.group_rows import score_group
from autoeval.monitoring.periods import Clock
from autoeval.monitoring.site_categories import SiteCategories
from autoeval.monitoring.site_records import RecordStore
from autoeval.monitoring.watch_plan import WatchPlan
from autoeval.monitoring.watch_sites import watch_predictions, watch_sites
from autoeval.sites.reference_statistics import ReferenceStatistics

LEVELS = {"gate": 220, "yard": 140, "roof": 90}


class TwoSizes:
    """The stand-in detector with a faint box an image, and a second pass that moves all boxes."""

    def __init__(self):
        self._inner = detector()

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def observe(self, images, image_ids, **options):
        return [_of(one) for one in self._inner.observe(images, image_ids, **options)]


def _of(one):
    boxes = np.concatenate([one.clean.boxes, [[1, 1, 3, 3]]])
    scores, labels = np.append(one.clean.scores, 0.02), np.append(one.clean.labels, 0)
    clean = Detections(boxes, scores, labels)
    moved = clean.boxes + np.float32(1), clean.scores * np.float32(0.75)
    return replace(one, clean=clean, half_size=replace(clean, boxes=moved[0], scores=moved[1]))


def results(records, name):
    return [
        {
            "file_name": record.file_name.split("/")[1],
            "category": "car",
            "bbox": [float(v) for v in (*box[:2], *(box[2:] - box[:2]))],
            "score": float(score),
        }
        for record in records
        for found in [getattr(record, name)]
        for box, score in zip(found.boxes, found.scores, strict=True)
    ]


@pytest.fixture
def both(tmp_path):
    for k, (name, level) in enumerate(LEVELS.items()):
        write_camera(tmp_path / "images" / name, 12, level, seed=k, at=1_770_000_000)
    fitted, store = estimator(), RecordStore(tmp_path / "network")
    fitted.context_["boxes"] = ReferenceStatistics(("car",), {}, 0.02, 4, 1.0).to_dict()
    network = watch_sites(
        load_image_folder(tmp_path / "images"),
        fitted,
        TwoSizes(),
        store,
        WatchPlan(),
        clock=Clock("file"),
        signals=lambda image: {},
    )
    index = store.index()
    for name in LEVELS:
        records = store.read(index[index["group"] == name])
        for size in ("clean", "half_size"):
            (tmp_path / size).mkdir(exist_ok=True)
            (tmp_path / size / f"{name}.json").write_text(json.dumps(results(records, size)))
        height, width = records[0].size
        listed = [
            {"id": k, "file_name": of.file_name.split("/")[1], "height": height, "width": width}
            for k, of in enumerate(records)
        ]
        (tmp_path / "lists").mkdir(exist_ok=True)
        content = {"images": listed, "annotations": [], "categories": []}
        (tmp_path / "lists" / f"{name}.json").write_text(json.dumps(content))
    files = RecordStore(tmp_path / "files")
    watched = watch_predictions(
        Predictions(tmp_path / "clean", tmp_path / "half_size"),
        fitted,
        files,
        WatchPlan(),
        images_list=tmp_path / "lists",
    )
    return fitted, (store, network), (files, watched)


def test_scores_and_estimates_are_the_same_to_the_last_bit(both):
    fitted, (_, network), (_, files) = both
    assert files.warnings == ()
    names = [*fitted.regression_.features_, "n_images", "n_boxes", "estimate", "lower", "upper"]
    rows = [of.table.sites.set_index("group").sort_index()[names] for of in (network, files)]
    assert rows[0].map(np.isfinite).all().all()
    assert rows[0].to_numpy().tolist() == rows[1].to_numpy().tolist()


def test_the_boxes_of_an_image_are_the_same(both):
    _, (network, _), (files, _) = both
    one, other = (
        {record.file_name: record for record in store.read(store.index())}
        for store in (network, files)
    )
    assert one.keys() == other.keys() and len(one) == 36
    for name in one:
        for size in ("clean", "half_size"):
            a, b = getattr(one[name], size), getattr(other[name], size)
            order = [np.lexsort((*x.boxes.T, x.scores)) for x in (a, b)]
            assert a.boxes[order[0]].tobytes() == b.boxes[order[1]].tobytes()
            assert a.scores[order[0]].tobytes() == b.scores[order[1]].tobytes()


def test_a_score_that_is_wrong_would_be_seen(both):
    """The comparison above can fail: with another calibration the scores differ."""
    fitted, (store, _), _ = both
    records = store.read(store.index())
    own = fitted.calibration_
    less_sure = ScoreCalibration(own.boxes - [0.5, 0, 0], own.missed)
    rows = [
        score_group(records, SiteCategories(["car"]), FEATURES, calibration=calibration)
        for calibration in (own, less_sure)
    ]
    assert rows[0] != rows[1]
