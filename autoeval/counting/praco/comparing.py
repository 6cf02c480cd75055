"""The measures of PrACo's table, and their differences between two models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Protocol

import numpy as np
import pandas as pd

from autoeval.counting.measures.binned import check_mode
from autoeval.counting.measures.bootstrap import MeasureInterval, bootstrap_intervals

Columns = Mapping[str, np.ndarray]
OWN_RECALL = "CntR without the spurious cell"
MEASURES = ("NMN", "PCCN", "CntP", "CntR", "CntF1", "MAE", "RMSE")
PLACES = {
    "localised MAE": "localised MAE",
    "localised CntP": "localised precision",
    "localised CntR": "localised recall",
    "localised CntF1": "localised f1",
}
HIGHER_IS_BETTER = frozenset(
    {"PCCN", "CntP", "CntR", "CntF1", OWN_RECALL, *(m for m in PLACES if "Cnt" in m)}
)
COLUMNS = ("nmn", "near", "error", "precision", "recall", "own_recall", "f1", *PLACES.values())


class Measured(Protocol):
    """Answers of one model that can be measured on any choice of images."""

    @property
    def name(self) -> str:
        """Of the model."""
        ...

    @property
    def images(self) -> pd.Index:
        """Ids of the images."""
        ...

    def measure(self, rows: np.ndarray) -> dict[str, float]:
        """Return the measures of the images with the given indices, which may repeat."""
        ...

    def rises(self, measure: str) -> bool:
        """Tell whether a larger value of the measure is a better one."""
        ...


def intervals_of(
    result: Measured, *, n_resamples: int = 1000, seed: int = 0
) -> dict[str, MeasureInterval]:
    """Return each measure with its 95 % interval, whole images resampled."""
    images = result.images.to_numpy()
    return bootstrap_intervals(result.measure, images, n_resamples=n_resamples, seed=seed)


def compare(results: Sequence[Measured], *, n_resamples: int = 1000, seed: int = 0) -> pd.DataFrame:
    """Differences between every two models on the images both have, resampled in pairs.

    Returns
    -------
    DataFrame
        ``A``, ``B``, ``measure``, ``difference`` (A - B), ``low`` and ``high`` of its 95 %
        interval, ``images``, and ``better``: the better model where the interval excludes 0, else
        empty.
    """
    rows = [
        row for a, b in combinations(results, 2) for row in _differences(a, b, n_resamples, seed)
    ]
    names = ["A", "B", "measure", "difference", "low", "high", "images", "better"]
    return pd.DataFrame(rows, columns=names)


def _differences(
    a: Measured, b: Measured, n_resamples: int, seed: int
) -> list[tuple[str, str, str, float, float, float, int, str]]:
    common = a.images.intersection(b.images, sort=False)
    at_a, at_b = (result.images.get_indexer(common) for result in (a, b))

    def differences(rows: np.ndarray) -> dict[str, float]:
        first, second = a.measure(at_a[rows]), b.measure(at_b[rows])
        return {name: first[name] - second[name] for name in first if name in second}

    found = bootstrap_intervals(differences, common.to_numpy(), n_resamples=n_resamples, seed=seed)
    return [
        (a.name, b.name, k, d.value, d.low, d.high, len(common), _better(a, b, k, d))
        for k, d in found.items()
    ]


def _better(a: Measured, b: Measured, measure: str, difference: MeasureInterval) -> str:
    if not (difference.low > 0 or difference.high < 0):
        return ""
    return a.name if (difference.low > 0) == a.rises(measure) else b.name


def measure_images(columns: Columns, mode: str = "paper") -> dict[str, float]:
    """Return NMN, PCCN (%), MAE and RMSE and, where there are mosaics, CntP, CntR and CntF1.

    Parameters
    ----------
    columns : mapping of str to ndarray of shape (N,)
        As `image_columns` gives them; NaN is left out of a mean.
    mode : {"released", "paper"}
        CntF1 is the mean of the mosaics' F1 in ``released`` (which the published table shows) and
        the harmonic mean of CntP and CntR in ``paper`` (equation 7). ``released`` adds the recall
        without the spurious cell. Where mosaics were counted tile by tile, the measures of `PLACES`
        (PrACo++) follow: means over the mosaics of an image, then over images.

    Returns
    -------
    dict of str to float
        NaN where no image defines a measure.
    """
    check_mode(mode)
    found = {"NMN": _mean(columns["nmn"]), "PCCN": 100 * _mean(columns["near"])}
    if "precision" in columns:
        p, r = _mean(columns["precision"]), _mean(columns["recall"])
        f1 = _mean(columns["f1"]) if mode == "released" else _harmonic(p, r)
        found |= {"CntP": p, "CntR": r, "CntF1": f1}
    error = columns["error"]
    found |= {"MAE": _mean(error), "RMSE": float(np.sqrt(_mean(error**2)))}
    if "precision" in columns and mode == "released":
        found[OWN_RECALL] = _mean(columns["own_recall"])
    return found | {name: _mean(columns[c]) for name, c in PLACES.items() if c in columns}


def image_columns(by_image: pd.DataFrame) -> dict[str, np.ndarray]:
    """Return the values of images that the measures are made of, shape (N,) each."""
    return {name: by_image[name].to_numpy(np.float64) for name in COLUMNS if name in by_image}


def take(columns: Columns, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Return the values of the images with the given indices."""
    return {name: values[rows] for name, values in columns.items()}


def _mean(values: np.ndarray) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")


def _harmonic(p: float, r: float) -> float:
    return 2 * p * r / (p + r) if p + r > 0 else float("nan")
