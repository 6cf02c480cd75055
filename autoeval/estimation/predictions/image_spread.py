"""How far an estimate varies with the choice of images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from autoeval.estimation.pairs.pair_estimator import PairEstimator
from autoeval.estimation.predictions.prediction_pairs import Pair
from autoeval.estimation.sampling import bootstrap_std
from autoeval.scores.resampling import resampled_counts

RESAMPLES = 200
STEP = 1e-3
AT_ONCE = 16_000_000


def sampling_std(estimator: PairEstimator, pairs: Sequence[Pair], rows: pd.DataFrame) -> float:
    """Return how far the mean over categories strays when the images are drawn again.

    Images count as independent. The estimate is taken as linear in the scores.

    Parameters
    ----------
    estimator : PairEstimator
    pairs : sequence of Pair
    rows : DataFrame
        Their rows.
    """
    n_images = pairs[0].n_images
    times = resampled_counts(n_images, resamples=RESAMPLES, seed=0, dtype=np.uint8)
    moved = np.zeros(RESAMPLES)
    for pair, slopes in zip(pairs, _slopes(estimator, rows), strict=True):
        at_once = max(AT_ONCE // max(len(pair.images), 1), 1)
        for start in range(0, RESAMPLES, at_once):
            part = slice(start, start + at_once)
            scores = pair.scores(times[part])
            moved[part] += np.column_stack([scores[n] for n in estimator.features_]) @ slopes
    return bootstrap_std(moved / len(pairs), n_images)


def _slopes(estimator: PairEstimator, rows: pd.DataFrame) -> np.ndarray:
    """Return how the estimate of each row changes with each of its scores, (N, F)."""
    features = estimator.features_
    moved = [rows.assign(**{name: rows[name] + STEP}) for name in features]
    asked = pd.concat([rows, *moved], ignore_index=True)
    means = estimator.distribution(asked).mean.reshape(len(features) + 1, len(rows))
    return (means[1:] - means[0]).T / STEP
