"""Measures of the negative-label test and of the mosaic test."""

from __future__ import annotations

import numpy as np
import pandas as pd

from autoeval.counting.measures.count_errors import check_mode
from autoeval.errors import InputError
from autoeval.words import listed

LARGEST_DRIFT = 50.0
LOCALISED = {f"localised {name}": name for name in ("MAE", "precision", "recall", "f1")}
# Counts of cells by image: what they are called in tables.
UNDEFINED = {
    "n_missing": "mosaics without a count",
    "n_undefined_precision": "mosaics with undefined precision",
    "n_undefined_f1": "mosaics with undefined F1",
    "n_clamped": "mosaics with a part below 0, taken as 0",
}


def negative_by_image(
    counts: pd.DataFrame, truth: pd.DataFrame, mode: str = "paper"
) -> pd.DataFrame:
    """Measure each image of the negative-label test.

    Parameters
    ----------
    counts : DataFrame
        Images (rows) by classes, NaN where there is no count; negative counts are used as they are,
        but NMN in ``paper`` takes their absolute value.
    truth : DataFrame
        ``category`` and ``count``, by image.
    mode : {"paper", "released"}
        PCCN divides by the number of negative classes in ``released``, one more in ``paper``
        (equation 3 divides by N). An image without a count of its own class or of any other fails
        PCCN in ``released`` and is left out in ``paper``.

    Returns
    -------
    DataFrame
        `truth` with ``positive``, the count of the own class, ``negative_mean``, ``negative_max``
        and ``negative_class`` of the ``n_negative`` others with a count, ``nmn`` (equation 2),
        ``near`` (1 or 0, equation 3), ``error`` (absolute) and ``n_undefined``; NaN where
        undefined.

    Raises
    ------
    InputError
        If there is no such mode, and as `aligned`.
    """
    check_mode(mode)
    values = aligned(counts, truth)
    g = truth["count"].to_numpy(np.float64)
    own_column = counts.columns.get_indexer(pd.Index(truth["category"]))
    is_own = np.arange(values.shape[1]) == own_column[:, None]
    positive = values[is_own]
    negative = np.where(is_own, np.nan, values)
    n_negative = (~np.isnan(negative)).sum(1)
    total = np.nansum(negative, axis=1)
    mean = size = compared = quotient(total, n_negative)
    if mode == "paper":
        size = quotient(np.nansum(np.abs(negative), axis=1), n_negative)
        compared = np.where(n_negative > 0, total / (n_negative + 1), np.nan)
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

    Parameters
    ----------
    by_image : DataFrame
        Of `negative_by_image`.

    Returns
    -------
    DataFrame
        One row a class: ``images``, ``mean_count``, ``NMN``, ``PCCN`` (in %), ``MAE`` and ``RMSE``.
    """
    groups = by_image.assign(squared=by_image["error"] ** 2).groupby("category", sort=False)
    return pd.DataFrame(
        {
            "images": groups.size(),
            "mean_count": groups["count"].mean(),
            "NMN": groups["nmn"].mean(),
            "PCCN": 100 * groups["near"].mean(),
            "MAE": groups["error"].mean(),
            "RMSE": np.sqrt(groups["squared"].mean()),
        }
    )


def confusion(counts: pd.DataFrame, truth: pd.DataFrame) -> pd.DataFrame:
    """Mean of predicted over true count.

    Parameters
    ----------
    counts, truth : DataFrame
        As `negative_by_image` takes them.

    Returns
    -------
    DataFrame
        True classes with images (rows) by prompted classes.

    Raises
    ------
    InputError
        As `aligned`.
    """
    values = aligned(counts, truth)
    ratio = pd.DataFrame(
        values / truth["count"].to_numpy(np.float64)[:, None], truth.index, counts.columns
    )
    present = [name for name in counts.columns if (truth["category"] == name).any()]
    return ratio.groupby(truth["category"]).mean().reindex(present)


def aligned(counts: pd.DataFrame, truth: pd.DataFrame) -> np.ndarray:
    """Return the counts of the images of the truth, or say why they do not fit.

    Parameters
    ----------
    counts, truth : DataFrame
        As `negative_by_image` takes them.

    Returns
    -------
    ndarray of shape (N, C), float64

    Raises
    ------
    InputError
        If there is no image, one has no row, a class has no column, or a true count is 0.
    """
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


def measure_mosaics(mosaics: pd.DataFrame, truth: pd.DataFrame) -> pd.DataFrame:
    """Measure each mosaic whose upper image has a true count.

    Parameters
    ----------
    mosaics : DataFrame
        ``positive``, the id of the upper image, and ``upper`` and ``lower``, the counts of the two
        parts; counts below 0 are taken as 0, and NaN is none.
    truth : DataFrame
        ``count`` by image.

    Returns
    -------
    DataFrame
        `mosaics` with the true ``count`` g, ``precision`` = min(u, g) / (u + l) and ``recall`` =
        min(u, g) / g (equations 5 and 6), with their harmonic mean ``f1``; 0 / 0 is NaN. Where
        mosaics have ``tiles`` and ``true_tiles``, the columns of `LOCALISED` follow.
    """
    table = mosaics[mosaics["positive"].isin(truth.index)].copy()
    table["count"] = truth["count"].reindex(table["positive"]).to_numpy(np.float64)
    g = table["count"].to_numpy()
    upper = table["upper"].to_numpy(np.float64).clip(0)
    lower = table["lower"].to_numpy(np.float64).clip(0)
    undefined = np.isnan(upper) | np.isnan(lower)
    right = np.minimum(upper, g)
    table["precision"] = quotient(right, upper + lower)
    table["recall"] = np.where(undefined, np.nan, right / g)
    p, r = table["precision"].to_numpy(), table["recall"].to_numpy()
    table["f1"] = quotient(2 * p * r, p + r)
    if "tiles" not in table:
        return table
    lengths = table["tiles"].map(lambda tiles: len(tiles) if isinstance(tiles, list) else 0)
    placed = table[(lengths > 0) & (lengths == lengths.max())]
    if not len(placed):
        return table
    measures = localised(np.array([*placed["tiles"]]), np.array([*placed["true_tiles"]]))
    return table.join(
        measures[[*LOCALISED.values()]].add_prefix("localised ").set_index(placed.index)
    )


def mosaics_by_image(measured: pd.DataFrame, mode: str) -> pd.DataFrame:
    """Average the mosaics of each upper image, over those where a measure is defined.

    Parameters
    ----------
    measured : DataFrame
        Of `measure_mosaics`.
    mode : {"paper", "released"}
        ``"released"`` counts every cell without an upper count as a mosaic with recall 1, as the
        authors' code does: unanswered ones, and the empty cell of the positive class, by which the
        mean recall R of the other C - 1 becomes ((C - 1) R + 1) / C.

    Returns
    -------
    DataFrame
        Means by ``image_id``, ``own_recall``, which is R in both modes, ``n_mosaics``, and the
        counts of `UNDEFINED`.

    Raises
    ------
    InputError
        If there is no such mode.
    """
    check_mode(mode)
    groups = measured.assign(
        n_missing=measured["recall"].isna(),
        n_undefined_precision=measured["precision"].isna(),
        n_undefined_f1=measured["f1"].isna(),
        n_clamped=(measured["upper"] < 0) | (measured["lower"] < 0),
    ).groupby("positive", sort=False)
    places = [name for name in LOCALISED if name in measured]
    means = groups[["precision", "recall", "f1", *places]].mean()
    table = means.assign(own_recall=means["recall"], n_mosaics=groups.size())
    table[[*UNDEFINED]] = groups[[*UNDEFINED]].sum()
    if mode == "released":
        upper = measured["upper"].to_numpy(np.float64)
        count = measured["count"].to_numpy(np.float64)
        filled = np.where(np.isnan(upper), 1, np.minimum(upper.clip(0), count) / count)
        sums = pd.Series(filled, measured.index).groupby(measured["positive"], sort=False).sum()
        table["recall"] = (sums + 1) / (table["n_mosaics"] + 1)
    return table.rename_axis("image_id")


def drift(
    measured: pd.DataFrame, positive: pd.Series, mode: str = "paper"
) -> tuple[np.ndarray, dict[str, int]]:
    """Relative change of the upper count against the count of the image alone (Fig. 4).

    Parameters
    ----------
    measured : DataFrame
        Of `measure_mosaics`.
    positive : Series
        Count of each image alone, by its id.
    mode : {"paper", "released"}
        ``released`` drops values of `LARGEST_DRIFT` and more.

    Returns
    -------
    tuple of ndarray of shape (M,) and dict of str to int
        |u - c| / c where defined; how many were ``undefined`` and ``dropped``.

    Raises
    ------
    InputError
        If there is no such mode.
    """
    check_mode(mode)
    alone = positive.reindex(measured["positive"]).to_numpy(np.float64)
    upper = measured["upper"].to_numpy(np.float64)  # as it is: neither side takes 0 for less
    defined = (alone > 0) & ~np.isnan(upper)
    values = np.abs(upper[defined] - alone[defined]) / alone[defined]
    kept = values[values < LARGEST_DRIFT] if mode == "released" else values
    return kept, {"undefined": int((~defined).sum()), "dropped": len(values) - len(kept)}


def localised(predicted: np.ndarray, true: np.ndarray) -> pd.DataFrame:
    """Compare counts in tiles.

    Parameters
    ----------
    predicted, true : ndarray of shape (N, T)
        Of N images (or images and classes) in T tiles each; at least 0.

    Returns
    -------
    DataFrame
        One row an image: ``TP`` and ``FP``, sums of min(c, g) and max(c - g, 0); ``MAE``, that of
        |c - g|; ``precision``, ``recall`` and ``f1``, where 0 / 0 is NaN.
    """
    c, g = np.asarray(predicted, np.float64), np.asarray(true, np.float64)
    right, wrong = np.minimum(c, g).sum(1), (c - g).clip(0).sum(1)
    precision, recall = quotient(right, right + wrong), quotient(right, g.sum(1))
    return pd.DataFrame(
        {
            "TP": right,
            "FP": wrong,
            "MAE": np.abs(c - g).sum(1),
            "precision": precision,
            "recall": recall,
            "f1": quotient(2 * precision * recall, precision + recall),
        }
    )


def quotient(part: np.ndarray, whole: np.ndarray, fill: float | np.ndarray = np.nan) -> np.ndarray:
    """Divide, where there is something to divide by.

    Parameters
    ----------
    part, whole : ndarray of shape (N,)
    fill : float or ndarray of shape (N,)
        The result where `whole` is not over 0.

    Returns
    -------
    ndarray of shape (N,)
    """
    return np.divide(part, whole, out=np.full(len(part), fill), where=whole > 0)
