"""An estimator fitted on pairs of place and category; needs no network and no torch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from typing_extensions import Self

from autoeval.errors import InputError
from autoeval.estimation.pairs.pair_table import (
    CONFIDENCE,
    FEATURES,
    OF_BOXES,
    WITH_TEACHER,
    measured,
    pair_rows,
    pairs_of,
    scaling_of,
)
from autoeval.estimation.regression import (
    BayesianRegression,
    Mixture,
    Pairs,
    Prior,
    Scaling,
    Told,
    tell,
    without_each_family,
)

NEW = "\0new"  # a family and a place that no source is called


class PairEstimator:
    """Estimates the accuracy of a detector for categories, by `BayesianRegression` on pairs.

    Parameters
    ----------
    target : {"mAP", "mAP50", "mAP75"}
    level : float
        Nominal coverage of the intervals.
    features : sequence of str, optional
        Scores to go by; by default `OF_BOXES`, and those of other passes in `FEATURES` and of
        `WITH_TEACHER` that the table has of every pair.
    prior : Prior, optional

    Attributes
    ----------
    rows_ : DataFrame
        The pairs that it was fitted on; see `autoeval.estimation.pairs.pair_table`.
    features_ : tuple of str
    categories_, families_ : list of str
        Categories and families of its pairs.
    """

    def __init__(
        self,
        *,
        target: str = "mAP",
        level: float = 0.9,
        features: Sequence[str] | None = None,
        prior: Prior | None = None,
    ) -> None:
        self.target = target
        self.level = level
        self.features = features
        self.prior = prior or Prior()

    def fit(self, table: pd.DataFrame) -> Self:
        """Fit on a pair table, or on a score table, of which the sources' own images are taken.

        Raises
        ------
        InputError
            If a column is missing, or no pair has a finite accuracy.
        """
        rows = pair_rows(table)
        self.features_ = tuple(self.features or _present(rows))
        if self.target not in rows:
            raise InputError(f"Expected a column {self.target} in the table of pairs.")
        known = np.isfinite(rows[self.target].to_numpy(np.float64))
        if not known.any():
            raise InputError(
                f"None of the {len(rows)} pairs of source and category has a {self.target}: no box "
                "is labelled in any of them."
            )
        self.rows_ = rows[known].reset_index(drop=True)
        self.categories_ = list(dict.fromkeys(self.rows_["category"].astype(str)))
        self.families_ = list(dict.fromkeys(self.rows_["family"].astype(str)))
        self._pairs = self._arrays(self.rows_)
        self._true = self.rows_[self.target].to_numpy(np.float64)
        self._model = self._regression().fit(self._pairs, self._true)
        return self

    def distribution(self, rows: pd.DataFrame, average: np.ndarray | None = None) -> Mixture:
        """Predict rows of a new place, or averages over them; see `BayesianRegression.predict`.

        Parameters
        ----------
        rows : DataFrame
            One row a category: ``category``, ``n_images`` and the scores. All are taken to be of
            one new place, unless ``family`` and ``source`` begin with `NEW`.
        average : ndarray of shape (K, M), optional
        """
        return self._model.predict(self._asked(rows), average=average)

    def draw(self, rows: pd.DataFrame, *, draws: int, seed: int = 0) -> np.ndarray:
        """Draw the accuracies of rows of new places together; see `BayesianRegression.draw`."""
        return self._model.draw(self._asked(rows), draws=draws, seed=seed)

    @property
    def single(self) -> bool:
        """Whether all pairs are of one category."""
        return len(self.categories_) == 1

    def predict(self, rows: pd.DataFrame, *, unseen: float = 0.0) -> list[Told]:
        """Estimate each row, a category of one new place.

        Parameters
        ----------
        rows : DataFrame
        unseen : float
            How much of what scores read is missing, in [0, 1]. An error of that share of how far
            accuracies differ, `spread_`, is added, which the categories of a place have in common.
        """
        blurred = self.distribution(rows).blurred(unseen * self.spread_)
        return tell(blurred, self.level)

    def predict_mean(self, rows: pd.DataFrame, *, unseen: float = 0.0) -> Told:
        """Estimate the mean over the rows, which are categories of one new place; see `predict`."""
        average = np.full((1, len(rows)), 1 / len(rows))
        blurred = self.distribution(rows, average).blurred(unseen * self.spread_)
        return tell(blurred, self.level)[0]

    @property
    def spread_(self) -> float:
        """Standard deviation of accuracies, by the pairs and a first guess: anything in [0, 1]."""
        anything = Scaling(np.array([0.5]), np.array([12**-0.5]), self.prior.guess)
        return float(anything.learn(self._true[:, None]).scale[0])

    def held_out(self) -> pd.DataFrame:
        """Estimate every pair by what the other families say.

        Returns
        -------
        DataFrame
            One row a pair: ``source``, ``family``, ``category``, ``n_images``, ``true``,
            ``estimate``, ``lower``, ``upper``, ``raw``; empty with a single family.
        """
        parts = []
        model = self._regression()
        for _, own, predicted in without_each_family(model, self._pairs, self._true):
            rows = self.rows_.loc[own, ["source", "family", "category", "n_images"]]
            parts.append(_told(rows, self._true[own], tell(predicted, self.level)))
        return pd.concat(parts).sort_index() if parts else pd.DataFrame()

    def _asked(self, rows: pd.DataFrame) -> Pairs:
        told = "family" in rows and rows["family"].astype(str).str.startswith(NEW).all()
        asked = rows if told else rows.assign(family=NEW, source=NEW)
        if "category" not in asked:
            asked = asked.assign(category=self.categories_[0] if self.single else NEW)
        return self._arrays(asked)

    def _regression(self) -> BayesianRegression:
        scaling = scaling_of(self.features_, self.prior.guess)
        return BayesianRegression(scaling, prior=self.prior)

    def _arrays(self, rows: pd.DataFrame) -> Pairs:
        return pairs_of(rows, self.features_, self.prior.of_one_image)


def _present(rows: pd.DataFrame) -> tuple[str, ...]:
    of_passes = (name for name in (*FEATURES[len(OF_BOXES) :], WITH_TEACHER) if name in rows)
    known = CONFIDENCE in rows
    return (*OF_BOXES, *(name for name in of_passes if known and measured(rows, name).all()))


def _told(rows: pd.DataFrame, true: np.ndarray, told: Sequence[Told]) -> pd.DataFrame:
    return rows.assign(
        true=true,
        estimate=[t.value for t in told],
        lower=[t.lower for t in told],
        upper=[t.upper for t in told],
        raw=[t.raw for t in told],
    )
