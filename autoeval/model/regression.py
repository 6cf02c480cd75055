r"""The default regression: accuracy on scores over pairs of site and category.

`AccuracyEstimator` fits a `Regression` for each target. It decides what of a table of pairs
(`autoeval.model.pair_table`) a `MixedModel` (`autoeval.model.mixed_model`) reads: which scores by
which prior (`autoeval.model.priors`), what replaces an unknown one, and how much lower accuracy is
at sites other than that of the training (`autoeval.model.domain_shift`). Needs no torch.

New images of a site of the fit: their accuracy is that of the labelled images times the ratio of
the expected average precisions,

.. math:: y_2 = y_1 \min\left(\frac{e_2 + ε}{e_1 + ε}, r\right)

with ε = `SMOOTHED` and r = `MOST_RATIO`. In `autoeval.model.mixed_model` the new pair has all
effects in common with the labelled one of the same site and category, its own too, and no other
score moves it: of these the differences within a site are mostly sampling error. The sampling
errors of both sets of images are taken from how accuracy varies over the labelled images, since
they are most of what is left; and what no score shows may have changed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import cached_property

import numpy as np
from scipy.special import ndtri
from typing_extensions import Self

from autoeval.accuracy.measures import OperatingPoint, find_target
from autoeval.errors import InputError
from autoeval.model.domain_shift import DomainShift
from autoeval.model.mixed_model import (
    MixedModel,
    Mixture,
    Pairs,
    PredictionInterval,
    Prior,
    check_level,
    predict_intervals,
)
from autoeval.model.pair_table import (
    BY_REFERENCE,
    CATEGORY,
    CONFIDENCE,
    COUNTED,
    EXPECTED,
    FEATURES,
    GROUP,
    ONLY,
    PRECISION,
    REFERENCE_COUNTS,
    REFERENCE_FEATURES,
    REFERENCE_TRUE,
    SAMPLE,
    SITE,
    TRAINED_HERE,
    UNSEEN,
    WORD,
    Table,
    category_weights,
    leave_one_group_out,
    nothing_over,
    rows_where,
    values_of,
    with_target,
    without_boxes,
)
from autoeval.model.priors import (
    FULL,
    READ_BY,
    REFERENCE_PRIOR,
    ReferencePrior,
    ReferenceStrength,
    domain_shift_prior,
    reads_precision,
    regression_prior,
    shipped,
)
from autoeval.words import listed

DEFAULT_METHOD = "bayes"  # this regression, as results and pages name it
NEW = "\0new"  # a group and a site that no labelled set is called
SIZE = "box_size"  # the feature that needs the sizes of images
MIN_SOURCES = 3  # whose errors left out say anything
# Of new images of a site of the fit; measured by benchmarks/fits.py, docs/results/known_sites.md.
SMOOTHED = 0.02  # ε
MOST_RATIO = 1.5  # greatest ratio of a new score to that of the known site
CHANGE_STD = 0.01  # of an accuracy that changes while no score does
CHANGE_ERROR = 0.6  # standard deviation of a predicted change, as a share of it
OF_ONE_IMAGE = 0.22  # standard deviation of average precision measured on one image, usually
USUAL_IMAGES = 3  # that this counts as
AT_ONCE = 256  # rows whose covariance is looked at together, where they may be many


@dataclass(eq=False, repr=False)
class Regression:
    """Regresses accuracy on scores over pairs of site and category, by a `MixedModel`.

    Parameters
    ----------
    target : str
        ``mAP``, ``mAP50``, ``mAP75``, or one at a threshold such as ``recall@0.3``.
    level : float
        Nominal coverage of the intervals.
    prior : Prior, optional
        The scores that are read, and the prior of their slopes; by default that of the panel of
        detectors. The agreement with a reference detector is read as well, where that is
        stronger; see `reference_prior`.
    floor : float
        Score from which on boxes are in the files of the rows; see `regression_prior`.
    domain_shift : DomainShift, optional
        Model of accuracy at sites other than that of the training, for rows with `TRAINED_HERE`;
        by default the shipped one.
    reference_prior : ReferencePrior, optional
        Weight of the agreement with a reference detector; by default the shipped one.

    Attributes
    ----------
    pairs_ : dict of str to ndarray
        The rows that it was fitted on, those with the target.
    table_ : Table
        The whole table, each row with a category and a group.
    sites_, categories_, groups_ : list of str
        Names, in the order of the table.
    features_ : tuple of str
        Names of the P scores that are read.
    prior_ : Prior
        The prior used, that of a reference detector included.
    prior_of_boxes_ : Prior or None
        The same without the reference; None where none is read.
    reference_strength_ : ReferenceStrength or None
        Of the reference detector on the labelled images; None without one.
    reference_weight_ : float
        Weight v of the agreement with it, in [0, 1].
    accuracy_std_ : float
        Standard deviation of accuracies, by the pairs and a first guess: uniform in [0, 1].
    training_range_ : dict of str to tuple of float
        Smallest and largest value of each score over the pairs of the fit; both NaN where it is
        unknown in all.
    home_ : float
        Mean accuracy at the sites that the detector was trained on; NaN without one.
    domain_shift_ : DomainShift or None
        The model of accuracy elsewhere, given the labels of other sites; None where the detector
        was trained on none of the sites.
    """

    _: KW_ONLY
    target: str = "mAP"
    level: float = 0.9
    prior: Prior | None = None
    floor: float = FULL
    domain_shift: DomainShift | None = None
    reference_prior: ReferencePrior | None = None

    def fit(self, table: Table) -> Self:
        """Fit on a table of pairs; a row without a group is its own.

        Parameters
        ----------
        table : Table
            Of pairs; of a score table, see `autoeval.estimation.category_scores`, the sources' own
            images are taken.

        Returns
        -------
        Regression
            Itself.

        Raises
        ------
        InputError
            If there is no such target, it is that of one category, `level` is not in (0, 1), a
            column is missing, a site is in two groups, or no pair has the target.
        """
        find_target(self.target)
        whole, _, category = self.target.partition("/")
        if category:
            raise InputError(
                f"Expected a target of all categories, {whole}, but got {self.target}: an estimate "
                "has each category in `per_category`."
            )
        if not self.target.startswith("mAP") and OperatingPoint.of(self.target) is None:
            raise InputError(
                f"The method '{DEFAULT_METHOD}' estimates mAP, and precision, recall and F1 at a "
                f"threshold, not {self.target}, which `autoeval estimate-map --target "
                f"{self.target}` estimates by other methods."
            )
        check_level(self.level)
        named = _named(table)
        # transformed sample sets, and repeats but the first, are no observations of a site
        own_images = np.ones(len(named["category"]), bool)
        if "kind" in named:
            own_images &= named["kind"] != SAMPLE
        if "repeat" in named and own_images.any():
            own_images &= named["repeat"] == named["repeat"][own_images].min()
        rows = with_target(rows_where(named, own_images), self.target)
        self.prior_ = self.prior or regression_prior(self.target, self.floor)
        self.prior_of_boxes_: Prior | None = None
        self.reference_strength_: ReferenceStrength | None = None
        self.reference_weight_ = 0.0
        if REFERENCE_TRUE in rows:
            self._read_reference(rows)
        # A prior for any threshold names its score without it.
        at_threshold = {f"{EXPECTED}{self.target.partition('@')[0]}": f"{EXPECTED}{self.target}"}
        self.features_ = tuple(at_threshold.get(name, name) for name in self.prior_.features)
        if SIZE in self.features_:  # a table of images without sizes has no such column
            rows.setdefault(SIZE, np.full(len(rows["category"]), np.nan))
        if self.target not in rows:
            raise InputError(f"Expected a column {self.target} in the table of pairs.")
        measured = np.isfinite(rows[self.target])
        if not measured.any():
            raise InputError(
                f"None of the {len(measured)} pairs of site and category has a {self.target}: no "
                "box is labelled in any of them, or none is over the threshold."
            )
        self.table_: Table = rows if OperatingPoint.of(self.target) else named
        self.pairs_ = rows_where(rows, measured)
        self.sites_ = list(dict.fromkeys(rows["source"])) if "source" in rows else []
        self.categories_ = list(dict.fromkeys(self.pairs_["category"]))
        self.groups_ = list(dict.fromkeys(self.pairs_["group"]))
        self._model_pairs = self._arrays(self.pairs_)
        self.training_range_ = {}
        for name in self.features_:
            finite_values = self.pairs_[name][np.isfinite(self.pairs_[name])]
            ends = (
                (finite_values.min(), finite_values.max())
                if len(finite_values)
                else (np.nan, np.nan)
            )
            self.training_range_[name] = (float(ends[0]), float(ends[1]))
        self._true = self.pairs_[self.target].astype(np.float64)
        # The mean and variance over the pairs and a first guess, uniform in [0, 1], whose mean is
        # 1/2 and variance 1/12: the variance of a few pairs alone may be 0.
        total = self.prior_.guess + len(self._true)
        mean = (self.prior_.guess * 0.5 + self._true.sum()) / total
        squares = self.prior_.guess / 12 + ((self._true - mean) ** 2).sum()
        self.accuracy_std_ = float(np.sqrt(squares / total))
        self._model = MixedModel(self.prior_).fit(self._model_pairs, self._true)
        # Where the detector was trained: its mean accuracy and confidence there, the latter of all
        # pairs where that is not known.
        trained = self.pairs_.get(TRAINED_HERE, np.zeros(len(self._true), bool))
        self.home_ = float(self._true[trained].mean()) if trained.any() else np.nan
        at_home = trained | ~trained.any()
        self._confidence_at_home = float(self._model_pairs.x[at_home, 0].mean())
        self.domain_shift_: DomainShift | None = None
        self._elsewhere = self._model
        # A reference detector shows at a site itself which boxes are right.
        of_precision = self.target.startswith(PRECISION)
        if trained.any() and not (of_precision and self.reads_reference(self.pairs_).all()):
            self.domain_shift_ = self.domain_shift or domain_shift_prior(self.target)
            if not trained.all():
                self._fit_domain_shift(self.domain_shift_, trained)
        self.__dict__.pop("left_out_", None)
        return self

    def _read_reference(self, rows: Table) -> None:
        """Read the agreement with a reference detector, if its prior gives that a weight."""
        self.reference_strength_ = ReferenceStrength.of(rows)
        reference_prior = self.reference_prior or ReferencePrior(**shipped(REFERENCE_PRIOR))
        self.reference_weight_ = reference_prior.weight(self.reference_strength_)
        read = READ_BY.get(self.target)
        of_precision = self.target.startswith(PRECISION) and REFERENCE_COUNTS in rows
        if of_precision and reads_precision(rows["category"]).any():
            read = f"{BY_REFERENCE}{self.target}"
        if read is None or not self.reference_weight_:
            return
        self.prior_of_boxes_ = self.prior_
        self.prior_ = reference_prior.added(self.prior_, self.reference_weight_, read)

    def _fit_domain_shift(self, domain_shift: DomainShift, trained: np.ndarray) -> None:
        """Fit the sites of training alone, and learn the fall of accuracy from the others.

        Parameters
        ----------
        domain_shift : DomainShift
            The prior.
        trained : ndarray of shape (N,), bool
            Which pairs are of sites of training, not all.
        """
        self._elsewhere = MixedModel(self.prior_).fit(
            self._model_pairs[trained], self._true[trained]
        )
        elsewhere = ~np.isin(self._model_pairs.group, self._model_pairs.group[trained])
        if not elsewhere.any():
            return
        pairs, of_target = self._model_pairs[elsewhere], f"{self.target}_std"
        stds = np.sqrt(self._model_pairs.sampling)
        if of_target in self.pairs_:
            measured = self.pairs_[of_target]
            stds = np.where(np.isfinite(measured), measured, stds)
        self.domain_shift_ = domain_shift.given(
            self._true[elsewhere],
            self._elsewhere.predict(pairs),
            self.home_,
            pairs.x[:, 0] - self._confidence_at_home,
            sites=pairs.site,
            groups=pairs.group,
            sampling=stds[elsewhere],
        )

    def site_rows(self, rows: Table) -> dict[str, np.ndarray]:
        """Lay out the scores of a new site as this target reads them, one row a category.

        Parameters
        ----------
        rows : Table
            All are taken to be of one new site, unless ``group`` and ``source`` begin with `NEW`;
            `GROUP` names a group of the fit that it belongs to.

        Returns
        -------
        dict of str to ndarray
            With ``group``, ``source``, ``category`` and the scores of the target; where there is a
            column `WORD` it is what effects go by: the name, unless the fit knows the word alone.
        """
        table = with_target(rows, self.target)
        n = len(table["n_images"])
        if "group" not in table or not all(str(group).startswith(NEW) for group in table["group"]):
            table["group"] = table.get(GROUP, np.full(n, NEW, object))
            table["source"] = np.full(n, NEW, object)
        category = table.get("category", np.full(n, ONLY, object)).astype(str).astype(object)
        if len(self.categories_) == 1 and (category == ONLY).all():
            category = np.full(n, self.categories_[0], object)
        table["category"] = category
        if WORD in table:  # a category that is only called otherwise has the effect of its word
            known, prior = {*self.categories_}, self.prior_
            table[WORD] = np.array(
                [
                    name
                    if name in known or (word not in known and prior.of_category(name))
                    else word
                    for name, word in zip(category, table[WORD], strict=True)
                ],
                object,
            )
        if self.prior_of_boxes_ and self.features_[-1] not in table:
            table[self.features_[-1]] = np.full(n, np.nan)
        return table

    def distribution(self, rows: Table, average: np.ndarray | None = None) -> Mixture:
        """Predict rows of a new site, or averages over them; see `MixedModel.predict`.

        Parameters
        ----------
        rows : Table
            One row a category: ``category``, ``n_images`` and the scores; see `site_rows`. `SITE`
            names a site of the fit that they are of. `UNSEEN` is the share, in [0, 1], of the range
            of confidence that scores read and that is missing: an error of that share of
            `accuracy_std_` is added, which the rows have in common.
        average : ndarray of shape (K, M), optional
            Weights of the M rows in each of K averages.

        Returns
        -------
        Mixture
            Of M accuracies, or of K averages.

        Raises
        ------
        InputError
            If a score is missing, or the fit has no such site.
        """
        new = self._arrays(self.site_rows(rows))
        if SITE in rows:
            n_images = np.asarray(rows["n_images"])
            predicted = self._distribution_at(str(rows[SITE][0]), new, n_images, average)
        elif self.domain_shift_ is None or GROUP in rows:
            predicted = self._model.predict(new, average=average)
        else:
            of_average = None
            if average is not None:
                of_average = average, self._elsewhere.predict(new, average=average).std
            confidence = new.x[:, 0] - self._confidence_at_home
            predicted = self.domain_shift_.predict(
                self._elsewhere.predict(new), self.home_, confidence, average=of_average
            )
        unseen = np.asarray(rows[UNSEEN] if UNSEEN in rows else np.zeros(len(new.x)))
        unseen = unseen if average is None else average @ unseen
        return replace(predicted, stds=np.hypot(predicted.stds, unseen * self.accuracy_std_))

    def _distribution_at(
        self, site: str, new: Pairs, n_images: np.ndarray, average: np.ndarray | None
    ) -> Mixture:
        """Predict M new pairs of a site of the fit, as the module says, or averages over them.

        Parameters
        ----------
        site : str
            Name of the site in the fit.
        new : Pairs
            A category that was not labelled there keeps its own scores.
        n_images : ndarray of shape (M,)
            Of each pair. A score that has a value in its place adds no error here, since the
            labelled pair stands for it: the sampling error is that of the images alone.
        average : ndarray of shape (K, M), optional
            See `distribution`.
        """
        index, n = self._pairs_at(site), self.pairs_["n_images"]
        # The sampling error of the labelled pairs, from how their accuracy varies over images: the
        # posterior mean of a variance, the usual one counting as `USUAL_IMAGES` images, since that
        # of few labelled images is mostly chance (Gelman et al. 2013, section 2.6).
        variances, of_target = np.full(len(n), OF_ONE_IMAGE**2), f"{self.target}_std"
        if of_target in self.pairs_:
            stds = self.pairs_[of_target]
            variances = np.where(np.isfinite(stds), n * stds**2, variances)
        of_one_image = (USUAL_IMAGES * OF_ONE_IMAGE**2 + n * variances) / (USUAL_IMAGES + n)
        at_site = np.asarray(self._model_pairs.site == site)
        of_labelled = np.where(at_site, of_one_image / n, self._model_pairs.sampling)
        fitted = replace(self._model_pairs, sampling=of_labelled)
        # -1, the last row, for a category that was not labelled here: it keeps its scores and its
        # sampling error, and its ratio is 1
        fitted_row = np.array([index.get(category, -1) for category in new.category])
        seen, expected_ap = fitted_row >= 0, self.features_.index(CONFIDENCE)
        before = fitted.x[fitted_row, expected_ap] + SMOOTHED
        after = new.x[:, expected_ap] + SMOOTHED
        ratio = np.where(seen, np.minimum(after / before, MOST_RATIO), 1.0)
        # what no score shows may have changed, and what they show is uncertain by a share of itself
        more = CHANGE_STD**2 + (CHANGE_ERROR * (ratio - 1) * self._true[fitted_row]) ** 2
        sampling = of_one_image[fitted_row] / n_images + more
        pairs = Pairs(
            x=np.where(seen[:, None], fitted.x[fitted_row], new.x),
            sampling=np.where(seen, sampling, new.sampling),
            group=np.full(len(fitted_row), fitted.group[at_site][0], object),
            site=np.full(len(fitted_row), site, object),
            category=new.category,
        )
        # The pair keeps the scores and effects of the labelled one, so that the model predicts the
        # accuracy there; the change by its own scores is then added.
        model = MixedModel(self.prior_).fit(fitted, self._true)
        change = (ratio - 1) * model.predict(pairs).mean
        predicted = model.predict(pairs, average=average)
        change = change if average is None else average @ change
        return replace(predicted, means=predicted.means + change)

    def uncorrected(self, rows: Table) -> Mixture:
        """Predict rows of a new site without the correction for domain shift.

        Parameters
        ----------
        rows : Table
            As of `site_rows`; N rows.

        Returns
        -------
        Mixture
            Of N accuracies, not clipped.
        """
        return self._elsewhere.predict(self._arrays(self.site_rows(rows)))

    def confidence_above_home(self, rows: Table) -> np.ndarray:
        """Return the first score of rows of new sites less its mean at home.

        Home is where the detector was trained, or all labelled sites if that is not known.

        Parameters
        ----------
        rows : Table
            As of `site_rows`; N rows.

        Returns
        -------
        ndarray of shape (N,)
        """
        return np.asarray(self._arrays(self.site_rows(rows)).x[:, 0] - self._confidence_at_home)

    def accuracies_at(self, site: str) -> dict[str, float]:
        """Return the accuracy on the labelled images of a site of the fit.

        Parameters
        ----------
        site : str
            Its name.

        Returns
        -------
        dict of str to float
            Of each category that is a pair there, in [0, 1].

        Raises
        ------
        InputError
            If the fit has no site of this name.
        """
        return {name: float(self._true[k]) for name, k in self._pairs_at(site).items()}

    def _pairs_at(self, site: str) -> dict[str, int]:
        """Return the number of each pair of a site of the fit, by category."""
        numbers = np.flatnonzero(self._model_pairs.site == site).tolist()
        if not numbers:
            names = listed(list(dict.fromkeys(self._model_pairs.site.tolist())), most=50)
            raise InputError(
                f"This estimator was fitted on no site {site!r}. It knows {names}. Name one of "
                "these with --site, or leave --site out for the images of a new site."
            )
        return {self._model_pairs.category[k]: k for k in numbers}

    def check_group(self, name: str) -> None:
        """Refuse a group that the fit does not have.

        Parameters
        ----------
        name : str
            Of the group.

        Raises
        ------
        InputError
            If the fit has no group of this name.
        """
        if name in self.groups_:
            return
        raise InputError(
            f"This estimator was fitted on no group {name!r}. It has {listed(self.groups_, 50)}. "
            "Name one of these with --group, or leave --group out. A labelled set has the group "
            "that it was fitted with (`fit --labels PATH --group NAME`), by default its own name."
        )

    def draw(self, rows: Table, *, draws: int, seed: int = 0) -> np.ndarray:
        """Draw the accuracies of rows of new sites together; see `MixedModel.draw`.

        Parameters
        ----------
        rows : Table
            M rows, whose ``group`` and ``source`` begin with `NEW`.
        draws : int
            How many.
        seed : int
            Of the draws.

        Returns
        -------
        ndarray of shape (draws, M)
            Not cut at 0 and 1.
        """
        new = self._arrays(self.site_rows(rows))
        drawn = self._elsewhere.draw(new, draws=draws, seed=seed)
        if self.domain_shift_ is None:
            return drawn
        return self.domain_shift_.draws(
            drawn,
            self.home_,
            new.x[:, 0] - self._confidence_at_home,
            sites=np.unique(new.site.astype(str), return_inverse=True)[1],
            seed=seed,
        )

    def predict(self, rows: Table) -> list[PredictionInterval]:
        """Estimate each row, a category of one new site.

        Parameters
        ----------
        rows : Table
            See `distribution`.

        Returns
        -------
        list of PredictionInterval
            Without a regression where no box is over the threshold; see `without_boxes`.
        """
        intervals = predict_intervals(self.distribution(rows), self.level)
        return [
            without_boxes(self.target) if none else interval
            for none, interval in zip(nothing_over(rows, self.target), intervals, strict=True)
        ]

    def predict_mean(self, rows: Table) -> PredictionInterval:
        """Estimate all rows together that count, which are categories of one new site.

        The value is the weighted mean of the possible accuracies of the rows, see `predict`; the
        interval of the mean is moved to it. A category without a box over the threshold has a
        recall and an F1 of 0 without an error, see `without_boxes`, and no weight in precision; one
        without any box has an average precision of 0.

        Parameters
        ----------
        rows : Table
            See `distribution`; weights are `category_weights`.
        """
        none, weights = nothing_over(rows, self.target), category_weights(rows, self.target)
        weights = np.where(none, 0.0, weights)
        share = weights.sum()  # of the categories that are not 0 by definition
        if not share > 0:
            return without_boxes(self.target)
        # exact, so that no order of the categories moves the last digit
        value = math.fsum(weights * np.clip(self.distribution(rows).mean, 0, 1))
        of_mean = self.distribution(rows, weights[None] / share)
        of_mean = replace(of_mean, means=share * of_mean.means, stds=share * of_mean.stds)
        return predict_intervals(of_mean, self.level, np.array([value]))[0]

    @cached_property
    def left_out_(self) -> dict[str, np.ndarray]:
        """Estimate of every pair by the other groups (leave-one-group-out); see `by_other_groups`.

        A table with one row a pair: ``source``, ``group``, ``category``, ``n_images``, ``true``,
        ``estimate``, ``lower``, ``upper``, ``raw``; empty with a single group.
        """
        if len(self.groups_) < 2:
            return {}
        intervals = self.by_other_groups(self.pairs_)
        columns = ("source", "group", "category", "n_images")
        estimated = {"estimate": "value", "lower": "lower", "upper": "upper", "raw": "raw"}
        return {
            **{name: self.pairs_[name] for name in columns},
            "true": self._true,
            **{
                name: np.array([getattr(interval, field) for interval in intervals])
                for name, field in estimated.items()
            },
        }

    @property
    def residuals_(self) -> np.ndarray:
        """Mean absolute error of each left-out group; empty with fewer than three."""
        if len(self.groups_) < MIN_SOURCES:
            return np.zeros(0)
        rows = self.left_out_
        errors = np.abs(np.clip(rows["raw"], 0, 1) - rows["true"])
        group = rows["group"]
        return np.array([errors[group == name].mean() for name in dict.fromkeys(group)])

    def predict_left_out(self) -> np.ndarray:
        """Estimate each row of `table_` by the other groups, (N,), in [0, 1]; see `left_out_`.

        NaN with a single group, and in a table whose rows hold several categories.
        """
        if len(self.groups_) < 2 or any("/" in name for name in self.table_):
            return np.full(len(self.table_["group"]), np.nan)
        return np.clip([interval.raw for interval in self.by_other_groups(self.table_)], 0, 1)

    def by_other_groups(self, rows: Table) -> list[PredictionInterval]:
        """Predict each row by a regression that was fitted on the rows of the other groups.

        All parts are fitted again, since a group also shows the weight of the reference detector,
        the fall of accuracy by domain shift, and the usual size of boxes. That a detector was
        trained at a site is known without labels.

        Parameters
        ----------
        rows : Table
            With ``group``.

        Returns
        -------
        list of PredictionInterval
            In the order of the rows.
        """
        settings = {field.name: getattr(self, field.name) for field in fields(self)}
        intervals: dict[int, PredictionInterval] = {}
        for rest, left_out in leave_one_group_out(rows["group"]):
            fitted = Regression(**settings).fit(rows_where(rows, rest))
            # Not as rows of a new site: each has a site and a group of its own.
            new = fitted._arrays(rows_where(rows, left_out))
            predicted = predict_intervals(fitted._model.predict(new), self.level)
            intervals |= zip(left_out.tolist(), predicted, strict=True)
            if fitted.domain_shift_ is None:
                continue
            confidence = new.x[:, 0] - fitted._confidence_at_home
            elsewhere = fitted._elsewhere.predict(new)
            domain_shift = fitted.domain_shift_.predict(elsewhere, fitted.home_, confidence)
            for k, interval in zip(
                left_out, predict_intervals(domain_shift, self.level), strict=True
            ):
                if not rows[TRAINED_HERE][k]:
                    intervals[k] = interval
        return [intervals[k] for k in range(len(rows["group"]))]

    def reads_reference(self, rows: Table) -> np.ndarray:
        """Return of which pairs a reference detector is read.

        Parameters
        ----------
        rows : Table
            As of `site_rows` or of its result; N rows.

        Returns
        -------
        ndarray of shape (N,), bool
            False for all where the fit has no reference.
        """
        if self.prior_of_boxes_ is None:
            return np.zeros(len(rows["category"]), bool)
        readable = np.isfinite(rows[self.features_[-1]])
        if self.target.startswith(PRECISION):
            readable &= reads_precision(rows.get(WORD, rows["category"]))
        return readable

    def _arrays(self, rows: Table) -> Pairs:
        """Turn rows into the arrays of the model, with a value in place of each unknown score.

        A reference may have no confident box where the detector has one, which does count as 0; a
        score is undefined where the category is not found.

        Parameters
        ----------
        rows : Table
            From `site_rows`, or of the fit.

        Raises
        ------
        InputError
            Where a score would count as 0 because its pass was not made.
        """
        missing = [name for name in (*self.features_, "n_images") if name not in rows]
        if missing:
            raise InputError(
                f"Expected the columns {', '.join(missing)} but the rows hold only "
                f"{', '.join(map(str, list(rows)[:12]))}."
            )
        always_read = (*FEATURES, *REFERENCE_FEATURES)
        computed = (EXPECTED, f"{BY_REFERENCE}{PRECISION}")  # from counts
        for name in self.features_:
            if CONFIDENCE not in rows or name in always_read or name.startswith(computed):
                continue
            lacking = np.isnan(rows[name]) & ~np.isnan(rows[CONFIDENCE])
            if lacking.any():
                k = int(np.flatnonzero(lacking)[0])
                called = [str(rows[n][k]) for n in ("source", "category") if n in rows]
                first = " ".join(n for n in called if n and not n.startswith("\0")) or "the site"
                raise InputError(
                    f"Expected {name} of every pair with a confident box, but {lacking.sum()} of "
                    f"{len(lacking)} lack it, first {first}: its pass was not made there. Score "
                    "all sites the same way, or leave that score out of what is read."
                )
        x = values_of(rows, self.features_)
        sampling = self.prior_.of_one_image**2 / rows["n_images"]
        unnamed = np.full(len(x), "", object)
        group, site = rows.get("group", unnamed), rows.get("source", unnamed)
        category = rows.get(WORD, rows.get("category", unnamed))
        if self.categories_ == [ONLY]:  # fitted without their names
            category = np.full(len(x), ONLY, object)
        if SIZE in self.features_:
            # Where the sizes of images are not known the size of boxes counts as the mean of the
            # pairs of the fit, or of the prior, and its slope adds to the error. A fit without any
            # size reads none at new sites, either.
            at = self.features_.index(SIZE)
            has_boxes = np.isfinite(rows[self.features_[0]])
            seen = self.pairs_[SIZE]
            seen = seen[np.isfinite(seen)]
            unknown = has_boxes & ~np.isfinite(rows[SIZE]) if len(seen) else has_boxes
            x[unknown, at] = seen.mean() if len(seen) else self.prior_.location[at]
            sampling[unknown] += self.prior_.slopes[at] ** 2
        if self.prior_of_boxes_ is not None:
            # At the score that the prior expects without a reference it moves no prediction; the
            # pair then varies as much as without one, too.
            lacking = ~self.reads_reference(rows)
            of_boxes = self.prior_of_boxes_.mean(x[lacking, :-1], category[lacking])
            x[lacking, -1] = of_boxes
            sampling[lacking] += self.prior_of_boxes_.spread**2 - self.prior_.spread**2
        return Pairs(x, sampling, group, site, category)


def _named(table: Table) -> dict[str, np.ndarray]:
    """Give each row a category and a group, where it has none.

    Raises
    ------
    InputError
        If a site is in two groups.
    """
    rows = {str(name): np.asarray(table[name]) for name in table}
    n = len(next(iter(rows.values()), ()))
    site = rows.get("source", np.full(n, "", object))
    group = rows.get("group", site)
    has_group = [
        name is not None and not (isinstance(name, float) and np.isnan(name)) for name in group
    ]
    rows["group"] = np.where(has_group, group, site)
    rows.setdefault("category", np.full(n, ONLY, object))
    for name in {"source", "group", "category"} & {*rows}:
        rows[name] = rows[name].astype(str).astype(object)
    if TRAINED_HERE in rows:  # a row without a value was not trained there
        rows[TRAINED_HERE] = np.array([value in (True, 1) for value in rows[TRAINED_HERE]], bool)
    groups: dict[str, dict[str, None]] = {}
    divided = rows.get("kind", np.full(n, "", object)) == CATEGORY  # categories of a set may be
    for k in np.flatnonzero(~divided) if "source" in rows else ():
        groups.setdefault(rows["source"][k], {})[rows["group"][k]] = None
    for name, several in groups.items():
        if len(several) > 1:
            raise InputError(
                f"The site {name} is in the groups {', '.join(several)}: a site has one, or "
                "leaving that out would leave its own pairs in. Give all its rows the same group, "
                "or each of two sites a name of its own."
            )
    return rows


def draw_sites(
    regression: Regression,
    rows: Table,
    *,
    draws: int,
    seed: int = 0,
    fitted_sites: Mapping[str, str] | None = None,
) -> np.ndarray:
    """Draw the accuracies of K new sites together, each the mean over its categories.

    Each site counts as a group of its own: its effects are independent of those of the others, the
    errors of intercept and slopes are shared. Cameras of one owner may have more in common than
    that; the order is then less certain than it could be.

    Parameters
    ----------
    regression : Regression
        Fitted.
    rows : Table
        One row for each site and category: ``site``, ``category``, ``n_images`` and the scores;
        with `UNSEEN` as in `Regression.distribution`.
    draws : int
        How many.
    seed : int
        Of the draws.
    fitted_sites : mapping of str to str, optional
        Of sites of the fit their name there, see `Regression`; drawn independently of the others.

    Returns
    -------
    ndarray of shape (draws, K)
        Not cut at 0 and 1, of the sites in the order of their first rows; NaN for precision at a
        site where no box is over the threshold.
    """
    table, fitted_sites = with_target(rows, regression.target), fitted_sites or {}
    site = table["site"]
    table.pop(SITE, None)  # of some rows: `distribution` reads it for all of them
    table.setdefault(COUNTED, np.ones(len(site), bool))
    table.setdefault(UNSEEN, np.zeros(len(site)))
    table["group"] = table["source"] = np.array([NEW + name for name in site], object)
    sites, target = list(dict.fromkeys(site)), regression.target
    none = nothing_over(table, target) | ~table[COUNTED]
    of_rows = regression.draw(table, draws=draws, seed=seed)
    of_rows[:, none] = 0.0  # by definition, or without a weight
    if len(sites) < len(site):  # several categories: for `possible` below
        parts = np.split(np.arange(len(site)), range(AT_ONCE, len(site), AT_ONCE))
        means = [regression.distribution(rows_where(table, part)).mean for part in parts]
        mean = np.where(none, 0.0, np.concatenate(means))
    drawn = np.empty((draws, len(sites)))
    for k, name in enumerate(sites):
        members = np.flatnonzero(site == name)
        weights = category_weights(rows_where(table, members), target)
        drawn[:, k] = of_rows[:, members] @ weights
        if len(members) > 1:
            # Moved to the mean of possible accuracies, which is what is printed.
            possible = weights @ np.clip(mean[members], 0, 1)
            drawn[:, k] += possible - np.clip(weights @ mean[members], 0, 1)
    shares = np.array([table[UNSEEN][site == name][0] for name in sites])
    if shares.any():
        errors = np.random.default_rng([seed, 1]).normal(size=drawn.shape)
        drawn += shares * regression.accuracy_std_ * errors
    rng, unit = np.random.default_rng([seed, 2]), float(ndtri((1 + regression.level) / 2))
    for k, name in enumerate(sites):
        of_site = rows_where(table, site == name)
        if name in fitted_sites:
            of_site[SITE] = np.full(len(of_site["site"]), fitted_sites[name], object)
            interval = regression.predict_mean(of_site)
            drawn[:, k] = rng.normal(interval.raw, interval.reach / unit, draws)
        if none[site == name].all():
            drawn[:, k] = without_boxes(target).value
    return drawn
