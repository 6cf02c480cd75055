"""Calibration on labelled sets, and rows that it has not seen the labels of."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from autoeval.estimation.calibrating import calibrated_rows, fit_calibration
from autoeval.estimation.category_scores import labelled_rows
from autoeval.estimation.panel_prior import calibration_prior
from autoeval.estimation.site_boxes import SiteBoxes
from autoeval.estimation.training_set import training_set
from tests.made_sites import random_found, truth_from

PRIOR = calibration_prior()


def labelled(name, seed, *, by=None, **options):
    """Boxes whose labels are those of the confident ones, or of those with a high `by`."""
    found = random_found(seed)
    truth = truth_from(found if by is None else replace(found, scores=by(found.scores)))
    made = {"name": name, "everywhere": True, **options}
    return training_set(SiteBoxes(found), truth, **made)


def every_image(sets):
    return [np.ones(len(of.boxes), bool) for of in sets]


def reshuffled(scores):
    return np.random.default_rng(3).permutation(scores)


def test_as_many_boxes_are_expected_to_be_right_as_are():
    sets = [labelled(f"s{k}", k) for k in range(4)]
    calibration = fit_calibration(sets, every_image(sets), PRIOR)
    expected = sum(calibration.at_half(of.boxes.clean.scores).sum() for of in sets)
    assert expected == pytest.approx(sum(of.matches[0][0].sum() for of in sets), rel=0.05)
    low, high = calibration.at_half(np.array([0.1, 0.9]))
    assert low < 0.1 < 0.9 < high


def test_images_that_are_left_out_have_no_part_in_it():
    sets = [labelled("a", 0), labelled("b", 1)]
    images = [np.ones(24, bool), np.zeros(24, bool)]
    other = [sets[0], labelled("b", 1, by=reshuffled)]
    one, two = (fit_calibration(of, images, PRIOR) for of in (sets, other))
    assert one.to_dict() == two.to_dict()
    assert fit_calibration(sets, every_image(sets), PRIOR).to_dict() != one.to_dict()


def test_a_family_is_scored_by_probabilities_from_the_others():
    """Other labels of it change its accuracy, but not which of its boxes are likely."""
    rest = [labelled("b", 1), labelled("c", 2)]
    before, after = (
        calibrated_rows([labelled("a", 0, **options), *rest])[0].set_index("source")
        for options in ({}, {"by": lambda scores: scores * 0.7})
    )
    scores = ["likely_share", "box_size"]
    pd.testing.assert_frame_equal(before.loc["a", scores], after.loc["a", scores])
    assert (before.loc["a", "mAP"] > after.loc["a", "mAP"]).any()
    assert (before.loc["b", scores] != after.loc["b", scores]).any(axis=None)


def test_without_calibrating_it_is_the_usual_calibration():
    sets = [labelled("a", 0), labelled("b", 1, family="a", everywhere=False)]
    rows, calibration = calibrated_rows(sets, calibrate=False)
    usual = PRIOR.calibration
    assert calibration.to_dict() == usual.to_dict()
    expected = pd.concat([labelled_rows(of, usual) for of in sets], ignore_index=True)
    pd.testing.assert_frame_equal(rows, expected)
