"""Two models on the same images: every measure's difference, with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Protocol

import numpy as np
import pandas as pd

from autoeval.counting.measures.bootstrap import MeasureInterval, bootstrap_intervals


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
