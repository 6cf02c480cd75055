"""Leave-one-group-out evaluation: the error on sites that the fit has not seen.

`evaluate_pairs` leaves out each group of a regression and estimates it by the others; `FitResult`
is what a fit carries of that, with the accuracy on the labelled images, and `HeldOutErrors` what a
saved estimator keeps. Published methods fill the same `LeaveOneSourceOut`
(`autoeval.stability.methods.leave_one_out`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import Self

from autoeval.accuracy.measures import OperatingPoint, Target, find_target
from autoeval.errors import InputError
from autoeval.model.pair_table import (
    CATEGORY,
    COUNTS,
    EXPECTED_COUNTS,
    category_weights,
    with_target,
)
from autoeval.model.regression import DEFAULT_METHOD, Regression
from autoeval.result_base import ENDS, Result
from autoeval.words import Notice, counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from autoeval.io.tasks.seed_set import SeedSet

BASELINE = "constant"
FEWEST_GROUPS = 3
GROUPS = 10


@dataclass(frozen=True)
class LeaveOneSourceOut:
    """Held-out results of one method.

    Parameters
    ----------
    method, target : str
        Name of the method, and what it estimates.
    per_source : DataFrame
        One row a site, or a pair of site and category: ``source``, ``group`` (of categories the
        category), ``n_images``, ``true``, ``estimate`` (mean over repeats, also
        where the interval is too wide to be given), ``std`` (over repeats), ``error`` (mean over
        repeats of the absolute error), ``lower``, ``upper``, ``interval_method``, ``missing`` (the
        estimate is the constant's, since the method has none of this site, so that all methods are
        evaluated on the same sites); of published methods also ``error_std`` (standard deviation of
        the absolute error over repeats; NaN with one). In [0, 1].
    error_by_repeat : ndarray of shape (n_repeats,)
        Mean absolute error over sites.
    correlation : dict of str to float
        ``r2`` and ``spearman`` between the score and mAP over all sample sets, for a method of one
        feature; empty otherwise.
    by_category : bool
        Whether categories of the same sites were left out, since there are fewer than three
        groups. It is no evidence about other sites.
    n_left_out : int
        Sites, or categories, that were left out; 0 for as many as there are rows.
    """

    method: str
    target: str
    per_source: pd.DataFrame
    error_by_repeat: np.ndarray
    correlation: dict[str, float]
    by_category: bool = False
    n_left_out: int = 0

    def summary(self) -> dict[str, Any]:
        """Return the figures over all sites.

        Returns
        -------
        dict
            ``mean_absolute_error``, ``coverage`` and ``width`` of the intervals: each group counts
            once. Over rows: ``pooled_rmse``; ``r2``, the coefficient of determination of the
            held-out estimates, negative when worse than their own mean; ``spearman``; ``missing``,
            sites without an estimate of the method's own. ``std`` of the mean absolute error is
            over repeats (the paper's "Avg. RMSE"); ``score_`` figures are from `correlation`.
        """
        table = self.per_source
        true, estimate = table["true"].to_numpy(), table["estimate"].to_numpy()
        lower, upper = table["lower"].to_numpy(float), table["upper"].to_numpy(float)
        variation = np.sum((true - true.mean()) ** 2) if np.ptp(true) else 0.0  # else rounding
        inside = np.where(np.isnan(lower), np.nan, (lower <= true) & (true <= upper))
        group = np.unique(table["group" if "group" in table else "source"], return_inverse=True)[1]
        means = {}
        for name, values in (
            ("error", table["error"].to_numpy()),
            ("inside", inside),
            ("width", upper - lower),
        ):
            known = ~np.isnan(values)
            counts, sums = np.bincount(group[known]), np.bincount(group[known], values[known])
            means[name] = (sums[counts > 0] / counts[counts > 0]).mean() if known.any() else np.nan
        # NaN where one is not known
        ranks = table[["true", "estimate"]].corr("spearman", min_periods=len(table))
        return {
            "method": self.method,
            "mean_absolute_error": float(means["error"]),
            "std": float(self.error_by_repeat.std()),
            "pooled_rmse": float(np.sqrt(np.mean((true - estimate) ** 2))),
            # the coefficient of determination
            "r2": float(1 - np.sum((true - estimate) ** 2) / variation) if variation else math.nan,
            "spearman": float(ranks.iloc[0, 1]),
            "coverage": float(means["inside"]),
            "width": float(means["width"]),
            "missing": int(table["missing"].sum()),
            **{f"score_{name}": value for name, value in self.correlation.items()},
        }


@dataclass(frozen=True)
class HeldOutErrors:
    """Errors of estimates of what was left out of a fit, in the range of its target.

    Parameters
    ----------
    target : str
        What was estimated.
    n : int
        Sites, or categories, that were left out.
    by_category : bool
        See `LeaveOneSourceOut`.
    mean_absolute_error : float
        Of the method in use; like coverage and width the mean over groups, or sites without one.
    coverage : float
        Share of true values inside their intervals, in [0, 1], where these can be given.
    width : float
        Distance between the ends of the intervals.
    baseline : float
        Mean absolute error of the constant; NaN where it is in use, or was not evaluated.
    """

    target: str
    n: int
    by_category: bool
    mean_absolute_error: float
    coverage: float
    width: float
    baseline: float

    @classmethod
    def of(cls, results: Sequence[LeaveOneSourceOut]) -> Self | None:
        """Take the figures of the first method, and of the constant where that is the last.

        Parameters
        ----------
        results : sequence of LeaveOneSourceOut
            As in `FitResult.cross_validation`.

        Returns
        -------
        HeldOutErrors or None
            None without results.
        """
        if not results:
            return None
        used, last = results[0], results[-1]
        figures, baseline = used.summary(), math.nan
        if last.method == BASELINE != used.method:
            baseline = last.summary()["mean_absolute_error"]
        return cls(
            used.target,
            used.n_left_out or len(used.per_source),
            used.by_category,
            figures["mean_absolute_error"],
            figures["coverage"],
            figures["width"],
            baseline,
        )


def evaluate_pairs(regression: Regression) -> tuple[LeaveOneSourceOut, ...]:
    """Estimate every pair of a regression without its group, or its group of categories.

    With fewer than three groups the categories are dealt into ten groups in turn, by their names,
    and it is fitted again on these: the result then holds for other categories of the same sites,
    not for other sites.

    Parameters
    ----------
    regression : Regression
        Fitted.

    Returns
    -------
    tuple of LeaveOneSourceOut
        Of the default method and of the constant (the mean of the others), one row a pair; empty
        with fewer than three groups and fewer than three categories.
    """
    target, categories = regression.target, regression.pairs_["category"]
    by_category = len(regression.groups_) < FEWEST_GROUPS
    if by_category:
        # one of two sites with it would show what the other is estimated without
        dealt_to = {name: f"group {k % GROUPS}" for k, name in enumerate(sorted({*categories}))}
        if len(dealt_to) < FEWEST_GROUPS:
            return ()
        dealt = {
            **regression.pairs_,
            "group": np.array([dealt_to[name] for name in categories], object),
            # the pairs of a site may be divided
            "kind": np.full(len(categories), CATEGORY, object),
        }
        level, floor = regression.level, regression.floor
        regression = Regression(target=target, level=level, floor=floor).fit(dealt)
    import pandas as pd

    left_out = regression.left_out_
    true, source, category = (left_out[name] for name in ("true", "source", "category"))
    group = category if by_category else left_out["group"]
    others = [float(true[left_out["group"] != name].mean()) for name in left_out["group"]]
    # A pair is named by its source, its category, or both, whichever identifies it.
    names = source if len({*category}) == 1 else category
    if len({*source}) > 1 < len({*category}):
        names = [f"{of_pair}: {name}" for of_pair, name in zip(source, category, strict=True)]
    shared = {"n_images": left_out["n_images"], "true": true, "source": names, "group": group}
    shared |= {"std": 0.0, "missing": False}
    # the estimate of an interval that is too wide to be given counts, too
    estimates = {DEFAULT_METHOD: np.clip(left_out["raw"], 0, 1), BASELINE: np.array(others)}
    n_left_out, results = len({*(category if by_category else source)}), []
    for method, estimate in estimates.items():
        ours, errors = method == DEFAULT_METHOD, np.abs(estimate - true)
        per_source = pd.DataFrame(
            {
                **shared,
                "interval_method": "predictive" if ours else f"none: {BASELINE}",
                "estimate": estimate,
                "lower": left_out["lower"] if ours else np.nan,
                "upper": left_out["upper"] if ours else np.nan,
                "error": errors,
            }
        )
        by_repeat = np.array([errors.mean()])
        results.append(
            LeaveOneSourceOut(method, target, per_source, by_repeat, {}, by_category, n_left_out)
        )
    return tuple(results)


def worse_than_constant(held_out: HeldOutErrors | None) -> tuple[Notice, ...]:
    """Warn of an estimator whose error on left-out pairs is not below that of a constant.

    Parameters
    ----------
    held_out : HeldOutErrors, optional
        None, and one without a `baseline`, give no warning.
    """
    if held_out is None or math.isnan(held_out.baseline):
        return ()
    error, baseline = held_out.mean_absolute_error, held_out.baseline
    if error < baseline:
        return ()
    units, target = "categories" if held_out.by_category else "sites", find_target(held_out.target)
    unit = "points" if target.unit == Target.unit else target.unit
    text = (
        f"on {units} that were left out of the fit the mean absolute error is "
        f"{target.text(error)} {unit}; the mean of the others as the estimate of each "
        f"gives {target.text(baseline)}. Either all are about equally accurate, or "
        "these scores do not predict accuracy here, as where labels are wrong"
    )
    return (Notice("no-better-than-constant", text),)


@dataclass(frozen=True, repr=False, eq=False)
class FitResult(Result):
    """The evidence for and against a fitted estimator: the accuracy on the labelled images.

    `AccuracyEstimator.fit_result_` is one. Its value is the mean over categories of the accuracy
    that was fitted, without an interval since all images have labels; errors of estimates are in
    `held_out`, `cross_validation`, `str` and `to_dict`.

    Parameters
    ----------
    table : DataFrame
        Score table that it was fitted on.
    cross_validation : tuple of LeaveOneSourceOut
        Results of the estimator's method first, those of the constant last; empty where there is
        too little to leave out.
    warnings : tuple of Notice
        Why the estimator may be wrong, each a `autoeval.words.Notice`.
    reliability : DataFrame, optional
        See `autoeval.estimation.calibrating.reliability`; None where nothing was calibrated.
    labelled_sets : DataFrame, optional
        One row a labelled set: ``source``, ``n_images``, ``n_categories`` with a label,
        ``n_fitted`` of them with labels enough, and ``mAP``, ``mAP50``, ``mAP75`` in [0, 1] as
        pycocotools computes them; None where the fit is of rows.
    files : tuple of Path
        Files that the call wrote.
    seed_sets : tuple of SeedSet
        The labelled images of a task; empty where the fit is not of one.
    compared : mapping
        Estimators by other methods that were fitted on the same table, by method.
    target : str
        A name in `autoeval.accuracy.measures.TARGETS`, or a measure at a score threshold.
    level : float
        Nominal coverage of the intervals of the estimator.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame(
    ...     {"source": ["gate", "yard"], "category": ["car", "car"], "mAP": [0.4, 0.6]}
    ... )
    >>> print(FitResult(table))
    fitted mAP: 50.0, from 2 sites
      car: 50.0
    """

    table: pd.DataFrame
    cross_validation: tuple[LeaveOneSourceOut, ...] = ()
    warnings: tuple[Notice, ...] = ()
    reliability: pd.DataFrame | None = None
    labelled_sets: pd.DataFrame | None = None
    files: tuple[Path, ...] = ()
    seed_sets: tuple[SeedSet, ...] = ()
    compared: Mapping[str, Any] = field(default_factory=dict)
    target: str = "mAP"
    level: float = 0.9
    kind = "fit"

    @property
    def title(self) -> str:
        """What the value is, in words: pycocotools prints another mean, see `labelled_sets`."""
        return f"fitted {find_target(self.target).title}"

    @property
    def basis(self) -> str:
        """How many sites have labels, and the mean absolute error of what was left out."""
        text, held_out = f"from {counted(len(set(self._pairs['source'])), 'site')}", self.held_out
        if held_out is None:
            return text
        held_out_text = f"{held_out.n} held-out {'categories' if held_out.by_category else 'sites'}"
        error = self.number_text(held_out.mean_absolute_error)
        return f"{text}, mean absolute error of estimates of {held_out_text}: {error}"

    @cached_property
    def held_out(self) -> HeldOutErrors | None:
        """Errors of estimates of what was left out; None where nothing was."""
        return HeldOutErrors.of(self.cross_validation)

    @property
    def value(self) -> float:
        """Mean accuracy over the categories that were fitted; NaN where the table has none.

        At a threshold categories weigh by their counts, see `category_weights`, in each labelled
        set, by its labels; the mean over the sets.
        """
        values = [ends["value"] for ends in self.per_category.values()]
        if values and OperatingPoint.of(self.target):
            rows = self._pairs.dropna(subset=self.target)
            if COUNTS in rows:  # those of labels: of objects that were never found none is expected
                rows = rows.assign(**{EXPECTED_COUNTS: rows[COUNTS]})
            by_site = rows.groupby("source")
            values = [category_weights(x, self.target) @ x[self.target] for _, x in by_site]
        return float(np.mean(values)) if values else math.nan

    @property
    def lower(self) -> float:
        """The value: all images have labels."""
        return self.value

    @property
    def upper(self) -> float:
        """The value: all images have labels."""
        return self.value

    @cached_property
    def per_category(self) -> dict[str, dict[str, float]]:
        """The accuracy of each category, mean over the labelled sets."""
        if self.target not in self._pairs:
            return {}
        means = self._pairs.groupby("category", sort=False)[self.target].mean().dropna()
        return {str(name): dict.fromkeys(ENDS, float(mean)) for name, mean in means.items()}

    @cached_property
    def _pairs(self) -> pd.DataFrame:
        """The pairs of `table`, with the target; a table of one site need not name it."""
        import pandas as pd

        from autoeval.estimation.category_scores import pair_rows

        rows = pd.DataFrame(with_target(pair_rows(self.table), self.target))
        return rows if "source" in rows else rows.assign(source="")

    def interval_text(self, ends: Mapping[str, float], level: str = "") -> str:
        """Write a value, which is exact.

        Parameters
        ----------
        ends : mapping of str to float
            ``value`` is read.
        level : str
            Not read, as there is no interval.
        """
        return self.number_text(ends["value"])

    def to_dict(self) -> dict[str, float]:
        """Return the numbers under flat keys, with the errors on what was left out.

        In addition to those of `Result.to_dict` these are ``fit/mean_absolute_error``,
        ``fit/coverage`` and ``fit/width`` of the intervals, in the range of the target; they are
        missing where nothing was left out of the fit.
        """
        names, held_out = ("mean_absolute_error", "coverage", "width"), self.held_out
        errors = {f"fit/{name}": getattr(held_out, name, math.nan) for name in names}
        return super().to_dict() | {k: float(v) for k, v in errors.items() if math.isfinite(v)}

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw what was estimated of each site, or category, that was left out, over the truth.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        Axes
            In the unit of the target, with intervals and the line on which both are equal.

        Raises
        ------
        InputError
            If too few sites and categories left none to leave out.
        """
        from matplotlib.figure import Figure

        if not self.cross_validation:
            raise InputError("Nothing was left out of the fit: there is nothing to draw.")
        if ax is None:
            ax = Figure(figsize=(4.5, 4.5), layout="constrained").subplots()
        target, rows = find_target(self.target), self.cross_validation[0].per_source
        true, value = target.scale * rows["true"], target.scale * rows["estimate"]
        lower, upper = target.scale * rows["lower"], target.scale * rows["upper"]
        ax.axline((0, 0), slope=1, color="0.7", lw=1)
        ax.errorbar(true, value, yerr=[value - lower, upper - value], fmt="o", capsize=3)
        quantity = f"{target.name} ({target.unit})"
        ax.set(xlabel=f"true {quantity}", ylabel=f"estimated {quantity}, {self.level:.0%} interval")
        return ax
