"""Methods that are linear in one score or in several, and the constant that they have to beat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, product
from typing import Any

import numpy as np
import pandas as pd
from typing_extensions import Self

from autoeval.errors import InputError
from autoeval.model.pair_table import FEATURES, SAMPLE, SEED
from autoeval.model.regression import MIN_SOURCES, Regression
from autoeval.stability.methods.score_rows import Rows
from autoeval.stability.scores.agreement import StabilityAP
from autoeval.stability.scores.base import direction_of, feature_names
from autoeval.words import listed

OF_PAIRS = ("group", "category")
# Share of the rows that may lack a score that is to be selected among others.
MOST_UNDEFINED = 0.1
PENALTIES = (0.01, 0.03, 0.1)


class Constant:
    """The mean target of the training sources' own images, whatever the scores say.

    The baseline that every score has to beat (Yang et al. 2024, section 5.1). A target with a
    long tail, such as a counting error, is harder to beat by its median.

    Parameters
    ----------
    statistic : callable
        What is taken of the targets, an array of shape (n_sources,).
    """

    features: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    selected_: tuple[str, ...] = ()

    def __init__(self, statistic: Callable[[np.ndarray], Any] = np.mean) -> None:
        self.statistic = statistic

    def fit(self, rows: Rows, target: str) -> Self:
        """Take the statistic of `target` over the sources, or over their pairs with a category.

        Parameters
        ----------
        rows : Rows
            Of which the first of each source's own images is read, where it has the target; of rows
            of categories the first of each category there.
        target : str
            Column of the accuracy.
        """
        seeds = rows.of_kind(SEED)
        seeds = seeds.where(np.isfinite(seeds[target].astype(np.float64)))
        names = [seeds[name].astype(str) for name in ("source", "category") if name in seeds]
        first = np.unique(np.stack(names), axis=1, return_index=True)[1]
        self.value_ = float(self.statistic(seeds[target][first]))
        return self

    def predict(self, rows: Rows) -> np.ndarray:
        """Return the same value for each row.

        Parameters
        ----------
        rows : Rows
            Of which the number is read.
        """
        return np.full(len(rows), self.value_)


class Linear:
    """Ordinary least squares of mAP on score columns (Yang et al. 2024, section 4.1).

    Parameters
    ----------
    *features : str
        The columns.

    Attributes
    ----------
    coefficients_ : ndarray of shape (n_features + 1,)
        Slopes and, last, the intercept.

    Examples
    --------
    >>> columns = {name: np.zeros(3, int) for name in ("source", "sample_set", "repeat")}
    >>> bos, mean_ap = np.array([.2, .4, .6]), np.array([.1, .2, .3])
    >>> rows = Rows(**columns, kind=np.full(3, SAMPLE), bos=bos, mAP=mean_ap)
    >>> Linear("bos").fit(rows, "mAP").predict(Rows(bos=np.array([.8]))).round(3)
    array([0.4])
    """

    optional: tuple[str, ...] = ()

    def __init__(self, *features: str) -> None:
        self.features = features
        self.selected_ = features

    def fit(self, rows: Rows, target: str) -> Self:
        """Fit on the sample sets of the training sources; those that lack a feature are left out.

        Parameters
        ----------
        rows : Rows
            Of the training sources.
        target : str
            Column of the accuracy.

        Raises
        ------
        InputError
            If there is no sample set, or none has all features and the target.
        """
        samples = rows.of_kind(SAMPLE)
        x, y = samples.matrix(self.features), samples[target]
        usable = np.isfinite(x).all(axis=1) & np.isfinite(y)
        if not len(samples):
            raise InputError(
                f"A line through {', '.join(self.features)} is fitted on sample sets, of which "
                "there are none: give --n-sets N, or a preset other than light."
            )
        if not usable.any():
            raise InputError(
                f"Expected sample sets with finite {', '.join(self.features)} and {target} but all "
                f"{len(samples)} lack one of them: no box was found, or none is labelled."
            )
        self.coefficients_ = np.linalg.lstsq(_design(x[usable]), y[usable], rcond=None)[0]
        return self

    def predict(self, rows: Rows) -> np.ndarray:
        """Estimate the target for each row, NaN where a feature is not finite.

        Parameters
        ----------
        rows : Rows
            With the features.
        """
        x = rows.matrix(self.features)
        defined = np.all(np.isfinite(x), axis=1)
        return np.where(
            defined, _design(np.where(defined[:, None], x, 0)) @ self.coefficients_, np.nan
        )


def _design(x: np.ndarray) -> np.ndarray:
    return np.column_stack([x, np.ones(len(x))])


class BestThreshold:
    """Least squares on a thresholded score, at the threshold that explains training best.

    Source: Yang et al. 2024, section 5.1: the thresholds of PS, ES and ATC are set for the highest
    correlation in training.

    Parameters
    ----------
    *families : sequence of str, or str
        The columns of a score, one a threshold, such as ``ps@0.00`` to ``ps@0.95``, or one column;
        thresholds of several scores are chosen together.
    """

    optional: tuple[str, ...] = ()

    def __init__(self, *families: Sequence[str] | str) -> None:
        self.families = [(f,) if isinstance(f, str) else tuple(f) for f in families]
        self.features = tuple(chain(*self.families))

    def fit(self, rows: Rows, target: str) -> Self:
        """Choose the thresholds and fit; ties go to the lower threshold.

        A threshold at which more than a tenth of the sample sets have no value, or all have the
        same, is not considered.

        Parameters
        ----------
        rows : Rows
            Of the training sources.
        target : str
            Column of the accuracy.

        Raises
        ------
        InputError
            If no threshold of a score is left, and as `Linear.fit`.
        """
        samples = rows.of_kind(SAMPLE)
        choices = [_informative(family, samples) for family in self.families]
        fits = [Linear(*columns).fit(rows, target) for columns in product(*choices)]
        errors = [float(np.nanmean((fit.predict(samples) - samples[target]) ** 2)) for fit in fits]
        self.fitted_ = fits[int(np.argmin(errors))]
        self.selected_ = self.fitted_.selected_
        return self

    def predict(self, rows: Rows) -> np.ndarray:
        """Estimate the target for each row.

        Parameters
        ----------
        rows : Rows
            With the features that were chosen.
        """
        return self.fitted_.predict(rows)


def _informative(family: Sequence[str], samples: Rows) -> list[str]:
    """Keep the columns that most sample sets have and that vary; a column alone is always kept."""
    if len(family) == 1:
        return list(family)
    kept = [column for column in family if _is_informative(samples[column].astype(np.float64))]
    if not kept:
        raise InputError(
            f"Expected sample sets with finite {family[0]} to {family[-1]} that vary but of the "
            f"{len(samples)} of {listed(np.unique(samples['source']))} too many lack them or all "
            "are the same: does the detector find any box there?"
        )
    return kept


def _is_informative(values: np.ndarray) -> bool:
    finite = values[np.isfinite(values)]
    return len(finite) >= (1 - MOST_UNDEFINED) * len(values) and len(np.unique(finite)) > 1


def check_precision(method: str, target: str) -> None:
    """Refuse a target that is no average precision.

    Parameters
    ----------
    method : str
        Name of the method.
    target : str
        Column of the accuracy.

    Raises
    ------
    InputError
        Naming the method.
    """
    if not target.startswith("mAP"):
        raise InputError(
            f"The method {method!r} knows how scores go with mAP, not with {target}: use one of "
            "the other methods for it."
        )


class Bayes:
    """The line of `Regression`, fitted on the sources' own images.

    Parameters
    ----------
    features : tuple of str
        Columns that it reads where there are such, beside those of `OF_PAIRS`.
    optional : tuple of str
        Without any; see `Method`.
    """

    features: tuple[str, ...] = FEATURES
    optional: tuple[str, ...] = ()

    def fit(self, rows: Rows, target: str) -> Self:
        """Fit on the rows of the training sources.

        Parameters
        ----------
        rows : Rows
            Of the training sources.
        target : str
            Column of the accuracy.

        Raises
        ------
        InputError
            If it is no average precision, and as `Regression.fit`.
        """
        check_precision("bayes", target)
        names = [name for name in (*OF_PAIRS, *self.features) if name in rows]
        self._pairs = Regression(target=target).fit(_frame(rows, [*names, target]))
        self.selected_ = self._pairs.features_
        return self

    def predict(self, rows: Rows) -> np.ndarray:
        """Estimate the target for each row.

        Parameters
        ----------
        rows : Rows
            With the features.
        """
        table = _frame(rows, [n for n in ("category", *self.selected_) if n in rows])
        return self._pairs.distribution(table).mean


def _frame(rows: Rows, names: list[str]) -> pd.DataFrame:
    shared = ("source", "kind", "repeat", "n_images")
    present = [name for name in dict.fromkeys((*shared, *names)) if name in rows]
    table = pd.DataFrame({name: rows[name] for name in present})
    return table if "n_images" in table else table.assign(n_images=np.inf)


class Fused:
    """Ridge regression on confidence and agreement, in which no score may speak against accuracy.

    Scores of confidence and of agreement under dropout rise with mAP, the share of images without a
    box falls; no slope is allowed the other sign, which leaves most at 0. How far slopes are shrunk
    is chosen out of `PENALTIES` by the mean squared error on each group of training sources
    estimated without it. Each source weighs the same, its own images as much as its sample sets
    together. A score that more than a tenth of the rows lack is not considered; elsewhere a missing
    one counts as 0, since it is missing where the detector finds nothing.

    Attributes
    ----------
    selected_ : tuple of str
        Scores whose slope is not 0.
    coefficients_ : ndarray of shape (n_selected + 1,)
        Slopes and, last, the intercept.
    penalty_ : float
        Of `PENALTIES`, the one that was chosen.
    """

    features: tuple[str, ...] = (
        "no_box_share",
        "contrastive_confidence",
        *feature_names("atc")[4:13:2],  # .20, .30, ..., .60
        *StabilityAP.features,
    )
    optional: tuple[str, ...] = tuple(StabilityAP.features)

    def fit(self, rows: Rows, target: str) -> Self:
        """Choose the penalty and fit; with fewer than three groups it is the largest.

        Parameters
        ----------
        rows : Rows
            Of the training sources; without a column ``group`` each is a group of its own.
        target : str
            Column of the accuracy; rows where it is not finite are left out.

        Raises
        ------
        InputError
            If it is no average precision, or finite in no row.
        """
        check_precision("fused", target)
        rows = rows.where(np.isfinite(rows[target].astype(np.float64)))
        if not len(rows):
            raise InputError(f"Expected rows with finite {target} but there are none.")
        features = self._usable(rows)
        signs = np.array([float(direction_of(name)) for name in features])
        sources = np.unique(rows["source"], return_inverse=True)[1]
        # Sources of one origin are left out together: one would choose the penalty for its twins.
        names, groups = np.unique(
            rows["group" if "group" in rows else "source"], return_inverse=True
        )
        training = _Training(
            _worst_where_undefined(rows.matrix(features)) * signs,
            rows[target].astype(np.float64),
            _source_weights(sources, rows["kind"] == SEED),
        )
        self.penalty_ = PENALTIES[-1]
        if len(names) >= MIN_SOURCES:
            self.penalty_ = min(PENALTIES, key=lambda p: _held_out_error(training, groups, p))
        coefficients = training.fit(self.penalty_)
        coefficients[:-1] *= signs
        chosen = np.flatnonzero(coefficients[:-1])
        self.selected_ = tuple(features[k] for k in chosen)
        self.coefficients_ = coefficients[[*chosen, -1]]
        return self

    def predict(self, rows: Rows) -> np.ndarray:
        """Estimate the target for each row.

        Parameters
        ----------
        rows : Rows
            With the features that were selected.
        """
        return _apply(self.coefficients_, _worst_where_undefined(rows.matrix(self.selected_)))

    def _usable(self, rows: Rows) -> list[str]:
        """Return the scores that enough rows have."""
        present = [name for name in self.features if name in rows]
        undefined = np.mean(~np.isfinite(rows.matrix(present)), axis=0)
        return [n for n, share in zip(present, undefined, strict=True) if share <= MOST_UNDEFINED]


@dataclass(frozen=True)
class _Training:
    """Scores (N, P), targets (N,) and weights (N,)."""

    x: np.ndarray
    y: np.ndarray
    weights: np.ndarray

    def where(self, mask: np.ndarray) -> _Training:
        return _Training(self.x[mask], self.y[mask], self.weights[mask])

    def fit(self, penalty: float) -> np.ndarray:
        """Return P slopes, none negative, and the intercept.

        The penalty is on slopes per standard deviation, relative to the mean squared error.
        """
        root = np.sqrt(self.weights / self.weights.sum())
        centre = np.average(self.x, axis=0, weights=self.weights)
        middle = np.average(self.y, axis=0, weights=self.weights)
        spread = np.sqrt(np.average((self.x - centre) ** 2, axis=0, weights=self.weights))
        spread = np.where(spread > 1e-12, spread, np.inf)
        n_scores = self.x.shape[1]
        from scipy.optimize import nnls  # a quarter of a second that most commands save

        # The ridge penalty as rows of the design that ask for slopes of 0, by which non-negative
        # least squares solve it, too.
        design = np.vstack(
            [(self.x - centre) / spread * root[:, None], np.sqrt(penalty) * np.eye(n_scores)]
        )
        wanted = np.append((self.y - middle) * root, np.zeros(n_scores))
        slopes = nnls(design, wanted)[0] / spread if n_scores else np.zeros(0)
        return np.append(slopes, middle - slopes @ centre)


def _held_out_error(training: _Training, groups: np.ndarray, penalty: float) -> float:
    """Weighted squared error of every group of sources when fitted without it."""
    error = 0.0
    for group in range(groups.max() + 1):
        rest, left_out = training.where(groups != group), training.where(groups == group)
        estimates = np.clip(_apply(rest.fit(penalty), left_out.x), 0, 1)
        error += float(left_out.weights @ (estimates - left_out.y) ** 2)
    return error


def _apply(coefficients: np.ndarray, x: np.ndarray) -> np.ndarray:
    return x @ coefficients[:-1] + coefficients[-1]


def _worst_where_undefined(matrix: np.ndarray) -> np.ndarray:
    """Set to 0 what is undefined because nothing, or nothing that confident, was found."""
    return np.where(np.isfinite(matrix), matrix, 0.0)


def _source_weights(sources: np.ndarray, untouched: np.ndarray) -> np.ndarray:
    """Give every source the weight 1: half to its own images, half to its sample sets.

    A source that has only one of the two gives it the whole weight.
    """
    counts = np.zeros((2, sources.max() + 1))  # of sample sets and of own images, by source
    np.add.at(counts, (untouched.astype(int), sources), 1)
    kinds = (counts > 0).sum(axis=0)
    return 1 / (kinds[sources] * counts[untouched.astype(int), sources])
