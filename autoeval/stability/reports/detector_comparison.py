"""How well differences of detectors are estimated at labelled sites."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from autoeval.accuracy.average_precision import RankedDetections
from autoeval.comparison.common_ground import check_fits, on_common_ground
from autoeval.comparison.pair_model import pair_prior
from autoeval.comparison.paired_labels import difference_of, difference_with_labels
from autoeval.comparison.unlabelled_difference import Side, compare_label_free
from autoeval.errors import InputError
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.site import Site
from autoeval.labels.difference import difference_estimate
from autoeval.labels.estimators import LabelledSample, SampleAccuracy, measure_sample
from autoeval.labels.value_with_error import NOTHING, ValueWithError
from autoeval.labels.variance_prior import VariancePrior
from autoeval.report.sections import Part
from autoeval.sites.labelled_set import LabelledSet
from autoeval.stability.reports.study_report import StudyReport
from autoeval.targets import OperatingPoint

ABOUT = (
    "Every two detectors at every labelled site and category: mean absolute error of the estimated "
    "difference, how often its sign is right among true differences over 1, 3 and 5 points, Brier "
    "score of the probability that the first is better, coverage and half-width of the nominal "
    "90 % interval, by the number of labelled images, drawn at random. *Carried over*: the mean "
    "difference on the labelled set of the fits; *labels alone*: the difference on the labelled "
    "images. Points of 100 and per cent."
)
SIZES = (0, 5, 10, 20, 50)
MOST_LABELLED = 0.8  # share of a site; with more, little is left to estimate
LEVEL = 0.9
SIGNS = (0.01, 0.03, 0.05)
Measured = dict[tuple[int, int, int], SampleAccuracy]  # by ranking, labels and draw
CARRIED, FREE, ALONE, COMBINED = "carried over", "label-free", "labels alone", "combined"
AGREEMENT = "agreement"


def compare_report(
    fits: Mapping[str, AccuracyEstimator],
    sites: Mapping[str, list[LabelledSet]],
    *,
    draws: int = 20,
    seed: int = 0,
) -> StudyReport:
    """Compare detectors at sites whose labels are known.

    `sites` is what each detector finds at the same sites, in the same order; `draws` are of
    labelled images, for each number of them.
    """
    check_fits(fits)
    if OperatingPoint.of(next(iter(fits.values())).target):
        raise InputError("The study compares by average precision: fit without --score-thr.")
    pairs = [
        pair
        for at in zip(*sites.values(), strict=True)
        for pair in _pairs_at(fits, dict(zip(sites, at, strict=True)))
    ]
    if not pairs:
        raise InputError("No site has a labelled category: nothing can be evaluated.")
    evaluated = backtest(pairs, draws=draws, seed=seed)
    table = summary(evaluated)
    formats = dict.fromkeys(table.columns[3:], "{:.1f}") | {"Brier": "{:.3f}"}
    title = "Differences of detectors, estimated"
    return StudyReport(
        "compare", title, ABOUT, _figure(evaluated), [Part("compare", table, formats=formats)]
    )


def _pairs_at(
    fits: Mapping[str, AccuracyEstimator], sets: Mapping[str, LabelledSet]
) -> Iterator[ComparedPair]:
    """Yield every two detectors in every labelled category of a site."""
    common, _ = on_common_ground(
        fits, {name: Site(labelled.boxes, named=True) for name, labelled in sets.items()}
    )
    sides = [Side.of(name, fits[name], site) for name, site in common.items()]
    for a, b in itertools.combinations(sides, 2):
        target = fits[a.name].target
        free = compare_label_free(a, b, target, pair_prior(), {})
        for k, category in enumerate(a.site.boxes.clean.categories):
            rankings = tuple(sets[side.name].rankings[k] for side in (a, b))
            if not rankings[0].n_true.any():
                continue
            first, second = (ranking.average_precision().mean() for ranking in rankings)
            yield ComparedPair(
                a.name,
                b.name,
                sets[a.name].name,
                category,
                float(first - second),
                free.each[k],
                ValueWithError(free.carried, math.nan),
                rankings=rankings,
                predicted=free.influences[k],
                residual=free.residuals[k],
            )


def _figure(evaluated: pd.DataFrame) -> Figure:
    """Draw estimated against true differences, without labels and with the most."""
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots(1, 2, sharex=True, sharey=True)
    most = evaluated["k"].max()
    for ax, k, method in zip(axes, (0, most), (FREE, COMBINED if most else FREE), strict=True):
        points = evaluated[(evaluated["k"] == k) & (evaluated["method"] == method)]
        ax.axline((0, 0), slope=1, color="0.8", zorder=0)
        ax.scatter(100 * points["truth"], 100 * points["value"], s=8, alpha=0.5)
        ax.set(title=f"{method}, {k} labels", xlabel="true difference (points of 100)")
    axes[0].set_ylabel("estimated difference")
    return figure


@dataclass(frozen=True, eq=False)
class ComparedPair:
    """Two detectors on one category of one site.

    `truth` is average precision of A less that of B; `free` the label-free difference, `carried`
    that on the labelled set; `agreement` is A's average precision with B's likely boxes as labels,
    less the reverse. `rankings` are of both on the N labelled images, `predicted` (N,) the
    influence of each on the difference, and `residual` the variance that this leaves, of one image.
    """

    a: str
    b: str
    site: str
    category: str
    truth: float
    free: ValueWithError
    carried: ValueWithError
    agreement: ValueWithError = NOTHING
    rankings: tuple[RankedDetections, ...] = ()
    predicted: np.ndarray | None = None
    residual: VariancePrior | None = None


def backtest(
    pairs: Sequence[ComparedPair], *, sizes: Sequence[int] = SIZES, draws: int = 40, seed: int = 0
) -> pd.DataFrame:
    """Estimate every difference with k labelled images, drawn repeatedly.

    ``p`` is the probability that A is better, ``covered`` by the 90 % interval; NaN without one.
    """
    rows: list[dict] = []
    measured: Measured = {}
    for one in pairs:
        for k in sizes:
            if k == 0:
                estimates = [{CARRIED: one.carried, AGREEMENT: one.agreement, FREE: one.free}]
            elif not one.rankings or k > MOST_LABELLED * len(one.rankings[0]):
                continue
            else:
                estimates = [_draw(one, k, seed + d, measured) for d in range(draws)]
            for draw in estimates:
                rows += _evaluated(one, k, draw)
    return pd.DataFrame(rows)


def summary(evaluated: pd.DataFrame) -> pd.DataFrame:
    """Average over pairs and draws, in points of 100 and percent; one row a k and method."""
    rows = []
    for (k, method), group in evaluated.groupby(["k", "method"], sort=False):
        truth = group["truth"]
        right = np.sign(group["value"]) == np.sign(truth)
        n_pairs = group.groupby(["a", "b", "site", "category"]).ngroups
        row = {"labels": k, "method": method, "pairs": n_pairs}
        row["MAE"] = 100 * group["error"].mean()
        for least in SIGNS:
            row[f"sign right over {100 * least:.0f}"] = 100 * right[truth.abs() > least].mean()
        row["Brier"] = ((group["p"] - (truth > 0)) ** 2).mean()
        row["coverage"] = 100 * group["covered"].mean()
        row["half-width"] = 100 * group["half_width"].mean()
        rows.append(row)
    return pd.DataFrame(rows).sort_values("labels", kind="stable", ignore_index=True)


def _draw(one: ComparedPair, k: int, seed: int, measured: Measured) -> dict[str, ValueWithError]:
    """Estimate from a simple random sample, the same for all pairs of a site."""
    assert one.predicted is not None and one.residual is not None
    n_pool = len(one.rankings[0])
    images = np.sort(np.random.default_rng([seed, k]).choice(n_pool, k, replace=False))
    for ranking in one.rankings:
        if (id(ranking), k, seed) not in measured:
            measured[id(ranking), k, seed] = measure_sample(ranking.take(images))
    sample = LabelledSample(images, n_pool)
    accuracy = difference_of(*(measured[id(ranking), k, seed] for ranking in one.rankings))
    difference = difference_with_labels(accuracy, sample, one.free, one.predicted, one.residual)
    alone = NOTHING
    if accuracy.measured:
        alone = difference_estimate(accuracy.value, accuracy.influence, n_pool=n_pool)
    return {ALONE: alone, COMBINED: difference.combined}


def _evaluated(one: ComparedPair, k: int, estimates: dict[str, ValueWithError]) -> Iterator[dict]:
    for method, estimate in estimates.items():
        if not np.isfinite(estimate.value):
            continue
        half = estimate.half_width(LEVEL)
        error = abs(estimate.value - one.truth)
        yield {
            "a": one.a,
            "b": one.b,
            "site": one.site,
            "category": one.category,
            "k": k,
            "method": method,
            "truth": one.truth,
            "value": estimate.value,
            "error": error,
            "p": estimate.probability_positive,
            "covered": float(error <= half) if estimate.known else np.nan,
            "half_width": half,
        }
