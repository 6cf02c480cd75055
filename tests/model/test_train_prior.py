"""The shipped priors are those that training on the shipped tables gives."""

import json

import numpy as np
import pandas as pd
import pytest

from autoeval.model.pair_table import FEATURES
from autoeval.model.train_prior import (
    calibration_coefficients,
    described,
    enough,
    fit_prior,
    operating_point_prior,
    quarters,
    read_calibrations,
    read_operating_points,
    read_scores,
)
from autoeval.runtime.files import shipped_config


def shipped(name):
    return json.loads(shipped_config(name).read_text())


def regression_of(content, floor, target):
    (part,) = (part for part in content["floors"] if part["floor"] == floor)
    (found,) = (of for of in part["regressions"] if of["target"] == target)
    return {name: found[name] for name in ("scores", "prior")}


@pytest.mark.parametrize(("floor", "target"), [(0.05, "mAP"), (0.3, "mAP50")])
def test_the_shipped_prior_is_trained_on_the_shipped_tables(floor, target):
    fitted = described(fit_prior(read_scores(floor), target=target))
    expected = regression_of(shipped("panel_prior.json"), floor, target)
    for name, values in expected["scores"].items():
        assert fitted["scores"][name] == pytest.approx(values, abs=3e-4)
    for name in ("intercept", "spread", "group_category_share", "group_slope_share"):
        assert fitted["prior"][name] == pytest.approx(expected["prior"][name], abs=2e-3)


def test_the_shipped_prior_of_recall_is_trained_on_the_shipped_tables():
    fitted = described(operating_point_prior("recall", read_operating_points()))
    expected = regression_of(shipped("operating_point_prior.json"), 0.05, "recall")
    assert fitted["prior"]["intercept"] == pytest.approx(expected["prior"]["intercept"], abs=2e-3)
    assert fitted["prior"]["spread"] == pytest.approx(expected["prior"]["spread"], abs=2e-3)


def test_the_shipped_calibration_is_the_mean_of_the_detectors_with_three_times_their_variance():
    calibrations = read_calibrations()
    boxes = calibration_coefficients(calibrations)["boxes"]
    assert boxes == shipped("panel_prior.json")["boxes"]
    labelled = np.array([of[0].boxes[0] for of in calibrations.values()])  # at IoU .5
    np.testing.assert_allclose(boxes[0]["mean"], labelled.mean(axis=0), atol=6e-4)
    variance = 3 * labelled.var(axis=0, ddof=1)
    np.testing.assert_allclose(np.diag(boxes[0]["detectors"]), variance, atol=6e-5)


def test_a_known_line_is_found_in_the_table_of_a_made_panel():
    """Five detectors at 40 sites on the line .3 + .2 z, with small errors of each pair."""
    rng = np.random.default_rng(0)
    parts = []
    for detector in "abcde":
        x = rng.uniform(0, 1, 40)
        rows = pd.DataFrame({name: rng.normal(size=40) for name in FEATURES})
        rows[FEATURES[0]] = x
        z = (x - 0.5) / np.sqrt(1 / 12)  # in units of the standard deviation
        sites = [f"s{k}" for k in range(40)]
        parts.append(
            rows.assign(
                detector=detector,
                kind="seed",
                group=sites,
                source=sites,
                category="vehicle",
                n_images=10_000,
                n_boxes=100,
                n_held=100,
                mAP=0.3 + 0.2 * z + rng.normal(0, 0.01, 40),
            )
        )
    prior = fit_prior(pd.concat(parts, ignore_index=True))
    assert prior.intercept == pytest.approx(0.3, abs=0.02)
    assert prior.slopes[0] == pytest.approx(0.2, abs=0.01)
    assert prior.slopes[1:] == pytest.approx((0, 0), abs=0.01)


def test_each_group_but_that_of_the_labelled_set_is_in_one_quarter():
    rows = read_scores()
    found = quarters(rows)
    assert set(found) == set(rows["group"]) - {"coco"}
    sizes = np.bincount(list(found.values()))
    assert len(sizes) == 4 and np.ptp(sizes) <= 1


def test_other_categories_count_with_fifteen_boxes_in_ten_images():
    rows = pd.DataFrame(
        {
            "source": ["a", "b", "c", "d"],
            "category": ["person", "dog", "dog", "dog"],
            "n_boxes": [1, 15, 14, 15],
            "n_held": [1, 10, 10, 9],
        }
    )
    assert enough(rows).tolist() == [True, True, False, False]
