import json
from dataclasses import replace

import cv2
import numpy as np
import pytest
from rectangles import RectangleDetector, rectangle_task

from autoeval.counting.label_free import CountingErrorSettings
from autoeval.detections import Detections
from autoeval.estimation.observation.kept_observer import Keeping
from autoeval.estimation.observation.observing import Observer
from autoeval.io.tasks.task import Task
from autoeval.stability.fitting.fit_task import fit_task
from autoeval.stability.metasets.recipe import MetaSetConfig
from autoeval.stability.passes.presets import ScoredSettings

SETTINGS = ScoredSettings(repeats=2)


class WideAndTall(RectangleDetector):
    """Calls boxes wide or tall by their shape."""

    categories = ("wide", "tall", "other")

    @staticmethod
    def _detections(boxes):
        width, height = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
        return Detections(boxes, np.full(len(boxes), 0.9), (height > width).astype(int))


@pytest.fixture
def task(tmp_path):
    """Relabel the rectangle worlds by shape."""
    files = []
    for world in rectangle_task(tmp_path / "worlds").seed_sets:
        content = json.loads(world.labels.read_text())
        content["categories"] = [{"id": 1, "name": "wide"}, {"id": 2, "name": "tall"}]
        for box in content["annotations"]:
            box["category_id"] = 1 + int(box["bbox"][3] > box["bbox"][2])
        world.labels.write_text(json.dumps(content))
        files.append(replace(world, mapping={"wide": "wide", "tall": "tall"}))
    return Task("shapes", ("wide", "tall"), tuple(files))


def test_a_task_of_two_categories_is_estimated_by_category(task, tmp_path):
    observer = Observer(WideAndTall(), task, SETTINGS)
    fit = fit_task(
        observer,
        task.load_seed_sets(),
        Keeping(tmp_path / "work"),
        meta_set=MetaSetConfig(n_sets=1, n_images=4),
        methods=["bos"],
    )
    for name in ("mAP", "mAP50", "mAP75", "bos", "ac"):
        assert {f"{name}/wide", f"{name}/tall"} <= set(fit.table_)
    own = fit.table_[fit.table_["kind"] == "seed"]
    both = own[["mAP/wide", "mAP/tall"]].mean(axis=1)
    np.testing.assert_allclose(own["mAP"], both)
    folder = tmp_path / "new"
    folder.mkdir()
    for k in range(3):
        image = np.full((64, 64, 3), 20, np.uint8)
        image[10:20, 10 : 40 + k] = 200
        image[30 : 60 - k, 40:50] = 200
        cv2.imwrite(str(folder / f"{k}.png"), image)
    estimate = fit.predict(images=folder)
    assert set(estimate.per_category) == {"wide", "tall"}
    assert all(0 <= of["value"] <= 1 for of in estimate.per_category.values())
    assert "not-evaluated" not in {warning.code for warning in fit.fit_result_.warnings}
    assert "wide: " in str(estimate) and "tall: " in str(estimate)
    assert "estimate/mAP/wide" in estimate.to_dict()
    assert "tall" in estimate.to_pandas()["category"].tolist()


def test_a_counting_error_is_of_all_categories_together(task, tmp_path):
    """A method that cannot be fitted beside the first is a note: all images have been scored."""
    fit = fit_task(
        Observer(WideAndTall(), task, replace(SETTINGS, measures=(CountingErrorSettings(),))),
        task.load_seed_sets(),
        Keeping(tmp_path / "work"),
        meta_set=MetaSetConfig(n_sets=1, n_images=4),
        methods=["bos", "fd"],
        target="count_mae",
    )
    estimate = fit.predict(images=tmp_path / "worlds" / "w1" / "images")
    assert np.isfinite(estimate.value) and not estimate.per_category
    assert any("fd was not fitted" in text for text in fit.fit_result_.warnings)
    assert "fd" not in fit.predict_others(estimate.site)


def test_a_category_that_the_detector_lacks_is_named(task, tmp_path):
    """Its average precision of 0 halves the accuracy of all sites."""

    class Wide(WideAndTall):
        categories = ("wide", "high", "other")

    fit = fit_task(
        Observer(Wide(), task, SETTINGS),
        task.load_seed_sets(),
        Keeping(tmp_path / "work"),
        meta_set=MetaSetConfig(n_sets=1, n_images=4),
        methods=["bos"],
    )
    own = fit.table_[fit.table_["kind"] == "seed"]
    np.testing.assert_allclose(own["mAP"], own["mAP/wide"] / 2)
    assert "category-not-known" in {warning.code for warning in fit.fit_result_.warnings}


@pytest.mark.parametrize(
    ("mapping", "n_warnings"),
    [
        ({"tall": "wide", "tal": "wide"}, 1),  # a typing error
        ({"tall": "wide", "Tall": "wide"}, 0),  # another spelling
        ({"high": "wide", "broad": "wide"}, 0),  # words of other detectors; "wide" is its own
    ],
)
def test_a_word_that_the_detector_lacks_is_named(mapping, n_warnings, task, tmp_path):
    """Boxes under the word that was meant would be missed at all sites."""
    task = replace(task, categories=("wide",), detector_mapping=mapping)
    task = replace(
        task, seed_sets=tuple(replace(s, mapping={"wide": "wide"}) for s in task.seed_sets)
    )
    fit = fit_task(
        Observer(WideAndTall(), task, SETTINGS),
        task.load_seed_sets(),
        Keeping(tmp_path / "work"),
        meta_set=MetaSetConfig(n_sets=1, n_images=4),
        methods=["bos"],
    )
    found = [w.code for w in fit.fit_result_.warnings].count("word-not-known")
    assert found == n_warnings
