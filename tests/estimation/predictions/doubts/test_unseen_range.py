"""The part of confidence that does not reach a file, and what it does to an interval."""

import numpy as np
import pandas as pd
import pytest

from autoeval.data.labels.content import LabelledImage
from autoeval.data.predictions import Predictions
from autoeval.estimation.pairs.pair_estimator import PairEstimator
from autoeval.estimation.predictions.doubts.unseen_range import same_score, told, unseen_share


def made(*lists):
    """Predictions of one image a list of scores, all of one category."""
    images = tuple(LabelledImage(str(k), f"{k}.jpg", None) for k in range(len(lists)))
    image = np.repeat(np.arange(len(lists)), [len(scores) for scores in lists])
    scores = np.concatenate([np.float32(scores) for scores in lists])
    boxes = np.tile(np.float32([0, 0, 9, 9]), (len(scores), 1))
    return Predictions(images, ("car",), image, np.zeros(len(scores), int), boxes, scores, {})


@pytest.mark.parametrize(
    ("lists", "share"),
    [
        ([[0.9, 0.01], [0.5]], 0.0),  # a full list
        ([[0.9, 0.175], [0.5]], 0.5),  # cut off half way from .05 to .3
        ([[0.9, 0.3], [0.5]], 1.0),
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


def test_what_is_unseen_widens_the_interval_by_that_share_of_the_spread():
    rng = np.random.default_rng(1)
    scores = rng.uniform(0, 1, (20, 3))
    names = ("atc@0.30", "box_share@0.30", "confident_images@0.20")
    rows = pd.DataFrame(scores, columns=list(names)).assign(
        mAP=scores.mean(axis=1), source=[str(k) for k in range(20)], category="car", n_images=500
    )
    fitted = PairEstimator().fit(rows)
    middle = (10 * 0.5 + rows["mAP"].sum()) / 30
    squares = (10 / 12 + ((rows["mAP"] - middle) ** 2).sum()) / 30
    assert fitted.spread_ == pytest.approx(np.sqrt(squares))
    asked = rows.iloc[[3]]
    plain, half = fitted.distribution(asked), fitted.predict(asked, unseen=0.5)[0]
    expected = np.hypot(plain.std[0], 0.5 * fitted.spread_)
    assert (half.upper - half.lower) / 2 == pytest.approx(1.645 * expected, rel=0.03)
    assert half.value == fitted.predict(asked)[0].value == fitted.predict_mean(asked).value
    assert fitted.predict_mean(asked, unseen=0.5) == half


def test_a_small_share_is_not_told():
    assert told(0.02) == ()
    assert "80% of the confidence" in told(0.8)[0]
