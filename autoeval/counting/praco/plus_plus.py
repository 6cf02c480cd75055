"""PrACo++: the negative-label test for images that hold several classes."""

from __future__ import annotations

import numpy as np
import pandas as pd

from autoeval.counting.praco.negative_measures import aligned


def plus_plus_by_image(counts: pd.DataFrame, class_counts: pd.DataFrame) -> pd.DataFrame:
    """Measure each image; its positive classes are those with a true count above 0.

    Parameters
    ----------
    counts : DataFrame
        Predicted counts, images (index) by classes (columns); NaN where there is none.
    class_counts : DataFrame
        True counts of the same images and classes, as `CountingSet.class_counts` gives them.

    Returns
    -------
    DataFrame
        By image, over the cells that have a count: ``n_positive``, ``n_negative``, ``total`` (true
        count of all classes), ``negative_sum``, ``absolute`` and ``squared`` (sums of errors of the
        positive classes), ``near_one`` and ``near_average`` (1 or 0), and ``n_undefined`` cells.
        Near means that the mean error of the positive classes is below the mean distance of the
        negative counts from the positive classes' true counts, one after another
        (``near_one``), or from their average (``near_average``); NaN without both kinds of class.

    Raises
    ------
    InputError
        If the tables do not fit each other.
    """
    g = class_counts.to_numpy(np.float64)
    truth = class_counts.sum(axis=1).to_frame("count")
    truth["category"] = class_counts.columns[g.argmax(1)]
    c = aligned(counts.reindex(columns=class_counts.columns), truth)
    positive, negative = (g > 0) & ~np.isnan(c), (g == 0) & ~np.isnan(c)
    error = np.where(positive, np.abs(c - g), 0)
    n_positive, n_negative = positive.sum(1), negative.sum(1)
    own = _mean(error, n_positive)
    one, average = _distances(c, g, positive, negative)
    return pd.DataFrame(
        {
            "n_positive": n_positive,
            "n_negative": n_negative,
            "total": g.sum(1),
            "negative_sum": np.where(negative, c, 0).sum(1),
            "absolute": error.sum(1),
            "squared": (error**2).sum(1),
            "near_one": np.where(np.isnan(own + one), np.nan, own < one),
            "near_average": np.where(np.isnan(own + average), np.nan, own < average),
            "n_undefined": np.isnan(c).sum(1),
        },
        index=class_counts.index,
    )


def plus_plus(by_image: pd.DataFrame) -> dict[str, float]:
    """Return macro (mean over images) and micro (over all cells) measures.

    Parameters
    ----------
    by_image : DataFrame
        As `plus_plus_by_image` returns it. An image without negative (positive) classes is in no
        measure of them.

    Returns
    -------
    dict of str to float
        ``MNP`` (mean negative prediction), ``NMN`` (the same over the image's total true count),
        ``MAE`` and ``RMSE``, each ``macro`` and ``micro``, and ``PCCN`` (%) in two variants.
    """
    n, p = by_image["n_negative"], by_image["n_positive"]
    return {
        "MNP macro": _macro(by_image["negative_sum"], n),
        "MNP micro": _micro(by_image["negative_sum"], n),
        "NMN macro": _macro(by_image["negative_sum"], n * by_image["total"]),
        "NMN micro": _micro(by_image["negative_sum"], n * by_image["total"]),
        "PCCN one at a time": float(100 * by_image["near_one"].mean()),
        "PCCN average GT": float(100 * by_image["near_average"].mean()),
        "MAE macro": _macro(by_image["absolute"], p),
        "MAE micro": _micro(by_image["absolute"], p),
        "RMSE macro": float(np.sqrt(by_image["squared"] / p.where(p > 0)).mean()),
        "RMSE micro": float(np.sqrt(_micro(by_image["squared"], p))),
    }


def _distances(
    c: np.ndarray, g: np.ndarray, positive: np.ndarray, negative: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean distance of the negative counts from each positive truth, and from their average."""
    n_positive, n_negative = positive.sum(1), negative.sum(1)
    own = np.where(positive, g, 0)
    gap = np.abs(g[:, :, None] - np.where(negative, c, 0)[:, None, :])
    both = positive[:, :, None] & negative[:, None, :]
    one = _mean(np.where(both, gap, 0).sum(2), n_positive * n_negative)
    centre = _mean(own, n_positive)
    away = np.abs(np.where(negative, c, 0) - np.nan_to_num(centre)[:, None])
    average = _mean(np.where(negative, away, 0), n_negative * (n_positive > 0))
    return one, average


def _mean(values: np.ndarray, n: np.ndarray) -> np.ndarray:
    total = values.sum(1)
    return np.divide(total, n, out=np.full(len(total), np.nan), where=n > 0)


def _macro(part: pd.Series, whole: pd.Series) -> float:
    return float((part / whole.where(whole > 0)).mean())


def _micro(part: pd.Series, whole: pd.Series) -> float:
    return float(part[whole > 0].sum() / whole.sum()) if whole.sum() > 0 else float("nan")
