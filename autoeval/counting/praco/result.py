"""What one model's answers amount to, and how two models differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import pandas as pd

from autoeval.counting.measures.intervals import Interval, bootstrap_intervals
from autoeval.counting.praco.mosaic_measures import measure_mosaics, mosaics_by_image
from autoeval.counting.praco.negative_measures import negative_by_image
from autoeval.counting.praco.table_measures import (
    HIGHER_IS_BETTER,
    image_columns,
    measure_images,
    take,
)

UNDEFINED = {
    "n_missing": "mosaics without a count",
    "n_undefined_precision": "mosaics with undefined precision",
    "n_undefined_f1": "mosaics with undefined F1",
    "n_clamped": "mosaics with a part below 0, taken as 0",
}


@dataclass(eq=False)
class PracoResult:
    """The answers of one model and what follows from them.

    Parameters
    ----------
    name : str
        Of the model.
    counts : DataFrame
        Predicted counts, images by classes.
    truth : DataFrame
        ``category`` and ``count`` of each image.
    mosaics : DataFrame, optional
        As `measure_mosaics` takes them; None where the model did not take the mosaic test.
    mode : {"released", "paper"}
        Of all measures.
    notes : tuple of str
        What is odd about the answers, one sentence each.

    Attributes
    ----------
    by_image : DataFrame
        `negative_by_image`, joined with `mosaics_by_image` where there are mosaics.
    measured : DataFrame or None
        `measure_mosaics`.
    """

    name: str
    counts: pd.DataFrame
    truth: pd.DataFrame
    mosaics: pd.DataFrame | None = None
    mode: str = "released"
    notes: tuple[str, ...] = ()
    by_image: pd.DataFrame = field(init=False, repr=False)
    measured: pd.DataFrame | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        self.by_image = negative_by_image(self.counts, self.truth, self.mode)
        if self.mosaics is not None:
            self.measured = measure_mosaics(self.mosaics, self.truth)
            self.by_image = self.by_image.join(mosaics_by_image(self.measured, self.mode))

    def measures(self) -> dict[str, float]:
        """Return the measures of the published table; NaN where nothing defines one."""
        return measure_images(image_columns(self.by_image), self.mode)

    def intervals(self, *, n_resamples: int = 1000, seed: int = 0) -> dict[str, Interval]:
        """Return each measure with its 95 % interval, whole images resampled.

        The mosaics of one upper image stay together; that an image also comes up as the lower one
        of several mosaics is not accounted for.
        """
        columns = image_columns(self.by_image)
        return bootstrap_intervals(
            lambda rows: measure_images(take(columns, rows), self.mode),
            self.by_image.index.to_numpy(),
            n_resamples=n_resamples,
            seed=seed,
        )

    def undefined(self) -> dict[str, int]:
        """Count the cells that could not enter a measure, and those changed on the way there."""
        asked = self.counts.loc[self.truth.index]
        found = {
            "prompts": asked.size,
            "prompts without a count": int(self.by_image["n_undefined"].sum()),
            "prompts with a count below 0": int((asked < 0).to_numpy().sum()),
        }
        if self.measured is not None:
            found["mosaics"] = len(self.measured)
            found |= {text: int(self.by_image[flag].sum()) for flag, text in UNDEFINED.items()}
        return found


def compare(
    results: Sequence[PracoResult], *, n_resamples: int = 1000, seed: int = 0
) -> pd.DataFrame:
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


def _differences(a: PracoResult, b: PracoResult, n_resamples: int, seed: int) -> list[tuple]:
    common = a.by_image.index.intersection(b.by_image.index, sort=False)
    of_a, of_b = (image_columns(result.by_image.loc[common]) for result in (a, b))

    def differences(rows: np.ndarray) -> dict[str, float]:
        first = measure_images(take(of_a, rows), a.mode)
        second = measure_images(take(of_b, rows), b.mode)
        return {name: first[name] - second[name] for name in first if name in second}

    found = bootstrap_intervals(differences, common.to_numpy(), n_resamples=n_resamples, seed=seed)
    return [
        (a.name, b.name, k, d.value, d.low, d.high, len(common), _better(k, d, a.name, b.name))
        for k, d in found.items()
    ]


def _better(measure: str, difference: Interval, a: str, b: str) -> str:
    if not (difference.low > 0 or difference.high < 0):
        return ""
    return a if (difference.low > 0) == (measure in HIGHER_IS_BETTER) else b
