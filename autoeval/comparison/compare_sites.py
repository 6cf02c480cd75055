"""From fitted estimators and what their detectors found at a site to a comparison, top to bottom.

`compare_sites` is called by `autoeval.compare`. Two detectors at a time are a `PairDifference`, by
labels where there are some; `_ranked` puts the differences of all pairs together.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from autoeval.accuracy.measures import OperatingPoint
from autoeval.boxes import same_boxes
from autoeval.comparison.common_ground import (
    check_fits,
    on_common_ground,
)
from autoeval.comparison.comparison import ALL, Comparison, PairForecast
from autoeval.comparison.paired_labels import (
    LabelDifference,
    PairedLabels,
    estimate_by_labels,
    pair_labels,
)
from autoeval.comparison.unlabelled_difference import ComparedDetector, compare_label_free
from autoeval.estimation.checks import nothing_found_text
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.io.image_identity import BY_NAME, match_images
from autoeval.io.labels.content import LabelSet
from autoeval.labels.joint import outlook_after
from autoeval.labels.labelled_estimate import warnings_of_conflict, warnings_of_few
from autoeval.labels.matching import in_categories, labels_on
from autoeval.labels.plan import LabelPlan
from autoeval.labels.values import NOTHING, ValueWithError
from autoeval.model.pair_table import TRAINED_HERE
from autoeval.sites.file_looks import unseen_warning
from autoeval.sites.site import Site
from autoeval.words import Notice, listed, prefixed

DRAWS = 40_000  # behind the probability of being best
SMALLEST = 0.005  # a difference that more labels are not asked for
FEWEST_INFORMATIVE = 2  # labelled images that show a difference: one has no variance
ITSELF = ValueWithError(0.0, 0.0)
"""The difference of a detector to itself."""


@dataclass(frozen=True)
class SiteLabels:
    """Labels of some of the images of a site.

    Parameters
    ----------
    content : LabelSet
        As they were read.
    words : mapping of str to str, optional
        Category for each word of the labels; by default equal words, and the detectors' words for
        a category where these were given.
    plan : LabelPlan, optional
        That drew the labelled images; by default they are a simple random sample.
    """

    content: LabelSet
    words: Mapping[str, str] | None = None
    plan: LabelPlan | None = None


@dataclass(frozen=True)
class DetectorFacts:
    """What is known of detectors that are compared, by name.

    Parameters
    ----------
    trained_here : collection of str
        Those that were trained on images like the labelled ones: their difference there is not
        used, and their estimates are lowered; see `autoeval.comparison.unlabelled_difference`.
    accuracy : mapping of str to float
        The true accuracy here, in [0, 1], of one of them: the others are that much better or worse,
        with the error of the difference.
    """

    trained_here: Collection[str] = ()
    accuracy: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class PairDifference:
    """The difference in accuracy of two detectors at a site, the first less the second.

    Parameters
    ----------
    by_category : dict of str to LabelDifference
        Of each category, and of `ALL` where there are several.
    carried : float
        Difference on the labelled sets of both fits; NaN where they have none in common.
    forecast : PairForecast
        Of all categories together.
    """

    by_category: dict[str, LabelDifference]
    carried: float
    forecast: PairForecast


def compare_sites(
    fits: Mapping[str, AccuracyEstimator],
    sites: Mapping[str, Site],
    labels: SiteLabels | None = None,
    *,
    facts: DetectorFacts | None = None,
    level: float = 0.9,
    seed: int = 0,
) -> Comparison:
    """Compare detectors at a site.

    What is known of the differences on the labelled set is used where both were fitted on the same
    one.

    Parameters
    ----------
    fits : mapping of str to AccuracyEstimator
        By name of the detector, two or more of one target.
    sites : mapping of str to Site
        What each detector found at the site, by the same names in the same order.
    labels : SiteLabels, optional
        Labels of some of the images.
    facts : DetectorFacts, optional
        What is known of the detectors.
    level : float
        Nominal coverage of the intervals.
    seed : int
        Of the draws behind ``p_best`` of three detectors or more.

    Returns
    -------
    Comparison

    Raises
    ------
    InputError
        As `check_fits`, `on_common_ground`, `labels_on` and `pair_labels`.
    """
    facts = DetectorFacts() if facts is None else facts
    check_fits(fits, facts.trained_here, facts.accuracy)
    if labels is not None:
        of_boxes = [word for site in sites.values() for word in site.boxes.categories]
        of_fits = [word for fitted in fits.values() for word in fitted.known_looks().categories]
        rules = {  # by which the labelled images are found in the file of each detector
            name: match_images(labels.content.images, site.boxes.images).rules
            for name, site in sites.items()
        }
        best_named = max(
            rules,
            key=lambda name: (sum(map(bool, rules[name])), rules[name].count(BY_NAME[0].name)),
        )
        sites = {best_named: sites[best_named], **sites}  # labels have the names of the first
        words_known = [*(labels.words or (*of_boxes, *of_fits))]
        of_images = labels_on(labels.content, sites[best_named].boxes.images, words_known)
        if not labels.words:
            for site in sites.values():
                of_images = in_categories(of_images, site.detector_words)
        labels = replace(labels, content=of_images)
    content, words = (None, None) if labels is None else (labels.content, labels.words)
    fits, common, warnings = on_common_ground(fits, sites, content, words)
    fits |= {name: _as_trained_here(fits[name]) for name in facts.trained_here}
    target, paired = next(iter(fits.values())).target, None
    if labels is not None:
        paired = pair_labels(common, labels.content, target=target, words=words, plan=labels.plan)
        common = dict(paired.sites)
    sides = [ComparedDetector.of(name, fitted, common[name]) for name, fitted in fits.items()]
    levels, of_labels = {}, None
    for side in sides:
        whole = float(side.values.mean()) if len(side.values) else side.estimates[-1].value
        levels[side.name] = whole
    if paired is not None:
        by_labels, of_labels = _labelled_levels(fits, paired)
        levels |= by_labels
        of_labels = [*paired.warnings, *of_labels]
    numbers = n_blocks = np.arange(len(sides[0].site) + 1)
    blocks = sides[0].site.blocks
    if paired is not None:
        blocks, sample = paired.blocks, paired.sample
        n_blocks = np.minimum(numbers, sample.n_clusters)
        n_blocks += np.maximum(numbers - len(sample.images), 0)
    if blocks is not None:  # further images lie in blocks without a label while there are such
        n_blocks = np.minimum(n_blocks, len(np.unique(blocks)))
    pairs = {
        (a.name, b.name): _difference(a, b, target, paired, level, n_blocks)
        for a, b in itertools.combinations(sides, 2)
    }
    warnings += _warnings(sides, pairs, target, of_labels)
    forecasts = {names: pair.forecast for names, pair in pairs.items()}
    ranking = _ranked(levels, forecasts, level, seed, facts.accuracy)
    rows = []
    for a, b in itertools.combinations(ranking["detector"], 2):
        turned = (a, b) not in pairs
        pair = pairs[(b, a) if turned else (a, b)]
        rows += _rows(a, b, pair, -1.0 if turned else 1.0, n_blocks, level)
    first, second = ranking["detector"][:2]
    first_ahead = {  # of the second, in each category and in all
        row["category"]: {"value": row["difference"], "lower": row["lower"], "upper": row["upper"]}
        for row in rows
        if (row["a"], row["b"]) == (first, second)
    }
    of_all = first_ahead.pop(ALL) if ALL in first_ahead else first_ahead.popitem()[1]
    return Comparison(
        target,
        level,
        **of_all,
        per_category=first_ahead,
        n_images=len(sides[0].site),
        n_labelled=len(paired.sample.images) if paired else 0,
        ranking=ranking,
        pairs=pd.DataFrame(rows),
        warnings=tuple(dict.fromkeys(warnings)),
        sites=common,
        known=next(iter(facts.accuracy), ""),
        forecasts=forecasts,
    )


def _as_trained_here(fitted: AccuracyEstimator) -> AccuracyEstimator:
    """Return a fit as with ``--trained-here``; itself where it says so of some labelled set."""
    if np.any(fitted.rows_.get(TRAINED_HERE, False)):
        return fitted
    rows = {name: np.asarray(fitted.rows_[name]) for name in fitted.rows_}
    rows[TRAINED_HERE] = np.ones(len(rows["category"]), bool)
    return replace(fitted, rows_=rows, fit_result_=None, regressions_={})


def _labelled_levels(
    fits: Mapping[str, AccuracyEstimator], labelled: PairedLabels
) -> tuple[dict[str, float], list[Notice]]:
    """Return the accuracy of each detector by labels where it is known, and warnings."""
    levels, of_labels, warnings = {}, dict[Notice, None](), list[Notice]()
    for name, fitted in fits.items():
        whole, by_category = estimate_by_labels(name, fitted, labelled)
        value = whole.combined.estimate.value
        if math.isfinite(value):
            levels[name] = float(np.clip(value, 0, 1))
        if not labelled.sample.complete:
            of_labels |= dict.fromkeys(warnings_of_few(by_category, len(labelled.sample.images)))
        warnings += prefixed(name, warnings_of_conflict(whole))
    return levels, [*of_labels, *warnings]


def _difference(
    a: ComparedDetector,
    b: ComparedDetector,
    target: str,
    paired: PairedLabels | None,
    level: float,
    n_blocks: np.ndarray,
) -> PairDifference:
    """Estimate the difference of two detectors label-free, or with labels where there are some.

    It is exactly 0 where both found the same boxes.

    Parameters
    ----------
    a, b : ComparedDetector
        On common ground.
    target : str
        What is compared.
    paired : PairedLabels, optional
        Labels of both.
    level : float
        Nominal coverage of the intervals that are forecast.
    n_blocks : ndarray of shape (N + 1,), int
        See `autoeval.labels.joint.WidthForecast`.
    """
    names = a.site.boxes.categories
    k = 0 if paired is None else len(paired.sample.images)
    free = compare_label_free(a, b, target, level, n_blocks)
    same = same_boxes(a.site.boxes, b.site.boxes)
    whole = LabelDifference(NOTHING, free.whole, free.whole)
    differences = [LabelDifference(NOTHING, value, value) for value in free.differences]
    if same:
        whole = LabelDifference(NOTHING, ITSELF, ITSELF)
        differences = [whole] * len(names)
    elif paired is not None:
        differences, whole = paired.difference(a.name, b.name, free)
    outlook = None if same else free.outlook
    if whole.labels.known:
        outlook = outlook_after(
            whole.labels, k, len(a.site), prior=whole.prior, level=level, n_blocks=n_blocks
        )
    by_category = dict(zip(names, differences, strict=True))
    if len(names) > 1:
        by_category[ALL] = whole
    return PairDifference(by_category, free.carried, PairForecast(whole.combined, outlook, k, same))


def _warnings(
    sides: Sequence[ComparedDetector],
    pairs: Mapping[tuple[str, str], PairDifference],
    target: str,
    of_labels: Sequence[Notice] | None,
) -> list[Notice]:
    """Return the warnings of the detectors' boxes, and of pairs whose difference is not measured.

    Parameters
    ----------
    sides : sequence of ComparedDetector
        All detectors.
    pairs : mapping of (str, str) to PairDifference
        Of every two.
    target : str
        What is compared.
    of_labels : sequence of Notice, optional
        Warnings of the labels, which stand between; None without labels.
    """
    at_threshold = OperatingPoint.of(target) is not None
    of_sites: dict[Notice, list[str]] = {}  # the detectors that each warning is about
    for side in sides:
        site = side.site
        unseen = unseen_warning(site.unseen, difference=not at_threshold)
        messages = (*site.warnings, *site.left_out, *unseen)
        if of_labels is None and not site.presence.likely.any():
            messages = (*messages, nothing_found_text(len(site), target))
        for warning in messages:
            of_sites.setdefault(warning, []).append(side.name)
    warnings = list[Notice]()
    for warning, about in of_sites.items():  # fits on one labelled set have its warnings in common
        warnings += prefixed(", ".join(dict.fromkeys(about)), [warning])
    warnings += of_labels or ()
    at_home = {side.name for side in sides if math.isfinite(side.home)}
    for names, pair in pairs.items():
        *_, whole = pair.by_category.values()
        shown = whole.informative if whole.labels.known else None
        if shown is not None and shown.n < FEWEST_INFORMATIVE:
            warnings.append(
                Notice(
                    "few-labels-of-differences",
                    f"hardly any labelled image is one of those on which {names[0]} and "
                    f"{names[1]} differ most: the interval rests on what is expected without "
                    "labels and may be too short; `autoeval label plan --compare` draws these",
                )
            )
        trained = [name for name in names if name in at_home]
        if len(trained) == 1 and not at_threshold:
            warnings.append(
                Notice(
                    "trained-on-these-images",
                    f"{listed(trained)}: trained on images like the labelled ones, so the "
                    "difference there is not used and its estimate is lowered",
                )
            )
        elif math.isnan(pair.carried):
            warnings.append(
                Notice(
                    "no-common-labels",
                    f"{names[0]} and {names[1]} were not fitted on a common labelled set, by "
                    "name and boxes, so their difference there is not known: fit both on the same "
                    "labels",
                    severity="note",
                )
            )
    if at_threshold and of_labels is None:
        warnings.append(
            Notice(
                "taken-as-independent",
                f"without labels the errors of two estimates of {target} are taken to be "
                "independent: the intervals are wider than those of differences of mAP, which "
                "were measured",
                severity="note",
            )
        )
    return warnings


def _rows(
    a: str, b: str, pair: PairDifference, sign: float, n_blocks: np.ndarray, level: float
) -> list[dict[str, Any]]:
    """Return the rows of two detectors in `Comparison.pairs`; `sign` is -1 where b is the first."""
    rows = []
    for category, estimates in pair.by_category.items():
        value = sign * estimates.combined.value + 0.0  # no -0.0
        difference = replace(estimates.combined, value=value)
        interval = difference.inside(level, -1.0)
        if abs(difference.value) > difference.half_width(level):
            more_labels = 0.0
        elif not estimates.labels.known or abs(difference.value) < SMALLEST:
            more_labels = math.nan
        else:
            k = pair.forecast.n_labelled
            outlook = outlook_after(
                estimates.labels,
                k,
                len(n_blocks) - 1,
                prior=estimates.prior,
                level=level,
                n_blocks=n_blocks,
            )
            more_labels = float(max(outlook.needed(abs(difference.value)) - k, 1))
        rows.append(
            {
                "a": a,
                "b": b,
                "category": category,
                "difference": interval["value"],
                "lower": interval["lower"],
                "upper": interval["upper"],
                "p_better": difference.probability_positive,
                "label_free": sign * estimates.prior.value + 0.0,
                "carried_over": sign * pair.carried + 0.0,
                "more_labels": more_labels,
                "distinguishable": interval["lower"] > 0 or interval["upper"] < 0,
            }
        )
    return rows


def _ranked(
    levels: Mapping[str, float],
    forecasts: Mapping[tuple[str, str], PairForecast],
    level: float,
    seed: int,
    known_accuracy: Mapping[str, float],
) -> pd.DataFrame:
    """Rank the detectors by their differences over all categories; see `Comparison.ranking`.

    The value of a detector is the mean of its differences to all detectors, itself included: the
    least squares solution of mean 0.

    Parameters
    ----------
    levels : mapping of str to float
        Estimated accuracy of each detector, in [0, 1]; the values have their mean.
    forecasts : mapping of (str, str) to PairForecast
        Of every two, the first less the second.
    level : float
        Nominal coverage of the intervals.
    seed : int
        Of the draws behind ``p_best``.
    known_accuracy : mapping of str to float
        Accuracy in [0, 1] that is known of one: its value is this one, and that of others by their
        differences to it.
    """
    names = list(levels)
    whole = {(name, name): ITSELF for name in names}
    for (a, b), forecast in forecasts.items():
        whole[a, b] = difference = forecast.difference
        whole[b, a] = replace(difference, value=0.0 - difference.value)  # no -0.0
    table = [[whole[a, b] for b in names] for a in names]  # a less b
    # by least squares: values of mean 0 whose differences are nearest to the estimated ones
    values = np.array([[difference.value for difference in row] for row in table]).mean(axis=1)
    order = np.argsort(-values, kind="stable")
    best = np.empty(len(names))
    if len(names) == 2:
        ahead = table[0][1].probability_positive
        best[:] = ahead, 1 - ahead
    else:
        variances = np.array([[difference.error**2 for difference in row] for row in table])
        covariance = joint_covariance(variances[np.ix_(order, order)])
        dof = min(difference.dof for difference in whole.values())
        # drawn in the order of the ranking: that in which detectors were named changes nothing
        best[order] = probability_of_best(values[order], covariance, dof, seed=seed)
    accuracies = np.mean(list(levels.values())) + values
    for name, value in known_accuracy.items():
        accuracies = value + values - values[names.index(name)]
    rows = []
    for i in order:
        behind = table[i][order[0]]
        interval = behind.inside(level, -1.0)
        rows.append(
            {
                "detector": names[i],
                "value": float(np.clip(accuracies[i], 0, 1)),
                "behind": interval["value"],
                "lower": interval["lower"],
                "upper": interval["upper"],
                "p_best": float(best[i]),
            }
        )
        for name in known_accuracy:
            half = whole[names[i], name].half_width(level)
            rows[-1]["value_lower"] = float(np.clip(accuracies[i] - half, 0, 1))
            rows[-1]["value_upper"] = float(np.clip(accuracies[i] + half, 0, 1))
    return pd.DataFrame(rows)


def joint_covariance(variances: np.ndarray) -> np.ndarray:
    r"""Return a covariance of D values whose differences have given variances.

    .. math:: C = -\tfrac12 J V J, \qquad J = I - 1/D

    the double centring of classical scaling (Torgerson 1952), without the negative eigenvalues
    that variances have which no joint distribution has.

    Parameters
    ----------
    variances : ndarray of shape (D, D)
        V, symmetric with zeros on the diagonal.

    Returns
    -------
    ndarray of shape (D, D)
        C, of values with the sum 0.

    Examples
    --------
    >>> c = joint_covariance(np.array([[0.0, 4, 4], [4, 0, 4], [4, 4, 0]]))
    >>> round(float(c[0, 0] + c[1, 1] - 2 * c[0, 1]), 6)
    4.0
    """
    centre = np.eye(len(variances)) - 1 / len(variances)
    values, vectors = np.linalg.eigh(-0.5 * centre @ variances @ centre)
    return np.asarray((vectors * np.maximum(values, 0)) @ vectors.T)


def probability_of_best(
    values: np.ndarray, covariance: np.ndarray, dof: float, *, seed: int = 0
) -> np.ndarray:
    """Return the probability of each of D values to be the highest, by `DRAWS` draws.

    Parameters
    ----------
    values : ndarray of shape (D,)
        Estimates.
    covariance : ndarray of shape (D, D)
        Of their errors.
    dof : float
        Degrees of freedom of the multivariate Student's distribution; infinite for a normal one.
    seed : int
        Of the draws.

    Returns
    -------
    ndarray of shape (D,)
        With the sum 1; values that are highest together share a draw.
    """
    rng = np.random.default_rng(seed)
    roots, vectors = np.linalg.eigh(covariance)
    draws = rng.standard_normal((DRAWS, len(values))) @ (vectors * np.sqrt(np.maximum(roots, 0))).T
    if np.isfinite(dof):
        draws /= np.sqrt(rng.chisquare(dof, (DRAWS, 1)) / dof)
    reached = values + draws
    best = reached == reached.max(axis=1, keepdims=True)  # several where both are known to be 0
    return np.asarray((best / best.sum(axis=1, keepdims=True)).mean(axis=0))
