"""The default regression: accuracy on scores over pairs of site and category.

Needs no network and no torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import pandas as pd
from typing_extensions import Self

from autoeval.errors import InputError
from autoeval.estimation.estimate import DEFAULT_METHOD
from autoeval.estimation.intervals import MIN_SOURCES, check_level
from autoeval.estimation.known_site import GROUP, SITE, KnownSite
from autoeval.estimation.nothing_found import (
    nothing_over,
    without_boxes,
)
from autoeval.estimation.pair_table import (
    CONFIDENCE,
    ONLY,
    REFERENCE_COUNTS,
    TRAINED_HERE,
    category_weights,
    features_at,
    pair_rows,
    pairs_of,
    with_target,
)
from autoeval.estimation.panel_prior import FULL, away_prior, regression_prior
from autoeval.estimation.reference_prior import (
    PRECISION_OF,
    READ_BY,
    ReferencePrior,
    ReferenceStrength,
    WithReference,
    shipped_reference_prior,
)
from autoeval.estimation.score_table import sources
from autoeval.io.wording import listed
from autoeval.model import (
    Away,
    MixedModel,
    Mixture,
    Pairs,
    PredictionInterval,
    Prior,
    Scaling,
    mean_of_possible,
    predict_intervals,
)
from autoeval.model.left_out import leave_one_group_out
from autoeval.model.reference_features import BY_REFERENCE
from autoeval.targets import OperatingPoint, find_target

NEW = "\0new"  # a group and a source that no labelled set is called
PRECISION = "precision@"
SIZE = "box_size"  # the feature that needs the sizes of images
HELD_OUT = ["estimate", "lower", "upper", "raw"]


class BayesianRegression:
    """Regresses accuracy on scores over pairs of site and category, by a `MixedModel`.

    target: ``mAP``, ``mAP50``, ``mAP75``, or one at a threshold such as ``recall@0.3``.
    features: scores to read; by default `features_at` the target, and for average precision the
        agreement with a reference detector where that is stronger; see `reference_prior`.
    scaling, prior: units of these scores and what is believed of their slopes; by default what the
        panel of detectors says.
    floor: score from which on boxes are in the files of the rows; see `regression_prior`.
    away: what is known of detectors away from the site that they were trained on, for rows with
        `TRAINED_HERE`; by default what the shipped detectors say.
    reference_prior: what agreement with a reference detector adds; by default what is shipped.
    table_: the score table that it was fitted on; for a target at a threshold its pairs.
    reference_strength_, reference_weight_: of the reference detector on the labelled images, None
        without one; and how much the agreement with it counts, in [0, 1].
    rows_: its pairs; see `autoeval.estimation.pair_table`.
    training_range_: smallest and largest value over the pairs, for each score that it reads.
    """

    def __init__(
        self,
        *,
        target: str = "mAP",
        level: float = 0.9,
        features: Sequence[str] | None = None,
        scaling: Scaling | None = None,
        prior: Prior | None = None,
        floor: float = FULL,
        away: Away | None = None,
        reference_prior: ReferencePrior | None = None,
    ) -> None:
        self.target = target
        self.level = level
        self.features = features
        self.scaling = scaling
        self.prior = prior
        self.floor = floor
        self.away = away
        self.reference_prior = reference_prior

    def fit(self, table: pd.DataFrame) -> Self:
        """Fit on a pair table, or on a score table, of which the sources' own images are taken."""
        find_target(self.target)
        if not self.target.startswith("mAP") and OperatingPoint.of(self.target) is None:
            raise InputError(
                f"The method '{DEFAULT_METHOD}' estimates mAP, and precision, recall and F1 at a "
                f"threshold, not {self.target}: use one of the other methods for it."
            )
        check_level(self.level)
        rows = with_target(pair_rows(table), self.target)
        self.features_ = tuple(self.features or features_at(self.target))
        if self.prior is None or self.scaling is None:
            self._scaling, self._prior = regression_prior(self.features_, self.target, self.floor)
        else:
            self._scaling, self._prior = self.scaling, self.prior
        self._add_reference(rows)
        if self.target not in rows:
            raise InputError(f"Expected a column {self.target} in the table of pairs.")
        measured = np.isfinite(rows[self.target].to_numpy(np.float64))
        if not measured.any():
            raise InputError(
                f"None of the {len(rows)} pairs of source and category has a {self.target}: no box "
                "is labelled in any of them, or none is over the threshold."
            )
        self.table_ = rows if OperatingPoint.of(self.target) else table.reset_index(drop=True)
        self.rows_ = rows[measured].reset_index(drop=True)
        self.sources_ = sources(table) if "source" in table else []
        self.categories_ = list(dict.fromkeys(self.rows_["category"].astype(str)))
        self.groups_ = list(dict.fromkeys(self.rows_["group"].astype(str)))
        self._pairs = self._arrays(self.rows_)
        self.training_range_ = {
            name: (float(self.rows_[name].min()), float(self.rows_[name].max()))
            for name in self.features_
        }
        self._true = self.rows_[self.target].to_numpy(np.float64)
        self._model = self._mixed_model().fit(self._pairs, self._true)
        self.__dict__.pop("cross_validated_", None)
        self.__dict__.pop("trained_share_", None)
        return self

    def _add_reference(self, rows: pd.DataFrame) -> None:
        """Read the agreement with a reference detector, if its prior gives that a weight."""
        self.reference_: WithReference | None = None
        self.reference_strength_ = ReferenceStrength.of(rows)
        reference_prior = self.reference_prior or shipped_reference_prior()
        self.reference_weight_ = reference_prior.weight(self.reference_strength_)
        read = READ_BY.get(self.target)
        has_them = rows["category"].astype(str).isin(PRECISION_OF).any()
        if self.target.startswith(PRECISION) and REFERENCE_COUNTS in rows and has_them:
            read = f"{BY_REFERENCE}{self.target}"
        if read is None or self.features or not self.reference_weight_:
            return
        self.reference_ = reference_prior.added(self._scaling, self._prior, self.reference_weight_)
        self._scaling, self._prior = self.reference_.scaling, self.reference_.prior
        self.features_ += (read,)

    def prior_effects(self, rows: pd.DataFrame) -> dict[str, float]:
        """Return what the prior adds for the category of each row, in [-1, 1], by its name."""
        return {str(category): self._prior.of_category(category) for category in rows["category"]}

    def site_rows(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Lay out the scores of a new site as one row a category; see `estimate_site_rows`."""
        stacked = pair_rows(rows.assign(kind="seed"))
        if (stacked["category"] == ONLY).all() and self.single:
            stacked = stacked.assign(category=self.categories_[0])
        stacked = with_target(stacked, self.target)
        lacking = [name for name in self.features_[-1:] if name not in stacked and self.reference_]
        return stacked.assign(**dict.fromkeys(lacking, np.nan))

    def distribution(self, rows: pd.DataFrame, average: np.ndarray | None = None) -> Mixture:
        """Predict rows of a new site, or averages over them; see `MixedModel.predict`.

        rows: one row a category: ``category``, ``n_images`` and the scores. All are taken to be of
            one new site, unless ``group`` and ``source`` begin with `NEW`, or `SITE` names one of
            the fit. `GROUP` names a group of the fit that the site belongs to.
        average (K, M)
        """
        new = self._new_pairs(rows)
        if SITE not in rows:
            prediction = self._model.predict(new, average=average)
            away = None if GROUP in rows else self.away_prior_
            if away is None:
                return prediction
            confidence = self._above_home(new)
            if average is not None:
                confidence = average @ confidence
            return away.predict(prediction, self.home_, confidence, self.trained_share_)
        # The pair keeps the scores and effects of the labelled one of its site, so that the model
        # predicts the accuracy there; the change by its own scores is then added, see `KnownSite`.
        site = self.known_site(str(rows[SITE].iloc[0]))
        model = self._mixed_model().fit(site.fitted, self._true)
        pairs, ratio = site.of_new(new, self.features_.index(CONFIDENCE))
        change = (ratio - 1) * model.predict(pairs).mean
        return model.predict(pairs, average=average).shifted(
            change if average is None else average @ change
        )

    def uncorrected(self, rows: pd.DataFrame) -> Mixture:
        """Predict rows of a new site as if the detector was trained elsewhere."""
        return self._model.predict(self._new_pairs(rows))

    @cached_property
    def trained_share_(self) -> float:
        """Share of the pairs that are of a site that the detector was trained on."""
        return float(self._trained.mean())

    @property
    def _trained(self) -> np.ndarray:
        if TRAINED_HERE not in self.rows_:
            return np.zeros(len(self.rows_), bool)
        return self.rows_[TRAINED_HERE].eq(True).to_numpy()

    @property
    def home_(self) -> float:
        """Mean accuracy at the sites that the detector was trained on."""
        return float(self._true[self._trained].mean())

    @property
    def away_prior_(self) -> Away | None:
        """What corrects predictions of a detector that was trained where it is labelled."""
        return (self.away or away_prior(self.target)) if self.trained_share_ else None

    def confidence_above_home(self, rows: pd.DataFrame) -> np.ndarray:
        """Return by how much the first score of rows of new sites exceeds the mean at home, (N,).

        Home is where the detector was trained, or every labelled site if that is not known.
        """
        return self._above_home(self._new_pairs(rows))

    def _above_home(self, new: Pairs) -> np.ndarray:
        at_home = self._trained | ~self._trained.any()
        return np.asarray(new.x[:, 0] - self._pairs.x[at_home, 0].mean())

    def known_site(self, name: str) -> KnownSite:
        """Return a site of the fit; see `KnownSite`."""
        return KnownSite(name, self.rows_, self._pairs, self.target)

    def check_group(self, name: str) -> None:
        """Make sure that the fit has a group of this name."""
        if name in self.groups_:
            return
        raise InputError(
            f"This estimator was fitted on no group {name!r}. It has {listed(self.groups_, 50)}. "
            "Name one of these with --group, or leave --group out. A labelled set has the group "
            "that it was fitted with (`fit --labels PATH group=NAME`), by default its own name."
        )

    def draw(self, rows: pd.DataFrame, *, draws: int, seed: int = 0) -> np.ndarray:
        """Draw the accuracies of rows of new sites together; see `MixedModel.draw`."""
        new = self._new_pairs(rows)
        drawn = self._model.draw(new, draws=draws, seed=seed)
        away = self.away_prior_
        if away is None:
            return drawn
        return away.draws(
            drawn,
            self.home_,
            self._above_home(new),
            sites=np.unique(new.place.astype(str), return_inverse=True)[1],
            seed=seed,
            share=self.trained_share_,
        )

    @property
    def single(self) -> bool:
        """Whether all pairs are of one category."""
        return len(self.categories_) == 1

    def predict(self, rows: pd.DataFrame, *, unseen: float = 0.0) -> list[PredictionInterval]:
        """Estimate each row, a category of one new site.

        unseen: share, in [0, 1], of the range of confidence that scores read and that is missing.
            An independent error of that share of `accuracy_std_` is added, which the categories of
            a site have in common.
        Returned: without a regression where no box is over the threshold; see `without_boxes`.
        """
        widened = self.distribution(rows).blurred(unseen * self.accuracy_std_)
        intervals = predict_intervals(widened, self.level)
        none_over = nothing_over(rows, self.target)
        return [
            without_boxes(self.target) if none else interval
            for none, interval in zip(none_over, intervals, strict=True)
        ]

    def predict_mean(self, rows: pd.DataFrame, *, unseen: float = 0.0) -> PredictionInterval:
        """Estimate all rows together that count, which are categories of one new site.

        The value is the weighted mean of the possible accuracies of the rows, see `predict`; the
        interval of the mean is moved to it.
        """
        if nothing_over(rows, self.target).all():
            return without_boxes(self.target)
        weights = category_weights(rows, self.target)
        widened = self.distribution(rows, weights[None]).blurred(unseen * self.accuracy_std_)
        value = mean_of_possible(self.distribution(rows).mean, weights)
        return predict_intervals(widened, self.level, np.array([value]))[0]

    @property
    def accuracy_std_(self) -> float:
        """Standard deviation of accuracies, by the pairs and a first guess: uniform in [0, 1]."""
        # 12 ** -0.5 is the standard deviation of a uniform distribution; that of a few pairs alone
        # may be 0.
        uniform = Scaling(np.array([0.5]), np.array([12**-0.5]), self._prior.guess)
        return float(uniform.learn(self._true[:, None]).scale[0])

    @cached_property
    def cross_validated_(self) -> pd.DataFrame:
        """Estimate of every pair by the other groups (leave-one-group-out).

        One row a pair: ``source``, ``group``, ``category``, ``n_images``, ``true``, ``estimate``,
        ``lower``, ``upper``, ``raw``; empty with a single group.
        """
        if len(self.groups_) < 2:
            return pd.DataFrame()
        parts, pairs, true = [], self._pairs, self._true
        for rest, left_out in leave_one_group_out(pairs.group):
            predicted = self._mixed_model().fit(pairs[rest], true[rest]).predict(pairs[left_out])
            rows = self.rows_.iloc[left_out][["source", "group", "category", "n_images"]]
            estimates = pd.DataFrame(predict_intervals(predicted, self.level), index=rows.index)
            estimates = estimates.rename(columns={"value": "estimate"})
            parts.append(rows.assign(true=true[left_out]).join(estimates[HELD_OUT]))
        return pd.concat(parts).sort_index()

    @property
    def residuals_(self) -> np.ndarray:
        """Mean absolute error of each left-out group; empty with fewer than three."""
        if len(self.groups_) < MIN_SOURCES:
            return np.zeros(0)
        rows = self.cross_validated_
        errors = (rows["raw"].clip(0, 1) - rows["true"]).abs()
        return errors.groupby(rows["group"], sort=False).mean().to_numpy()

    def predict_left_out(self) -> np.ndarray:
        """Estimate each row of `table_` without its group, shape (N,).

        NaN with a single group, and in a table whose rows hold several categories.
        """
        estimates = np.full(len(self.table_), np.nan)
        if any("/" in str(name) for name in self.table_):
            return estimates
        groups = self.table_["source"]
        if "group" in self.table_:
            groups = self.table_["group"].fillna(groups)
        rows = self.table_.assign(group=groups)
        if groups.nunique() < 2:
            return estimates
        for rest, left_out in leave_one_group_out(groups):
            regression = BayesianRegression(
                target=self.target,
                level=self.level,
                features=self.features,
                scaling=self.scaling,
                prior=self.prior,
                floor=self.floor,
                away=self.away,
                reference_prior=self.reference_prior,
            )
            estimates[left_out] = (
                regression.fit(rows.iloc[rest]).distribution(rows.iloc[left_out]).mean
            )
        return np.clip(estimates, 0, 1)

    def _new_pairs(self, rows: pd.DataFrame) -> Pairs:
        named = "group" in rows and rows["group"].astype(str).str.startswith(NEW).all()
        rows = rows if named else rows.assign(group=rows.get(GROUP, NEW), source=NEW)
        rows = with_target(rows, self.target)
        if "category" not in rows or self.categories_ == [ONLY]:  # fitted without their names
            rows = rows.assign(category=self.categories_[0] if self.single else NEW)
        return self._arrays(rows)

    def _mixed_model(self) -> MixedModel:
        variances = self.reference_.variances if self.reference_ else None
        return MixedModel(self._scaling, self._prior, variances=variances)

    def reads_reference(self, rows: pd.DataFrame) -> np.ndarray:
        """Return of which pairs a reference detector is read, (N,) bool."""
        if self.reference_ is None:
            return np.zeros(len(rows), bool)
        readable = np.isfinite(rows[self.features_[-1]].to_numpy(np.float64))
        if self.target.startswith(PRECISION):
            readable &= rows["category"].astype(str).isin(PRECISION_OF).to_numpy()
        return readable

    def _with_sizes(self, rows: pd.DataFrame, pairs: Pairs) -> Pairs:
        """Let the size of boxes move nothing where the sizes of images are not known.

        It counts as the mean of the pairs of the fit, and its slope adds to the error. A fit
        without any size reads none at new sites, either.
        """
        at = self.features_.index(SIZE) if SIZE in self.features_ else None
        if at is None:
            return pairs
        found = np.isfinite(rows[self.features_[0]].to_numpy(np.float64))
        unknown = found & ~np.isfinite(rows[SIZE].to_numpy(np.float64))
        seen = self.rows_[SIZE].to_numpy(np.float64)
        seen = seen[np.isfinite(seen)]
        if not len(seen):
            unknown = found
        x, sampling = pairs.x.copy(), pairs.sampling.copy()
        x[unknown, at] = seen.mean() if len(seen) else self._scaling.location[at]
        sampling[unknown] += self._prior.slopes[at] ** 2 if len(seen) else 0.0
        return replace(pairs, x=x, sampling=sampling)

    def _arrays(self, rows: pd.DataFrame) -> Pairs:
        pairs = self._with_sizes(rows, pairs_of(rows, self.features_, self._prior.of_one_image))
        if self.reference_ is None:
            return pairs
        lacking = ~self.reads_reference(rows)
        x, sampling = pairs.x.copy(), pairs.sampling.copy()
        # At the score that the prior expects, the reference moves no prediction.
        x[lacking, -1] = self.reference_.fill(x[lacking, :-1], pairs.category[lacking])
        sampling[lacking] += self.reference_.lost
        return replace(pairs, x=x, sampling=sampling)
