"""Calibration on labelled sets, rows that it has not seen the labels of, and confidences that
say little of which boxes are right: they are refused, or widen the interval."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from autoeval.accuracy.coco_evaluation import Matches
from autoeval.errors import InputError
from autoeval.estimation.calibrating import (
    ConfidenceCheck,
    calibrate,
    calibrated_rows,
    check_confidences,
    fit_calibration,
    fits_above,
    reliability_drop,
    roc_area,
    with_calibrated_reference,
)
from autoeval.estimation.fitting import fit_sets
from autoeval.estimation.labelled_sets import labelled_site
from autoeval.model.priors import calibration_prior
from autoeval.sites.site import Evaluation, Site
from tests.made_sites import random_found, truth_from

PRIOR = calibration_prior()


def labelled(name, seed, *, by=None, **options):
    """Boxes whose labels are those of the confident ones, or of those with a high `by`."""
    found = random_found(seed)
    truth = truth_from(found if by is None else replace(found, scores=by(found.scores)))
    made = {"name": name, "everywhere": True, **options}
    return labelled_site(Site(found, truth=truth, **made))


def every_image(sets):
    return [np.ones(len(of), bool) for of in sets]


def reshuffled(scores):
    return np.random.default_rng(3).permutation(scores)


def test_as_many_boxes_are_expected_to_be_right_as_are():
    sets = [labelled(f"s{k}", k) for k in range(4)]
    calibration = fit_calibration(sets, every_image(sets), PRIOR)
    expected = sum(calibration.at_half(of.boxes.scores).sum() for of in sets)
    assert expected == pytest.approx(
        sum(of.evaluation.matches.hits[0].sum() for of in sets), rel=0.05
    )
    low, high = calibration.at_half(np.array([0.1, 0.9]))
    assert low < 0.1 < 0.9 < high


def test_images_that_are_left_out_have_no_part_in_it():
    sets = [labelled("a", 0), labelled("b", 1)]
    images = [np.ones(24, bool), np.zeros(24, bool)]
    other = [sets[0], labelled("b", 1, by=reshuffled)]
    one, two = (fit_calibration(of, images, PRIOR) for of in (sets, other))
    assert one.to_dict() == two.to_dict()
    assert fit_calibration(sets, every_image(sets), PRIOR).to_dict() != one.to_dict()


def test_a_group_is_scored_by_probabilities_from_the_others():
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


REFUSED = "do not predict which of its boxes are right"


def test_where_the_detector_was_trained_says_nothing_of_its_reference():
    sets = [labelled(f"s{k}", k) for k in range(4)]
    sets = [replace(of, reference=random_found(k + 9)) for k, of in enumerate(sets)]
    home = [replace(of, trained_here=k < 2) for k, of in enumerate(sets)]
    (plain, fitted), (told, also_fitted) = map(with_calibrated_reference, (sets, home))
    np.testing.assert_array_equal(also_fitted.boxes, fitted.boxes)
    for one, other in zip(plain, told, strict=True):
        np.testing.assert_array_equal(
            other.reference_probabilities, one.reference_probabilities, strict=True
        )


def test_where_the_detector_was_trained_it_is_calibrated_at_every_floor():
    home, away = replace(labelled("a", 0), trained_here=True), labelled("b", 1)
    missed = []
    for sets in ([home], [home, away]):
        _, calibration, probabilities = calibrate(sets)
        fits = fits_above(sets, calibration, probabilities, floors=[0.3, 0.4])
        missed.append([calibration.missed, *(fit.calibration.missed for fit in fits.values())])
    np.testing.assert_array_equal(*missed)


def test_the_area_counts_pairs_and_equal_scores_half():
    scores, hits = np.array([0.9, 0.5, 0.5, 0.1]), np.array([True, True, False, False])
    area, error = roc_area(scores, hits)  # of four pairs three are in order and one is a tie
    assert area == 3.5 / 4 and error == pytest.approx(np.sqrt(5 / 48))


def test_confidences_in_an_order_raise_no_warning():
    assert check_confidences([labelled("a", 0), labelled("b", 1)]) == ConfidenceCheck()


@pytest.mark.parametrize(
    "by",
    [reshuffled, lambda scores: 1 - scores],  # by chance; the wrong way round
)
def test_confidences_that_do_not_predict_which_boxes_are_right_are_refused(by):
    with pytest.raises(InputError, match=REFUSED):
        check_confidences([labelled(f"s{k}", k, by=by) for k in range(3)])
    with pytest.raises(InputError, match=REFUSED):
        fit_sets([labelled(f"s{k}", k, by=by) for k in range(3)], context={})


def test_equal_confidences_are_refused():
    found = random_found(0)
    boxes, truth = replace(found, scores=np.full_like(found.scores, 0.7)), truth_from(found)
    with pytest.raises(InputError, match="are all equal"):
        check_confidences([labelled_site(Site(boxes, truth=truth, name="a", everywhere=True))])


def test_the_order_of_several_boxes_on_an_object_counts_for_nothing():
    """Every box four times, with confidences by chance: COCO's matching takes the highest."""
    found = random_found(0, n=300)
    sure = found.scores > 0.5
    four = np.concatenate([np.flatnonzero(sure)] * 4)
    scores = np.random.default_rng(0).random(len(four)).astype("f4")
    columns = {name: getattr(found, name)[four] for name in ("image", "label", "boxes", "crowd")}
    boxes = replace(found, scores=scores, **columns)
    made = labelled_site(Site(boxes, truth=truth_from(found), name="a", everywhere=True))
    assert roc_area(scores, made.evaluation.matches.hits[0])[0] > 0.7
    assert [of.code for of in check_confidences([made]).warnings] == ["confidences-say-little"]


@pytest.mark.parametrize("words", [1, 2])  # of each box, with one score
def test_the_order_and_the_ids_of_a_file_count_for_nothing(words):
    """Of chance alone, which decides in which order boxes are matched."""
    found = random_found(0, n=300)
    every = {name: getattr(found, name) for name in ("image", "label", "boxes", "scores", "crowd")}
    every = {name: np.concatenate([values] * words) for name, values in every.items()}
    every["label"] = (every["label"] + np.arange(300 * words) // 300) % len(found.categories)
    found = replace(found, **every)
    blurred = found.scores + np.random.default_rng(1).normal(0, 0.7, len(found))
    site = Site(found, truth=truth_from(replace(found, scores=blurred)), name="a")
    check = check_confidences([labelled_site(site)])
    assert 0.05 < check.widening < 0.95
    order, n = np.random.default_rng(2).permutation(len(found)), len(found.images)
    columns = {name: getattr(found, name)[order] for name in ("image", "label", "boxes", "scores")}
    images = tuple(replace(one, image_id=f"{n - k}") for k, one in enumerate(found.images))
    boxes, truth = (
        replace(found, images=images, **columns),
        replace(site.truth, images=images),
    )
    again = check_confidences([labelled_site(replace(site, boxes=boxes, truth=truth))])
    assert again.widening == pytest.approx(check.widening, abs=1e-12)


def test_few_boxes_by_chance_are_a_warning_and_a_wider_interval():
    """Nine of ten boxes are without a label: of the rest, too few to be sure."""
    full = labelled("a", 3, by=reshuffled)
    unlabelled, (hits, ignored) = np.arange(600) % 6 > 0, full.evaluation.matches
    evaluation = Evaluation(full.boxes, full.truth, Matches(hits, ignored | unlabelled))
    few = replace(full, evaluation=evaluation)
    check = check_confidences([few])
    assert 0.05 < check.widening < 0.9 and "may say little" in check.warnings[0]


@pytest.mark.parametrize(
    ("right", "drop"),
    [
        ((27, 36, 7), 0),  # the usual
        ((15, 30, 7), 0),  # flat at the top
        ((22, 46, 7), 0),  # bends back by 2 points, which is chance
        ((6, 54, 7), 55 / 62 - 7 / 32),  # bends back; one right and one wrong more in each bin
    ],
)
def test_the_most_confident_boxes_are_compared_with_others(right, drop):
    """Bins of 30, of 60 and of the remaining 70 boxes."""
    hits = np.concatenate([np.arange(n) < of for n, of in zip((30, 60, 70), right, strict=True)])
    assert reliability_drop(np.linspace(0.9, 0.1, 160), hits) == pytest.approx(drop)


def test_the_drop_does_not_depend_on_the_order_of_boxes_with_equal_scores():
    # as of two labelled sets, the boxes of one all wrong and those of the other all right
    scores = np.repeat(np.float32([0.99, 0.99, 0.5]), [40, 40, 60])
    hits = np.repeat([False, True, True], [40, 40, 60])
    # bins of 30, 60 and 50 boxes: of .99 half is right, of the second bin 25 and all 10 of .5
    second, last = (35 + 1) / 62, (50 + 1) / 52
    for order in (np.arange(140), np.r_[40:80, 0:40, 80:140], np.arange(140)[::-1]):
        assert reliability_drop(scores[order], hits[order]) == pytest.approx(last - second)
