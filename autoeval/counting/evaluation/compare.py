"""Several models on the same images: differences of their errors, with intervals and tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from autoeval.counting.evaluation.model_measures import CountEvaluation
from autoeval.counting.measures.bootstrap import bootstrap_mean
from autoeval.counting.measures.count_errors import as_pairs
from autoeval.errors import InputError

TIE = "tie"
ONE_IMAGE = "one image"
DECIMALS = 9  # to which errors are compared


@dataclass(frozen=True, eq=False)
class CountComparison:
    """A comparison of models, by bin and in pairs (A - B).

    Parameters
    ----------
    per_bin : DataFrame
        One row a bin with images: ``bin``, ``n`` (images), ``mean: NAME`` and ``std: NAME`` of the
        absolute errors of each model, and the names with the least: ``winner`` of the mean,
        ``winner of std``. Equal ones are a ``tie``; a bin of one image has no winner, ``one
        image``.
    pairs : DataFrame
        One row for every two models: ``A``, ``B`` and what `compare_paired` returns.
    """

    per_bin: pd.DataFrame
    pairs: pd.DataFrame


def compare_models(
    evaluations: Sequence[CountEvaluation], *, n_resamples: int = 1000, seed: int = 0
) -> CountComparison:
    """Compare evaluations on the same images and bins.

    Parameters
    ----------
    evaluations : sequence of CountEvaluation
        Of two models or more; see `autoeval.counting.predictions.align`.
    n_resamples : int
        Of the bootstrap.
    seed : int
        Of the bootstrap.

    Raises
    ------
    InputError
        If models have one name, or images or bins differ.
    """
    names = [e.name for e in evaluations]
    if len(names) < 2 or len(set(names)) < len(names):
        raise InputError(f"Expected models of at least two different names but got {names}.")
    first = evaluations[0]
    for other in evaluations[1:]:
        if other.counted.ids != first.counted.ids or other.bins != first.bins:
            raise InputError(
                f"{first.name} and {other.name} were evaluated on different images or bins: "
                "align the predictions, and count the images that all models answered."
            )
    per_bin = first.table[["bin", "n"]].copy()
    for statistic, winner in (("mean", "winner"), ("std", "winner of std")):
        values = np.stack([e.table[statistic] for e in evaluations], axis=1)
        for name, column in zip(names, values.T, strict=True):
            per_bin[f"{statistic}: {name}"] = column
        # Sums in another order differ in the last bits, which makes nobody better.
        best = np.isclose(values, values.min(axis=1, keepdims=True), rtol=1e-9, atol=1e-9)
        won = [names[row.argmax()] if row.sum() == 1 else TIE for row in best]
        per_bin[winner] = np.where(per_bin["n"] > 1, won, ONE_IMAGE)
    # Images are drawn by their names, so that the order of a file changes no interval.
    order, draws = np.argsort(first.counted.ids), {"n_resamples": n_resamples, "seed": seed}
    target, preds = first.counted.target[order], [e.counted.pred[order] for e in evaluations]
    pairs = [
        {"A": names[a], "B": names[b]} | compare_paired(target, preds[a], preds[b], **draws)
        for a, b in combinations(range(len(names)), 2)
    ]
    return CountComparison(per_bin, pd.DataFrame(pairs))


def compare_paired(
    target: Any, pred_a: Any, pred_b: Any, *, n_resamples: int = 1000, seed: int = 0
) -> dict[str, float]:
    """Compare the absolute errors of two models on the same images.

    Parameters
    ----------
    target : array-like of shape (N,)
        True counts.
    pred_a, pred_b : array-like of shape (N,)
        Predicted counts.
    n_resamples : int
        Of the bootstrap.
    seed : int
        Of the bootstrap.

    Returns
    -------
    dict of str to float
        ``MAE A - B``, the mean of |error of A| - |error of B|, below 0 where A is better, with
        ``low`` and ``high``, its 95 % bootstrap interval; ``Wilcoxon p`` of the signed-rank test, 1
        where all errors are equal; ``A nearer``, ``B nearer`` and ``equal``, numbers of images.

    Raises
    ------
    InputError
        If the arrays are no pairs of finite counts, see `as_pairs`.
    """
    from scipy.stats import wilcoxon

    target, pred_a = as_pairs(target, pred_a)
    _, pred_b = as_pairs(target, pred_b)
    difference = np.abs(pred_a - target) - np.abs(pred_b - target)
    images = np.arange(len(target))
    interval = bootstrap_mean(difference, images, n_resamples=n_resamples, seed=seed)
    # .1 too many and .1 too few differ in the last bits, which makes neither nearer.
    difference = difference.round(DECIMALS)
    return {
        "MAE A - B": interval.value,
        "low": interval.low,
        "high": interval.high,
        "Wilcoxon p": float(wilcoxon(difference).pvalue) if difference.any() else 1.0,
        "A nearer": int((difference < 0).sum()),
        "B nearer": int((difference > 0).sum()),
        "equal": int((difference == 0).sum()),
    }
