"""The regression on pairs, as an estimator uses it: from score tables to an `Estimate`."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np
import pandas as pd
from typing_extensions import Self

from autoeval.errors import InputError
from autoeval.estimation.advice import advice
from autoeval.estimation.estimate import Estimate
from autoeval.estimation.guards import guards
from autoeval.estimation.intervals import MIN_SOURCES
from autoeval.estimation.pairs.new_places import NewPlaces
from autoeval.estimation.pairs.pair_estimator import PairEstimator
from autoeval.estimation.pairs.pair_table import ONLY, pair_rows
from autoeval.estimation.pairs.tightness import tightness
from autoeval.estimation.regression import Told, tell
from autoeval.estimation.sampling import sampling_error
from autoeval.estimation.score_table import Rows, sources
from autoeval.targets import find_target

NAME = "bayes"
TOGETHER = ("mAP", "mAP50", "mAP75")


class PairRegression:
    """Regresses accuracy on scores over pairs of place and category; see `PairEstimator`.

    Parameters
    ----------
    method : str
        `NAME`.
    target : {"mAP", "mAP50", "mAP75"}
    level : float
        Nominal coverage of the interval, over 0 and under 1.

    Attributes
    ----------
    table_ : DataFrame
        The rows it was fitted on.
    sources_, categories_ : list of str
    training_range_ : dict of str to tuple of float
        Smallest and largest value over the pairs, for each score that the estimate uses.
    """

    def __init__(self, method: str = NAME, *, target: str = "mAP", level: float = 0.9) -> None:
        self.method = method
        self.target = target
        self.level = level

    def fit(self, table: pd.DataFrame) -> Self:
        """Fit on a score table or a pair table, for each of `TOGETHER` that it holds.

        Raises
        ------
        InputError
            If the target is not a precision, the level is none, or as `PairEstimator.fit`.
        """
        _check(self.target, self.level)
        self.table_ = table.reset_index(drop=True)
        self.sources_ = sources(table)
        wanted = dict.fromkeys([self.target, *(name for name in TOGETHER if name in table)])
        self._by_target = {
            name: PairEstimator(target=name, level=self.level).fit(table) for name in wanted
        }
        rows = self.pairs.rows_
        self.categories_ = self.pairs.categories_
        self.training_range_ = {
            name: (float(rows[name].min()), float(rows[name].max())) for name in self.features_
        }
        return self

    @property
    def pairs(self) -> PairEstimator:
        """The estimator of the target itself."""
        return self._by_target[self.target]

    @property
    def features_(self) -> tuple[str, ...]:
        """Scores that it reads."""
        return self.pairs.features_

    @cached_property
    def held_out_(self) -> pd.DataFrame:
        """Every pair as the other families estimate it; see `PairEstimator.held_out`."""
        return self.pairs.held_out()

    @property
    def residuals_(self) -> np.ndarray:
        """Absolute error of each family when it is left out; empty with fewer than three."""
        if len(self.pairs.families_) < MIN_SOURCES:
            return np.zeros(0)
        errors = (self.held_out_["raw"].clip(0, 1) - self.held_out_["true"]).abs()
        return errors.groupby(self.held_out_["family"], sort=False).mean().to_numpy()

    def predict_rows(self, rows: pd.DataFrame, *, backbone: str = "ResNet") -> Estimate:
        """Estimate from the scores of one set of images: a category, or the mean over several.

        Parameters
        ----------
        rows : DataFrame
            Scores of a new place: of one category, of several in columns ``score/category``, or
            one row a category with a column ``category``. Of repeats the first is read.
        backbone : str
            Class name of the detector's backbone, for the guards.

        Raises
        ------
        InputError
            If a score is missing.
        """
        asked = self._asked(rows)
        sampling = sampling_error(rows.head(1), self.features_, self._drawn(asked))
        if sampling.n_units:
            asked = asked.assign(n_images=sampling.n_units)
        told = self._mean(self.target, asked)
        features = {name: _mean(asked[name]) for name in self.features_}
        n_images = int(rows["n_images"].max())
        doubts = guards(
            told.value,
            features,
            self.training_range_,
            n_images=n_images,
            skipped_share=0.0,
            backbone=backbone,
        )
        beside = {n: _plain(self._mean(n, asked)) for n in self._by_target if n != self.target}
        values = {self.target: told.value, **{name: of["value"] for name, of in beside.items()}}
        tight = tightness(self.pairs.rows_, values)
        return Estimate(
            value=told.value,
            std=math.nan,
            lower=told.lower,
            upper=told.upper,
            level=self.level,
            interval_method=_method(told),
            target=self.target,
            method=self.method,
            n_images=n_images,
            features=features,
            guards=(*outside(told), *doubts, *tight, *sampling.doubts),
            sampling_std=sampling.std,
            per_category=self._per_category(asked),
            raw=told.raw,
            beside=beside,
            advice=advice(told),
        )

    def places(self, rows: pd.DataFrame) -> NewPlaces:
        """Set several new places side by side.

        Parameters
        ----------
        rows : DataFrame
            As in `predict_rows`, one row each, with a column ``place``.

        Raises
        ------
        InputError
            If a score is missing.
        """
        return NewPlaces(self.pairs, self._asked(rows), level=self.level)

    def predict_repeats(self, rows: pd.DataFrame) -> np.ndarray:
        """Return the estimate for each repeat: no score that it reads differs between them."""
        repeats = rows["repeat"].nunique() if "repeat" in rows else 1
        return np.full(repeats, self._mean(self.target, self._asked(rows)).value)

    def predict_left_out(self) -> np.ndarray:
        """Estimate each row of `table_` without its family, shape (N,).

        NaN with a single family, and in a table whose rows hold several categories.
        """
        estimates = np.full(len(self.table_), np.nan)
        if any("/" in str(name) for name in self.table_):
            return estimates
        rows = self.table_.assign(family=_families(self.table_))
        for family in self.pairs.families_ if len(self.pairs.families_) > 1 else ():
            own = (rows["family"] == family).to_numpy()
            rest = PairEstimator(target=self.target, level=self.level, features=self.features_)
            estimates[own] = rest.fit(rows[~own]).distribution(rows[own]).mean
        return np.clip(estimates, 0, 1)

    def _asked(self, rows: pd.DataFrame) -> pd.DataFrame:
        asked = pair_rows(rows.assign(kind="seed"))
        if (asked["category"] == ONLY).all() and self.pairs.single:
            asked = asked.assign(category=self.categories_[0])
        return asked

    def _drawn(self, asked: pd.DataFrame) -> Callable[[Rows], np.ndarray]:
        """Make what estimates sets of images that were drawn again, for the first category."""

        def predict(drawn: Rows) -> np.ndarray:
            names = [name for name in self.features_ if name in drawn]
            rows = pd.DataFrame({name: drawn[name] for name in names})
            same = asked.iloc[0][["category", "n_images"]].to_dict()
            return self.pairs.distribution(rows.assign(**same)).mean

        return predict

    def _mean(self, target: str, asked: pd.DataFrame) -> Told:
        return self._by_target[target].predict_mean(asked)

    def _per_category(self, asked: pd.DataFrame) -> dict[str, dict[str, float]]:
        if len(asked) < 2:
            return {}
        each = tell(self.pairs.distribution(asked), self.level)
        return {str(name): _plain(told) for name, told in zip(asked["category"], each, strict=True)}


def _check(target: str, level: float) -> None:
    find_target(target)
    if not target.startswith("mAP"):
        raise InputError(
            f"The method '{NAME}' knows how scores go with mAP, not with {target}: use one of the "
            "other methods for it."
        )
    if not 0 < level < 1:
        raise InputError(f"Expected a level over 0 and under 1, such as 0.9, but got {level}.")


def _families(table: pd.DataFrame) -> pd.Series:
    return table["family"].fillna(table["source"]) if "family" in table else table["source"]


def _mean(values: pd.Series) -> float:
    return float(values.mean()) if values.notna().any() else math.nan


def _plain(told: Told) -> dict[str, float]:
    return {"value": told.value, "lower": told.lower, "upper": told.upper}


def _method(told: Told) -> str:
    if told.refused:
        return f"none: nothing can be told, errors of ±{100 * told.reach:.0f} are to be expected"
    return "predictive"


def outside(told: Told) -> tuple[str, ...]:
    """Say, where an accuracy is told outside what is possible, what follows from that."""
    if not told.outside:
        return ()
    return (
        f"{told.outside} what these sources can tell: the line through them is at "
        f"{100 * told.raw:.0f} points here, so it is off by at least as much, and the interval "
        "from the edge is wider by that",
    )
