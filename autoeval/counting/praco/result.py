"""What one model's answers amount to."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from autoeval.counting.praco.comparing import (
    HIGHER_IS_BETTER,
    image_columns,
    measure_images,
    take,
)
from autoeval.counting.praco.praco_measures import (
    measure_mosaics,
    mosaics_by_image,
    negative_by_image,
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
    mode: str = "paper"
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
        return measure_images(self.columns, self.mode)

    @cached_property
    def columns(self) -> dict[str, np.ndarray]:
        """Values of the images that the measures are made of, shape (N,) each."""
        return image_columns(self.by_image)

    @property
    def images(self) -> pd.Index:
        """Ids of the images."""
        return self.by_image.index

    def measure(self, rows: np.ndarray) -> dict[str, float]:
        """Return the measures of the images with the given indices, which may repeat.

        The mosaics of one upper image stay together; that an image also comes up as the lower one
        of several mosaics is not accounted for when images are resampled.
        """
        return measure_images(take(self.columns, rows), self.mode)

    def rises(self, measure: str) -> bool:
        """Tell whether a larger value of the measure is a better one."""
        return measure in HIGHER_IS_BETTER

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
