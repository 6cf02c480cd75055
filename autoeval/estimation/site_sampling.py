"""How far an estimate varies with the choice of images, from images drawn again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from autoeval.estimation.bayesian_regression import BayesianRegression
from autoeval.estimation.category_scores import CategoryScores
from autoeval.estimation.pair_table import category_weights, values_of
from autoeval.estimation.sampling_error import RESAMPLES, SamplingError, bootstrap_std, few_blocks
from autoeval.scores.resampling import resampled_counts

STEP = 1e-3
AT_ONCE = 20_000_000  # counts that are held in memory


def site_sampling(
    regression: BayesianRegression,
    scores: Sequence[CategoryScores],
    rows: pd.DataFrame,
    *,
    n_images: int,
    blocks: np.ndarray | None = None,
) -> SamplingError:
    """Return the standard deviation of the estimate of all categories when images are drawn again.

    The estimate is taken as linear in the scores.

    Parameters
    ----------
    regression : BayesianRegression
    scores : sequence of CategoryScores
    rows : DataFrame
        Their rows.
    n_images : int
        Images of the site.
    blocks : ndarray of shape (n_images,), int64, optional
        Images of one block of time are drawn together; by default each is independent.
    """
    n_units = n_images if blocks is None else int(blocks.max()) + 1
    counts = resampled_counts(n_images, resamples=RESAMPLES, seed=0, blocks=blocks, dtype=np.uint8)
    moved = np.zeros(RESAMPLES)
    weights = category_weights(rows, regression.target)
    of_category = zip(scores, _slopes(regression, rows), weights, strict=True)
    for of, slopes, weight in of_category:
        at_once = max(AT_ONCE // max(len(of.images), 1), 1)
        for start in range(0, RESAMPLES, at_once):
            part = slice(start, start + at_once)
            drawn = pd.DataFrame(of.resample(counts[part][:, of.images].astype(np.int64)))
            moved[part] += weight * (values_of(drawn, regression.features_).to_numpy() @ slopes)
    std = bootstrap_std(moved, n_units)
    return SamplingError(std, few_blocks(n_images, n_units), n_units)


def _slopes(regression: BayesianRegression, rows: pd.DataFrame) -> np.ndarray:
    """Return how the estimate of each row changes with each of its scores, (N, F)."""
    features = regression.features_
    filled = rows.assign(**values_of(rows, features))
    moved = [filled.assign(**{name: filled[name] + STEP}) for name in features]
    together = pd.concat([filled, *moved], ignore_index=True)
    means = regression.distribution(together).mean.reshape(len(features) + 1, len(rows))
    return (means[1:] - means[0]).T / STEP
