"""Counting precision, recall and F1, and the drift of the count of the upper image."""

from __future__ import annotations

import numpy as np
import pandas as pd

from autoeval.counting.measures.binned import check_mode
from autoeval.counting.praco.tiles import localised

LARGEST_DRIFT = 50.0
LOCALISED = {
    "localised MAE": "MAE",
    "localised precision": "precision",
    "localised recall": "recall",
    "localised f1": "f1",
}


def measure_mosaics(mosaics: pd.DataFrame, truth: pd.DataFrame) -> pd.DataFrame:
    """Measure each mosaic.

    Parameters
    ----------
    mosaics : DataFrame
        ``positive`` (image id), ``upper`` and ``lower``, the counts of the two parts. Counts below
        0 are taken as 0; a mosaic without both is undefined.
    truth : DataFrame
        ``count`` of each image (index). Mosaics whose upper image is not in it are left out.

    Returns
    -------
    DataFrame
        The rows of ``mosaics`` with ``count``, ``precision`` = min(u, g) / (u + l), ``recall`` =
        min(u, g) / g (equations 5 and 6) and ``f1``, their harmonic mean; 0 / 0 is NaN. Where
        mosaics have ``tiles`` and ``true_tiles``, the columns of `LOCALISED` follow.

    Examples
    --------
    >>> mosaics = pd.DataFrame({"positive": ["a", "a"], "upper": [3., 0.], "lower": [1., 0.]})
    >>> truth = pd.DataFrame({"count": [2]}, index=["a"])
    >>> measure_mosaics(mosaics, truth)[["precision", "recall", "f1"]].round(3)
       precision  recall     f1
    0        0.5     1.0  0.667
    1        NaN     0.0    NaN
    """
    table = mosaics[mosaics["positive"].isin(truth.index)].copy()
    table["count"] = truth["count"].reindex(table["positive"]).to_numpy(np.float64)
    g = table["count"].to_numpy()
    upper, lower = (table[part].to_numpy(np.float64).clip(0) for part in ("upper", "lower"))
    undefined = np.isnan(upper) | np.isnan(lower)
    right = np.minimum(upper, g)
    table["precision"] = _ratio(right, upper + lower)
    table["recall"] = np.where(undefined, np.nan, right / g)
    p, r = table["precision"].to_numpy(), table["recall"].to_numpy()
    table["f1"] = _ratio(2 * p * r, p + r)
    return _localise(table)


def mosaics_by_image(measured: pd.DataFrame, mode: str = "paper") -> pd.DataFrame:
    """Average the mosaics of each upper image.

    Parameters
    ----------
    measured : DataFrame
        As `measure_mosaics` returns it.
    mode : {"released", "paper"}
        ``"released"`` counts every cell without an upper count as a mosaic with recall 1, as the
        authors' code does: the mosaics without an answer, and the empty cell of the positive class.
        Without unanswered ones, the mean recall R of the other C - 1 becomes ((C - 1) R + 1) / C.
        ``own_recall`` is R, over the answered mosaics, in both modes.

    Returns
    -------
    DataFrame
        Indexed by ``image_id``: ``precision``, ``recall``, ``own_recall``, ``f1`` (means over the
        mosaics where each is defined), the columns of `LOCALISED` where there are any,
        ``n_mosaics``, and how many of them have no count
        (``n_missing``), no precision (``n_undefined_precision``), no F1 (``n_undefined_f1``) or a
        part below 0 that was taken as 0 (``n_clamped``).
    """
    check_mode(mode)
    below = (measured["upper"] < 0) | (measured["lower"] < 0)
    groups = measured.assign(
        n_missing=measured["recall"].isna(),
        n_undefined_precision=measured["precision"].isna(),
        n_undefined_f1=measured["f1"].isna(),
        n_clamped=below,
    ).groupby("positive", sort=False)
    places = [name for name in LOCALISED if name in measured]
    means = groups[["precision", "recall", "f1", *places]].mean()
    table = means.assign(own_recall=means["recall"], n_mosaics=groups.size())
    flags = ["n_missing", "n_undefined_precision", "n_undefined_f1", "n_clamped"]
    table[flags] = groups[flags].sum()
    if mode == "released":
        upper, count = (measured[name].to_numpy(np.float64) for name in ("upper", "count"))
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
        As `measure_mosaics` returns it.
    positive : Series
        Count of the own class in each image alone, by image id.
    mode : {"released", "paper"}
        ``"released"`` drops values of 50 and more.

    Returns
    -------
    values : ndarray of shape (M,), float64
        |u - c| / c of each mosaic where it is defined.
    left_out : dict of str to int
        ``"undefined"``: mosaics without a count, or whose image alone was counted 0 or below;
        ``"dropped"``: values of 50 and more.
    """
    check_mode(mode)
    alone = positive.reindex(measured["positive"]).to_numpy(np.float64)
    upper = measured["upper"].to_numpy(np.float64).clip(0)
    defined = (alone > 0) & ~np.isnan(upper)
    values = np.abs(upper[defined] - alone[defined]) / alone[defined]
    kept = values[values < LARGEST_DRIFT] if mode == "released" else values
    return kept, {"undefined": int((~defined).sum()), "dropped": len(values) - len(kept)}


def _localise(table: pd.DataFrame) -> pd.DataFrame:
    if "tiles" not in table:
        return table
    lengths = table["tiles"].map(lambda tiles: len(tiles) if isinstance(tiles, list) else 0)
    placed = table[(lengths > 0) & (lengths == lengths.max())]
    if not len(placed):
        return table
    found = localised(np.array([*placed["tiles"]]), np.array([*placed["true_tiles"]]))
    renamed = {of_tiles: name for name, of_tiles in LOCALISED.items()}
    named = found[list(renamed)].rename(columns=renamed).set_index(placed.index)
    return table.join(named)


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)
