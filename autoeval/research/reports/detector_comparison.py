"""How well differences of detectors are estimated at labelled sites."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping

import pandas as pd
from matplotlib.figure import Figure

from autoeval.comparison.common_ground import check_fits, on_common_ground
from autoeval.comparison.pair_model import pair_prior
from autoeval.comparison.unlabelled_difference import Side, compare_label_free
from autoeval.errors import InputError
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.site import Site
from autoeval.estimation.training_set import TrainingSet
from autoeval.labels.value_with_error import ValueWithError
from autoeval.report.sections import Part, StudyReport
from autoeval.research.studies.comparisons import COMBINED, FREE, ComparedPair, backtest, summary
from autoeval.targets import OperatingPoint

ABOUT = (
    "Every two detectors at every labelled site and category: mean absolute error of the estimated "
    "difference, how often its sign is right among true differences over 1, 3 and 5 points, Brier "
    "score of the probability that the first is better, coverage and half-width of the nominal "
    "90 % interval, by the number of labelled images, drawn at random. *Carried over*: the mean "
    "difference on the labelled set of the fits; *labels alone*: the difference on the labelled "
    "images. Points of 100 and per cent."
)


def compare_report(
    fits: Mapping[str, AccuracyEstimator],
    sites: Mapping[str, list[TrainingSet]],
    *,
    draws: int = 20,
    seed: int = 0,
) -> StudyReport:
    """Compare detectors at sites whose labels are known.

    Parameters
    ----------
    fits : mapping of str to AccuracyEstimator
        By detector.
    sites : mapping of str to list of TrainingSet
        What each finds at the same sites, in the same order.
    draws : int
        Of labelled images, for each number of them.
    seed : int

    Raises
    ------
    InputError
        As `check_fits`; if they are of a target at a threshold, or no site has a labelled category.
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
    found = backtest(pairs, draws=draws, seed=seed)
    table = summary(found)
    formats = dict.fromkeys(table.columns[3:], "{:.1f}") | {"Brier": "{:.3f}"}
    title = "Differences of detectors, estimated"
    return StudyReport(
        "compare", title, ABOUT, _figure(found), [Part("compare", table, formats=formats)]
    )


def _pairs_at(
    fits: Mapping[str, AccuracyEstimator], sets: Mapping[str, TrainingSet]
) -> Iterator[ComparedPair]:
    """Yield every two detectors in every labelled category of a site."""
    common, _ = on_common_ground(
        fits, {name: Site(of.boxes, named=True) for name, of in sets.items()}
    )
    sides = [Side.of(name, fits[name], site) for name, site in common.items()]
    for a, b in itertools.combinations(sides, 2):
        target = fits[a.name].target
        free = compare_label_free(a, b, target, pair_prior(), {})
        for k, category in enumerate(a.site.boxes.clean.categories):
            rankings = tuple(sets[of.name].rankings[k] for of in (a, b))
            if not rankings[0].n_true.any():
                continue
            first, second = (of.average_precision().mean() for of in rankings)
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


def _figure(found: pd.DataFrame) -> Figure:
    """Draw estimated against true differences, without labels and with the most."""
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots(1, 2, sharex=True, sharey=True)
    most = found["k"].max()
    for ax, k, method in zip(axes, (0, most), (FREE, COMBINED if most else FREE), strict=True):
        own = found[(found["k"] == k) & (found["method"] == method)]
        ax.axline((0, 0), slope=1, color="0.8", zorder=0)
        ax.scatter(100 * own["truth"], 100 * own["value"], s=8, alpha=0.5)
        ax.set(title=f"{method}, {k} labels", xlabel="true difference (points of 100)")
    axes[0].set_ylabel("estimated difference")
    return figure
