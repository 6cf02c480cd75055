"""PrACo++: the negative-label test for images of several classes, and a model's result."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from autoeval.counting.measures.count_errors import check_mode
from autoeval.counting.praco.mosaic import quotient
from autoeval.counting.praco.praco_measures import aligned
from autoeval.counting.praco.result import Columns, Measured

LOCALISED = ("TP", "FP", "MAE", "precision", "recall", "f1")
HIGHER_IS_BETTER = ("PCCN", *(f"localised {m}" for m in ("TP", "precision", "recall", "f1")))


def plus_plus_by_image(counts: pd.DataFrame, class_counts: pd.DataFrame) -> pd.DataFrame:
    """Measure each image; its positive classes are those with a true count above 0.

    Over the cells that have a count there are: ``n_positive``, ``n_negative``, ``total`` (true
    count of all classes), ``negative_sum``, ``absolute`` and ``squared`` (sums of errors of the
    positive classes), ``near_one`` and ``near_average`` (1 or 0), and ``n_undefined`` cells. Near
    means that the mean error of the positive classes is below the mean distance of the negative
    counts from the positive classes' true counts, one after another (``near_one``), or from their
    average (``near_average``); NaN without both kinds of class.
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


def _localised_by_image(localised: pd.DataFrame, images: pd.Index) -> pd.DataFrame:
    """Sum the localised measures of the classes of each image, for `plus_plus`."""
    groups = localised.groupby("image")[list(LOCALISED)]
    sums = groups.sum().add_prefix("sum of ")
    return sums.join(groups.count().add_prefix("n of ")).reindex(images, fill_value=0)


def plus_plus(by_image: pd.DataFrame | Columns, mode: str = "paper") -> dict[str, float]:
    """Return macro (mean over images) and micro (over all cells) measures.

    ``MNP`` is the mean negative prediction, ``NMN`` the same over the image's total true count,
    ``PCCN`` in %. An image without negative classes, because it holds every class of the set,
    counts in ``"released"`` as 0 in the macro MNP and NMN and as a failure in PCCN, as in the
    authors' code, which divides by all images; ``"paper"`` leaves it out of the three. Localised
    measures follow where `by_image` has the columns of `_localised_by_image`.
    """
    check_mode(mode)
    v = {name: np.asarray(by_image[name], np.float64) for name in by_image}
    n, p = v["n_negative"], v["n_positive"]
    fill = 0.0 if mode == "released" else np.nan
    found = {
        "MNP macro": _macro(v["negative_sum"], n, fill),
        "MNP micro": _micro(v["negative_sum"], n),
        "NMN macro": _macro(v["negative_sum"], n * v["total"], fill),
        "NMN micro": _micro(v["negative_sum"], n * v["total"]),
        "PCCN one at a time": 100 * _average(_filled(v["near_one"], fill)),
        "PCCN average GT": 100 * _average(_filled(v["near_average"], fill)),
        "MAE macro": _macro(v["absolute"], p),
        "MAE micro": _micro(v["absolute"], p),
        "RMSE macro": _average(np.sqrt(quotient(v["squared"], p))),
        "RMSE micro": float(np.sqrt(_micro(v["squared"], p))),
    }
    for name in LOCALISED:
        if f"sum of {name}" in v:
            total, times = v[f"sum of {name}"], v[f"n of {name}"]
            found[f"localised {name} macro"] = _macro(total, times)
            found[f"localised {name} micro"] = _micro(total, times)
    return found


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
    return quotient(values.sum(1), n)


def _filled(values: np.ndarray, fill: float) -> np.ndarray:
    return np.where(np.isnan(values), fill, values)


def _average(values: np.ndarray) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")


def _macro(part: np.ndarray, whole: np.ndarray, fill: float = np.nan) -> float:
    return _average(quotient(part, whole, fill))


def _micro(part: np.ndarray, whole: np.ndarray) -> float:
    return float(part[whole > 0].sum() / whole.sum()) if whole.sum() > 0 else float("nan")


@dataclass(frozen=True, eq=False)
class PlusPlusResult(Measured):
    """The answers of one model and what follows from them.

    `counts` and `truth` are predicted and true counts, images by classes; `by_image` is from
    `plus_plus_by_image`. `localised` has ``image``, ``class`` and the columns of `mosaic.localised`
    for each class that an image holds, None for a model that gives counts only. `notes` say what is
    odd about the answers.
    """

    name: str
    counts: pd.DataFrame
    truth: pd.DataFrame
    by_image: pd.DataFrame
    localised: pd.DataFrame | None
    mode: str = "paper"
    notes: tuple[str, ...] = ()
    higher_is_better = HIGHER_IS_BETTER

    @cached_property
    def columns(self) -> dict[str, np.ndarray]:
        """Values of the images that the measures are made of, shape (N,) each."""
        table = self.by_image
        if self.localised is not None:
            table = table.join(_localised_by_image(self.localised, table.index))
        return {name: table[name].to_numpy(np.float64) for name in table}

    def measure_columns(self, columns: Columns) -> dict[str, float]:
        """Return the measures of `plus_plus`, the localised ones among them."""
        return plus_plus(columns, self.mode)

    def by_class(self) -> pd.DataFrame:
        """One row a class: images with it, their mean true count and MAE, the count where absent.

        ``bias`` is predicted minus true; values are NaN where there are no such images.
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
