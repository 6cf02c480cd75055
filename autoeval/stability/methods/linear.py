"""Methods that are linear in scores, and the constant that they have to beat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, product
from typing import Any

import numpy as np
import pandas as pd
from typing_extensions import Self

from autoeval.errors import InputError
from autoeval.estimation.score_table import SAMPLE, SEED
from autoeval.model.features import FEATURES
from autoeval.model.regression import Regression
from autoeval.stability.methods.score_rows import Rows

OF_PAIRS = ("group", "category")
# Share of the rows that may lack a score that is to be selected among others.
MOST_UNDEFINED = 0.1


class Constant:
    """The mean target of the training sources' own images, whatever the scores say.

    The baseline that every score has to beat (Yang et al. 2024, section 5.1). A target with a
    long tail, such as a counting error, is harder to beat by its median.

    statistic: what is taken of the targets, an array of shape (n_sources,).
    """

    features: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    selected_: tuple[str, ...] = ()

    def __init__(self, statistic: Callable[[np.ndarray], Any] = np.mean) -> None:
        self.statistic = statistic

    def fit(self, rows: Rows, target: str) -> Self:
        """Take the statistic of `target` over the sources."""
        seeds = rows.of_kind(SEED)
        first = np.unique(seeds["source"], return_index=True)[1]
        self.value_ = float(self.statistic(seeds[target][first]))
        return self

    def predict(self, rows: Rows) -> np.ndarray:
        """Return the same value for each row."""
        return np.full(len(rows), self.value_)


class Linear:
    """Ordinary least squares of mAP on score columns (paper: section 4.1).

    coefficients_ (n_features + 1,): slopes and, last, the intercept.
    """

    optional: tuple[str, ...] = ()

    def __init__(self, *features: str) -> None:
        self.features = features
        self.selected_ = features

    def fit(self, rows: Rows, target: str) -> Self:
        """Fit on the sample sets of the training sources."""
        samples = rows.of_kind(SAMPLE)
        x, y = samples.matrix(self.features), samples[target]
        usable = np.isfinite(x).all(axis=1) & np.isfinite(y)
        if not len(samples):
            raise InputError(
                f"A line through {', '.join(self.features)} is fitted on sample sets, of which "
                "there are none: give --metaset n_sets=N, or a preset other than light."
            )
        if not usable.any():
            raise InputError(
                f"Expected sample sets with finite {', '.join(self.features)} and {target} but all "
                f"{len(samples)} lack one of them: no box was found, or none is labelled."
            )
        self.coefficients_ = np.linalg.lstsq(_design(x[usable]), y[usable], rcond=None)[0]
        return self

    def predict(self, rows: Rows) -> np.ndarray:
        """Estimate `target` for each row."""
        x = rows.matrix(self.features)
        defined = np.isfinite(x).all(axis=1)
        return np.where(
            defined, _design(np.where(defined[:, None], x, 0)) @ self.coefficients_, np.nan
        )


def _design(x: np.ndarray) -> np.ndarray:
    return np.column_stack([x, np.ones(len(x))])


class BestThreshold:
    """Least squares on a thresholded score, at the threshold that explains training best.

    Source: paper, section 5.1: the thresholds of PS, ES and ATC are set for the highest correlation
    in training.

    *families: the columns of a score, one a threshold, such as ``ps@0.00`` to ``ps@0.95``, or one
        column; thresholds of several scores are chosen together.
    """

    optional: tuple[str, ...] = ()

    def __init__(self, *families: Sequence[str] | str) -> None:
        self.families = [(f,) if isinstance(f, str) else tuple(f) for f in families]
        self.features = tuple(chain(*self.families))

    def fit(self, rows: Rows, target: str) -> Self:
        """Choose the thresholds and fit; ties go to the lower threshold.

        A threshold at which more than a tenth of the sample sets have no value, or all have the
        same, is not considered.
        """
        samples = rows.of_kind(SAMPLE)
        choices = [_informative(family, samples) for family in self.families]
        fits = [Linear(*columns).fit(rows, target) for columns in product(*choices)]
        errors = [float(np.nanmean((fit.predict(samples) - samples[target]) ** 2)) for fit in fits]
        self.fitted_ = fits[int(np.argmin(errors))]
        self.selected_ = self.fitted_.selected_
        return self

    def predict(self, rows: Rows) -> np.ndarray:
        """Estimate the target for each row."""
        return self.fitted_.predict(rows)


def _informative(family: Sequence[str], samples: Rows) -> list[str]:
    """Keep the columns that most sample sets have and that vary; a column alone is always kept."""
    if len(family) == 1:
        return list(family)
    kept = [column for column in family if _is_informative(samples[column].astype(np.float64))]
    if not kept:
        raise InputError(
            f"Expected sample sets with finite {family[0]} to {family[-1]} that vary "
            "but too many lack them or all are the same: does the detector find any box?"
        )
    return kept


def _is_informative(values: np.ndarray) -> bool:
    finite = values[np.isfinite(values)]
    return len(finite) >= (1 - MOST_UNDEFINED) * len(values) and len(np.unique(finite)) > 1


def check_precision(method: str, target: str) -> None:
    """Refuse a target that is no average precision."""
    if not target.startswith("mAP"):
        raise InputError(
            f"The method {method!r} knows how scores go with mAP, not with {target}: use one of "
            "the other methods for it."
        )


class Bayes:
    """The line of `Regression`, fitted on the sources' own images."""

    features: tuple[str, ...] = FEATURES
    optional: tuple[str, ...] = ()

    def fit(self, rows: Rows, target: str) -> Self:
        """Fit on the rows of the training sources."""
        check_precision("bayes", target)
        names = [name for name in (*OF_PAIRS, *self.features) if name in rows]
        self._pairs = Regression(target=target).fit(_frame(rows, [*names, target]))
        self.selected_ = self._pairs.features_
        return self

    def predict(self, rows: Rows) -> np.ndarray:
        """Estimate the target for each row."""
        table = _frame(rows, [n for n in ("category", *self.selected_) if n in rows])
        return self._pairs.distribution(table).mean


def _frame(rows: Rows, names: list[str]) -> pd.DataFrame:
    shared = ("source", "kind", "repeat", "n_images")
    present = [name for name in dict.fromkeys((*shared, *names)) if name in rows]
    table = pd.DataFrame({name: rows[name] for name in present})
    return table if "n_images" in table else table.assign(n_images=np.inf)
