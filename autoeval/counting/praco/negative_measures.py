"""NMN, PCCN, MAE and RMSE: what a counter says to classes that are there and that are not."""

from __future__ import annotations

import numpy as np
import pandas as pd

from autoeval.counting.measures.binned import check_mode
from autoeval.data.wording import listed
from autoeval.errors import InputError


def negative_by_image(
    counts: pd.DataFrame, truth: pd.DataFrame, mode: str = "paper"
) -> pd.DataFrame:
    """Measure each image of the negative-label test.

    Parameters
    ----------
    counts : DataFrame
        Predicted counts, images (index) by classes (columns); NaN where there is none. Negative
        counts are used as they are, except that NMN in ``paper`` takes their absolute value.
    truth : DataFrame
        ``category`` and ``count`` of each image (index), as `CountingSet.truth` gives them.
    mode : {"released", "paper"}
        The divisor of the mean that PCCN compares is the number of negative classes, or one more
        (equation 3 divides by N). An image without a count of its own class or of any other fails
        PCCN in ``released`` and is left out of it in ``paper``.

    Returns
    -------
    DataFrame
        Indexed as ``truth``, with ``category``, ``count``; ``positive``, the count of the own
        class; ``negative_mean`` and ``negative_max`` over the ``n_negative`` other classes with a
        count, ``negative_class``, where the maximum is; ``nmn`` (the image's term of equation 2),
        ``near`` (1 or 0, of equation 3), ``error`` (absolute) and ``n_undefined``, the cells
        without count. Undefined values are NaN.

    Raises
    ------
    InputError
        If the tables do not fit each other.
    """
    check_mode(mode)
    values = aligned(counts, truth)
    g = truth["count"].to_numpy(np.float64)
    own = _own_column(counts, truth)
    is_own = np.arange(values.shape[1]) == own[:, None]
    positive = values[is_own]
    negative = np.where(is_own, np.nan, values)
    n_negative = (~np.isnan(negative)).sum(1)
    total = np.nansum(negative, axis=1)
    mean = _divide(total, n_negative)
    size = mean if mode == "released" else _divide(np.nansum(np.abs(negative), axis=1), n_negative)
    compared = (
        mean if mode == "released" else np.where(n_negative > 0, total / (n_negative + 1), np.nan)
    )
    error, distance = np.abs(positive - g), np.abs(compared - g)
    near = (error < distance).astype(float)
    if mode == "paper":
        near[np.isnan(error) | np.isnan(distance)] = np.nan
    largest = np.where(np.isnan(negative), -np.inf, negative).argmax(1)
    return truth.assign(
        positive=positive,
        negative_mean=mean,
        negative_max=np.where(n_negative > 0, negative[np.arange(len(g)), largest], np.nan),
        negative_class=np.where(n_negative > 0, counts.columns.to_numpy()[largest], None),
        n_negative=n_negative,
        nmn=size / g,
        near=near,
        error=error,
        n_undefined=np.isnan(values).sum(1),
    )


def negative_by_class(by_image: pd.DataFrame) -> pd.DataFrame:
    """Average the measures of the images of each class.

    Returns
    -------
    DataFrame
        Indexed by ``category``: ``images``, ``mean_count``, ``NMN``, ``PCCN`` (%), ``MAE`` and
        ``RMSE``.
    """
    groups = by_image.groupby("category", sort=False)
    table = pd.DataFrame(
        {
            "images": groups.size(),
            "mean_count": groups["count"].mean(),
            "NMN": groups["nmn"].mean(),
            "PCCN": 100 * groups["near"].mean(),
            "MAE": groups["error"].mean(),
        }
    )
    squared = by_image.assign(squared=by_image["error"] ** 2).groupby("category", sort=False)
    return table.assign(RMSE=np.sqrt(squared["squared"].mean()))


def confusion(counts: pd.DataFrame, truth: pd.DataFrame) -> pd.DataFrame:
    """Mean of predicted over true count: true classes (rows) by classes asked for (columns).

    1 on the diagonal and 0 elsewhere is perfect; classes without images have no row.
    """
    values = aligned(counts, truth)
    ratio = pd.DataFrame(
        values / truth["count"].to_numpy(np.float64)[:, None], truth.index, counts.columns
    )
    present = [name for name in counts.columns if (truth["category"] == name).any()]
    return ratio.groupby(truth["category"]).mean().reindex(present)


def aligned(counts: pd.DataFrame, truth: pd.DataFrame) -> np.ndarray:
    """Return the counts (images of ``truth``, classes) as float64, or say why they do not fit."""
    missing = truth.index.difference(counts.index, sort=False)
    unknown = sorted(set(truth["category"]) - set(counts.columns))
    if len(missing) or unknown or not len(truth):
        raise InputError(
            "The counts do not fit the truth: "
            + (f"no row for {len(missing)} images ({listed(missing)}); " if len(missing) else "")
            + (f"no column for the classes {listed(unknown)}; " if unknown else "")
            + ("no image; " if not len(truth) else "")
            + "expected a row for each image and a column for each class."
        )
    if (truth["count"] <= 0).any():
        empty = truth.index[truth["count"] <= 0]
        raise InputError(
            f"{len(empty)} images have a true count of 0 ({listed(empty)}), by which the measures "
            "divide: exclude them."
        )
    return counts.loc[truth.index].to_numpy(np.float64)


def _own_column(counts: pd.DataFrame, truth: pd.DataFrame) -> np.ndarray:
    return counts.columns.get_indexer(pd.Index(truth["category"]))


def _divide(total: np.ndarray, n: np.ndarray) -> np.ndarray:
    return np.divide(total, n, out=np.full(len(total), np.nan), where=n > 0)
