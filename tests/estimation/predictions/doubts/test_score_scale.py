"""Scores that begin or end elsewhere than those of the fit."""

import numpy as np
import pytest

from autoeval.data.labels.content import LabelledImage
from autoeval.data.predictions import Predictions
from autoeval.estimation.predictions.doubts.score_scale import another_scale


def made(scores):
    n = len(scores)
    images = (LabelledImage("0", "0.jpg", None),)
    columns = (np.zeros(n, int), np.zeros(n, int), np.zeros((n, 4), "f4"), np.float32(scores))
    return Predictions(images, ("car",), *columns, {})


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
    ],
)
def test_both_ends(scale, said):
    doubts = list(another_scale(made(scale(FIT)), 0.01, 0.98))
    assert len(doubts) == bool(said)
    assert "".join(doubts).startswith(said)


def test_few_boxes_need_not_reach_either_end():
    assert not list(another_scale(made([0.045, 0.3]), 0.01, 0.98))


def test_a_highest_that_an_older_file_does_not_know():
    assert not list(another_scale(made(np.minimum(FIT, 0.49)), 0.01, 0.0))
