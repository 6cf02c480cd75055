"""Sites of a task with two categories: the mean over them is that of the folder."""

import numpy as np
import pandas as pd
import pytest
from monitoring.fake_cameras import find, observe, write_camera

from autoeval.detectors.black_box import BlackBoxDetector
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.pass_settings import PassSettings
from autoeval.estimation.pair_table import pair_rows
from autoeval.estimation.panel_prior import calibration_prior
from autoeval.io.tasks.task import Task
from autoeval.model.calibrated_features import FEATURES
from autoeval.model.calibration import ScoreCalibration

TASK = Task("two", ("car", "person"), (), {"car": "car", "person": "person"})
CALIBRATION = calibration_prior().calibration


def find_two(images):
    boxes, scores, _ = find(images)
    return boxes, scores, [["car" if s > 0.6 else "person" for s in of] for of in scores]


@pytest.fixture
def detector():
    return BlackBoxDetector(find_two, ["car", "person"], name="two")


@pytest.fixture
def fitted(detector):
    rng, rows = np.random.default_rng(0), []
    for k, level in enumerate(np.linspace(0.2, 0.8, 8)):
        row = {"source": f"s{k}", "kind": "seed", "sample_set": "", "repeat": 0, "n_images": 80}
        for word in TASK.categories:
            near = dict(zip(FEATURES, (level, level, -1.8 + rng.normal(0, 0.05)), strict=True))
            row |= {f"{name}/{word}": value for name, value in near.items()}
            row |= {f"{m}/{word}": level for m in ("mAP", "mAP50", "mAP75")}
        rows.append(row)
    context = Observer(detector, TASK, PassSettings()).context()
    table = pd.DataFrame(rows)
    return AccuracyEstimator().fit_rows(table, context=context, calibration=CALIBRATION)


def test_the_mean_over_two_categories_is_that_of_the_folder(tmp_path, detector, fitted):
    for k, (name, level) in enumerate((("gate", 190), ("yard", 150), ("roof", 120))):
        write_camera(tmp_path / "images" / name, 9, level, seed=k, at=1_770_000_000)
    table, _ = observe(tmp_path / "images", tmp_path / "work", fitted, detector)
    sites = table.sites.set_index("group")
    for name in sites.index:
        expected = fitted.predict(detector, images=tmp_path / "images" / name)
        got = sites.loc[name, ["estimate", "lower", "upper"]].to_numpy(float)
        assert got == pytest.approx([expected.value, expected.lower, expected.upper], abs=1e-9)
    assert table.drawn.mean(axis=0) == pytest.approx(
        [sites.loc[name, "raw"] for name in table.names], abs=0.01
    )


@pytest.mark.parametrize(
    "named", [{"car": ["car"]}, {"car": ["car"], "anyone": ["person"]}], ids=["one", "two"]
)
def test_named_categories_are_estimated_as_any_are(named, tmp_path, detector, fitted):
    write_camera(tmp_path / "images" / "gate", 9, 160, at=1_770_000_000)
    rows = pair_rows(fitted.table_).assign(kind="category")
    labelled = AccuracyEstimator().fit_rows(rows, context=fitted.context_, calibration=CALIBRATION)
    folders = tmp_path / "images", tmp_path / "work"
    (row,) = observe(*folders, labelled, detector, categories=named)[0].sites.to_dict("records")
    expected = labelled.predict(detector, images=tmp_path / "images", categories=named)
    got = [row["estimate"], row["lower"], row["upper"]]
    assert got == pytest.approx([expected.value, expected.lower, expected.upper], abs=1e-9)


def test_an_estimator_with_another_calibration_scores_again(tmp_path, detector, fitted):
    write_camera(tmp_path / "images" / "gate", 6, 160, at=1_770_000_000)
    less_sure = ScoreCalibration(CALIBRATION.boxes - [0.5, 0, 0], CALIBRATION.missed)
    other = AccuracyEstimator().fit_rows(
        fitted.table_, context=fitted.context_, calibration=less_sure
    )
    (before,), (estimate,) = (
        observe(tmp_path / "images", tmp_path / "work", fitted, detector, estimator=of)[0].sites[
            "estimate"
        ]
        for of in (other, fitted)
    )
    expected = fitted.predict(detector, images=tmp_path / "images" / "gate")
    assert before < estimate == pytest.approx(expected.value, abs=1e-9)
