"""Missing low scores widen the interval; scores on another scale than in the fit give a warning."""

import numpy as np
import pandas as pd
import pytest

from autoeval.boxes import Boxes, LabelledImage
from autoeval.estimation.checks import width as width_warning
from autoeval.model import PredictionInterval
from autoeval.model.regression import Regression
from autoeval.sites.score_range import another_scale, same_score, unseen_share, unseen_warning


def made(*lists):
    """Predictions of one image a list of scores, all of one category."""
    images = tuple(LabelledImage(str(k), f"{k}.jpg", None) for k in range(len(lists)))
    image = np.repeat(np.arange(len(lists)), [len(scores) for scores in lists])
    scores = np.concatenate([np.float32(scores) for scores in lists])
    boxes = np.tile(np.float32([0, 0, 9, 9]), (len(scores), 1))
    return Boxes(images, ("car",), image, np.zeros(len(scores), int), boxes, scores)


@pytest.mark.parametrize(
    ("lists", "share"),
    [
        ([[0.9, 0.01], [0.5]], 0.0),  # a full list
        # the tables of the panel know files that begin at a score up to .55
        ([[0.9, 0.175], [0.5]], 0.0),
        ([[0.9, 0.3], [0.5]], 0.0),
        ([[0.9, 0.6], [0.7]], 1.0),
        # from .1 on, two boxes at most: the first image is cut half way from there to .3
        ([[0.9, 0.2], [0.1]], 0.5 * 2 / 3),
        ([[0.9, 0.8, 0.4, 0.2, 0.04]], 0.0),
        # two boxes an image at most: the first image is cut at .175, the second ends by itself
        ([[0.9, 0.175], [0.04]], 0.5 * 2 / 3),
        ([[], []], 0.0),
    ],
)
def test_where_lists_begin(lists, share):
    assert unseen_share(made(*lists)) == pytest.approx(share, abs=1e-6)


def test_scores_that_are_all_alike_rank_nothing():
    rng = np.random.default_rng(0)
    differing = rng.uniform(0.31, 0.99, 10).tolist()
    assert unseen_share(made([1.0] * 11 + differing + [0.01])) == 1.0
    assert same_score(made([1.0] * 11 + differing + [0.01])) == pytest.approx(11 / 21)
    assert unseen_share(made([1.0] * 9 + differing + [0.01])) == 0.0
    assert same_score(made([1.0] * 19 + [0.01])) == 0.0  # too few to say


def test_the_unseen_share_of_the_standard_deviation_widens_the_interval():
    rng = np.random.default_rng(1)
    scores = rng.uniform(0.1, 0.9, (20, 2))
    rows = pd.DataFrame(scores, columns=["expected_ap", "likely_share"]).assign(
        box_size=rng.normal(-1.8, 0.5, 20),
        mAP=scores.mean(axis=1),
        source=[str(k) for k in range(20)],
        category="car",
        n_images=500,
    )
    fitted = Regression().fit(rows)
    middle = (10 * 0.5 + rows["mAP"].sum()) / 30
    squares = (10 / 12 + ((rows["mAP"] - middle) ** 2).sum()) / 30
    assert fitted.accuracy_std_ == pytest.approx(np.sqrt(squares))
    asked = rows.iloc[[3]]
    plain, half = fitted.distribution(asked), fitted.predict(asked, unseen=0.5)[0]
    expected = np.hypot(plain.std[0], 0.5 * fitted.accuracy_std_)
    assert (half.upper - half.lower) / 2 == pytest.approx(1.645 * expected, rel=0.03)
    assert half.value == fitted.predict(asked)[0].value == fitted.predict_mean(asked).value
    assert fitted.predict_mean(asked, unseen=0.5) == half


def test_a_small_share_gives_no_warning():
    assert unseen_warning(0.02) == ()
    assert "80% of the confidence" in unseen_warning(0.8)[0]


FIT = np.linspace(0.01, 0.98, 200)


@pytest.mark.parametrize(
    ("scale", "said"),
    [
        (lambda s: s, ""),
        (lambda s: 0.9 * s, ""),
        (lambda s: s**2, "the lowest score is 0.0001, in the fit it was 0.01"),
        (lambda s: s**0.5, "the lowest score is 0.1, in the fit it was 0.01: export both"),
        (lambda s: np.minimum(s, 0.49), "the highest score is 0.49, in the fit it was 0.98"),
        (
            lambda s: 0.65 * s,
            "the lowest score is 0.0065, in the fit it was 0.01: another threshold",
        ),
        (lambda s: [0.045, 0.3], ""),  # few boxes need not reach either end
    ],
)
def test_scores_that_begin_or_end_elsewhere_than_in_the_fit(scale, said):
    warnings = list(another_scale(made(scale(FIT)), 0.01, 0.98))
    assert len(warnings) == bool(said)
    assert "".join(warnings).startswith(said)
    # an older file does not know the highest
    assert not list(another_scale(made(np.minimum(FIT, 0.49)), 0.01, 0.0))


def test_a_wide_interval_comes_with_what_helps():
    wide, narrow = (
        PredictionInterval(0.5, 0.5, 0.2, 0.8, 0.3),
        PredictionInterval(0.5, 0.5, 0.4, 0.6, 0.1),
    )
    assert width_warning(narrow) == ""
    text = width_warning(wide)
    assert text.startswith("too wide to act on: ±30 points")
    assert "±15 to 19 from one labelled set, ±15 to 17 from 37 sites" in text
    assert "(`autoeval label plan`)" in text
