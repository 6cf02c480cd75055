"""Intervals of few images in a world whose law is known: mAP = .8 ac + .1 + error of the site."""

import numpy as np
import pandas as pd
import pytest

from autoeval.accuracy.measures import resampled_counts
from autoeval.detections import Detections, Evidence
from autoeval.report.estimate import estimate_fields, estimate_row, sampling_text
from autoeval.stability.methods.published_estimator import PublishedEstimator
from autoeval.stability.scores.confidence_scores import AverageConfidence

SOURCES = 19
SPREAD_OF_SITES = 0.015
SPREAD_OF_IMAGES = 0.1


def new_place(rng):
    level = rng.uniform(0.4, 0.6)
    return level, 0.8 * level + 0.1 + rng.normal(0, SPREAD_OF_SITES)


def fitted(rng):
    """Fit on large sets of images of many sources."""
    rows = []
    for source in range(SOURCES):
        level, accuracy = new_place(rng)
        ids = {"source": str(source), "repeat": 0, "n_images": 400}
        kinds = ("seed", "sample", "sample")
        rows += [
            {**ids, "kind": kind, "sample_set": f"{source}-{k}", "ac": level, "mAP": accuracy}
            for k, kind in enumerate(kinds)
        ]
    return PublishedEstimator("ac").fit(pd.DataFrame(rows))


def estimate(estimator, rng, level, n_images):
    score = AverageConfidence()
    for value in rng.normal(level, SPREAD_OF_IMAGES, n_images).clip(0.06, 1):
        box = Detections(np.zeros((1, 4)), np.array([value]), np.zeros(1))
        score.update(Evidence("image", (9, 9), box, ()))
    draws = resampled_counts(n_images, resamples=100, seed=int(rng.integers(1 << 30)))
    rows = {"repeat": 0, "n_images": n_images, "ac": score.compute()["ac"]}
    return estimator.predict_rows(pd.DataFrame([{**rows, "resampled": score.resample(draws)}]))


def test_nine_of_ten_places_are_covered_with_few_images_and_not_without_widening():
    rng = np.random.default_rng(0)
    widened, by_source = [], []
    for _ in range(12):
        estimator = fitted(rng)
        for _ in range(20):
            level, true = new_place(rng)
            told = estimate(estimator, rng, level, n_images=8)
            widened.append(told.lower <= true <= told.upper)
            by_source.append(told.source_lower <= true <= told.source_upper)
    assert np.mean(widened) >= 0.88
    assert np.mean(by_source) < 0.75


def test_ten_images_give_a_clearly_wider_interval_than_five_hundred():
    rng = np.random.default_rng(1)
    estimator = fitted(rng)
    few, many = ([estimate(estimator, rng, 0.5, n_images=n) for _ in range(4)] for n in (10, 500))

    def mean_width(estimates):
        return np.mean([told.upper - told.lower for told in estimates])

    assert mean_width(few) > 1.4 * mean_width(many)
    # the delta method: slope times the standard error of a mean
    for told in many:
        error = 0.8 * SPREAD_OF_IMAGES / np.sqrt(500)
        assert told.sampling_std == pytest.approx(error, rel=0.35)


def test_both_parts_are_printed():
    rng = np.random.default_rng(2)
    told = estimate(fitted(rng), rng, 0.5, n_images=10)
    text, plain = sampling_text(told), estimate_fields(told)
    assert f"sampling error of 10 images: ± {100 * told.sampling_std:.1f}" in text
    assert f"without the sampling error: {100 * told.source_lower:.1f} to " in text
    assert plain["sampling_std"] == told.sampling_std > 0
    assert told.lower < told.source_lower < told.source_upper < told.upper
    assert estimate_row(told)["sampling_std"].tolist() == [told.sampling_std]
