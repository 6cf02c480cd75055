"""What one model's answers to several classes an image amount to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from autoeval.counting.praco.plus_plus import localised_by_image, plus_plus
from autoeval.counting.praco.table_measures import take

HIGHER_IS_BETTER = ("PCCN", *(f"localised {m}" for m in ("TP", "precision", "recall", "f1")))


@dataclass(frozen=True, eq=False)
class PlusPlusResult:
    """The answers of one model and what follows from them.

    Parameters
    ----------
    name : str
        Of the model.
    counts, truth : DataFrame
        Predicted and true counts, images by classes.
    by_image : DataFrame
        As `plus_plus_by_image` returns it.
    localised : DataFrame or None
        ``image``, ``class`` and the columns of `autoeval.counting.praco.tiles.localised` for each
        class that an image holds; None for a model that gives counts only.
    mode : {"released", "paper"}
        See `plus_plus`.
    notes : tuple of str
        What is odd about the answers, one sentence each.
    """

    name: str
    counts: pd.DataFrame
    truth: pd.DataFrame
    by_image: pd.DataFrame
    localised: pd.DataFrame | None
    mode: str = "paper"
    notes: tuple[str, ...] = ()

    @cached_property
    def columns(self) -> dict[str, np.ndarray]:
        """Values of the images that the measures are made of, shape (N,) each."""
        table = self.by_image
        if self.localised is not None:
            table = table.join(localised_by_image(self.localised, table.index))
        return {name: table[name].to_numpy(np.float64) for name in table}

    @property
    def images(self) -> pd.Index:
        """Ids of the images."""
        return self.by_image.index

    def measures(self) -> dict[str, float]:
        """Return the measures of `plus_plus`, the localised ones among them."""
        return plus_plus(self.columns, self.mode)

    def measure(self, rows: np.ndarray) -> dict[str, float]:
        """Return the measures of the images with the given indices, which may repeat."""
        return plus_plus(take(self.columns, rows), self.mode)

    def rises(self, measure: str) -> bool:
        """Tell whether a larger value of the measure is a better one."""
        return measure.startswith(HIGHER_IS_BETTER)

    def by_class(self) -> pd.DataFrame:
        """One row a class: images with it, their mean true count and MAE, the count where absent.

        Returns
        -------
        DataFrame
            ``class``, ``images with it``, ``mean true count``, ``MAE``, ``bias`` (predicted minus
            true), and ``mean count where absent``; NaN where there are no such images.
        """
        held = self.truth > 0
        error = self.counts - self.truth
        rows = {
            "images with it": held.sum(),
            "mean true count": self.truth.where(held).mean(),
            "MAE": error.abs().where(held).mean(),
            "bias": error.where(held).mean(),
            "mean count where absent": self.counts.where(~held).mean(),
        }
        return pd.DataFrame(rows).rename_axis("class").reset_index()
