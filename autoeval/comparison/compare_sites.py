"""From fitted estimators and what their detectors found at a site to a comparison, top to bottom.

Also which images to label to tell two detectors apart (`plan_difference`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from autoeval.boxes import Categories
from autoeval.comparison.common_ground import (
    at_floors,
    check_fits,
    check_known,
    on_common_ground,
)
from autoeval.comparison.comparison import ALL, Comparison, PairForecast
from autoeval.comparison.paired_labels import (
    LabelDifference,
    PairedLabels,
    labelled_level,
    pair_labels,
)
from autoeval.comparison.unlabelled_difference import (
    PairPrior,
    Side,
    compare_label_free,
    outlook_without_labels,
    pair_prior,
)
from autoeval.estimation.checks import nothing_found_text
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.io.labels.content import LabelSet
from autoeval.labels.joint import Outlook, outlook_after
from autoeval.labels.labelled_estimate import warnings_of_conflict, warnings_of_few
from autoeval.labels.matching import labels_on
from autoeval.labels.plan import LabelPlan
from autoeval.labels.values import NOTHING, ValueWithError
from autoeval.sites.file_looks import unseen_warning
from autoeval.sites.site import Site
from autoeval.targets import OperatingPoint
from autoeval.words import Notice, listed, prefixed

DRAWS = 40_000  # behind the probability of being best
SMALLEST = 0.005  # a difference that more labels are not asked for
ITSELF = ValueWithError(0.0, 0.0)
"""The difference of a detector to itself."""


@dataclass(frozen=True)
class SiteLabels:
    """Labels of some of the images of a site.

    Parameters
    ----------
    content : LabelSet
    words : mapping of str to str, optional
        Category for each word of the labels; by default equal words.
    plan : LabelPlan, optional
        That drew the labelled images; by default they are a simple random sample.
    """

    content: LabelSet
    words: Mapping[str, str] | None = None
    plan: LabelPlan | None = None


@dataclass(frozen=True)
class KnownOfDetectors:
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


def compare_sites(
    fits: Mapping[str, AccuracyEstimator],
    sites: Mapping[str, Site],
    labels: SiteLabels | None = None,
    *,
    known: KnownOfDetectors | None = None,
    categories: Categories | None = None,
    level: float = 0.9,
    seed: int = 0,
) -> Comparison:
    """Compare detectors at a site, by name.

    Raises as `check_fits`, `on_common_ground` and `pair_labels`. What is known of the differences
    on the labelled set is used where both were fitted on the same one. `categories` has the
    detector's words for each category, where the site was read with them.
    """
    known = KnownOfDetectors() if known is None else known
    check_fits(fits)
    check_known(known.trained_here, known.accuracy, fits)
    fits, sites = at_floors(fits, sites)
    if labels is not None:
        of_boxes = [word for site in sites.values() for word in site.boxes.categories]
        of_fits = [word for fitted in fits.values() for word in fitted.looks_.categories]
        images = next(iter(sites.values())).boxes.images
        words_known = [*(labels.words or (*of_boxes, *of_fits))]
        labels = replace(labels, content=labels_on(labels.content, images, words_known))
    content, words = (None, None) if labels is None else (labels.content, labels.words)
    common, warnings = on_common_ground(fits, sites, content, words)
    target, prior = next(iter(fits.values())).target, pair_prior()
    paired = None
    if labels is not None:
        paired = pair_labels(common, labels.content, target=target, words=words, plan=labels.plan)
        common = dict(paired.sites)
    sides = [
        Side.of(name, fits[name], site, trained_here=name in known.trained_here)
        for name, site in common.items()
    ]
    of_sites: dict[str, list[str]] = {}  # the detectors that each warning is about
    for name, site in common.items():
        messages = (*site.warnings, *site.left_out, *unseen_warning(site.unseen))
        if paired is None and not site.presence.likely.any():
            messages = (*messages, nothing_found_text(len(site), target))
        for warning in messages:
            of_sites.setdefault(warning, []).append(name)
    for warning, names in of_sites.items():  # fits on one labelled set have its warnings in common
        warnings += prefixed(", ".join(dict.fromkeys(names)), [warning])
    at_threshold = OperatingPoint.of(target) is not None  # counts of categories are summed
    levels = {}
    for side in sides:
        values = np.clip([accuracy.value for accuracy in side.each], 0, 1)
        levels[side.name] = side.whole.value if at_threshold else float(np.mean(values))
    if paired is not None:
        warnings += paired.warnings
        by_labels, more = _labelled_levels(fits, paired)
        levels |= by_labels
        warnings += more
    parts, whole, forecasts = [], {}, {}
    for a, b in itertools.combinations(sides, 2):
        rows, forecast = _differences(a, b, target, prior, categories or {}, paired, level)
        forecasts[a.name, b.name] = forecast
        whole[a.name, b.name] = difference = forecast.difference
        whole[b.name, a.name] = replace(difference, value=-difference.value)
        parts += rows
        trained = [side.name for side in (a, b) if math.isfinite(side.home)]
        if len(trained) == 1 and not at_threshold:
            warnings.append(
                Notice(
                    "trained-on-these-images",
                    f"{listed(trained)}: trained on images like the labelled ones, so the "
                    "difference there is not used and its estimate is lowered",
                )
            )
        elif math.isnan(rows[0]["carried_over"]):
            warnings.append(
                Notice(
                    "no-common-labels",
                    f"{a.name} and {b.name} were not fitted on a common labelled set, so their "
                    "difference there is not known: fit both on the same labels",
                    severity="note",
                )
            )
    if at_threshold and paired is None:
        warnings.append(
            Notice(
                "taken-as-independent",
                f"without labels the errors of two estimates of {target} are taken to be "
                "independent: the intervals are wider than those of differences of mAP, which "
                "were measured",
                severity="note",
            )
        )
    ranking = _ranked(levels, whole, level, seed, known.accuracy)
    pairs = _ordered(pd.DataFrame(parts), list(ranking["detector"]))
    first, second = ranking["detector"][:2]
    first_ahead = {  # of the second, in each category and in all
        row["category"]: {"value": row["difference"], "lower": row["lower"], "upper": row["upper"]}
        for row in pairs.to_dict("records")
        if (row["a"], row["b"]) == (first, second)
    }
    of_all = first_ahead.pop(ALL) if ALL in first_ahead else first_ahead.popitem()[1]
    return Comparison(
        target,
        level,
        **of_all,
        per_category=first_ahead,
        n_images=len(common[sides[0].name]),
        n_labelled=len(paired.sample.images) if paired else 0,
        ranking=ranking,
        pairs=pairs,
        warnings=tuple(dict.fromkeys(warnings)),
        sites=common,
        known=next(iter(known.accuracy), ""),
        forecasts=forecasts,
    )


def _labelled_levels(
    fits: Mapping[str, AccuracyEstimator], labelled: PairedLabels
) -> tuple[dict[str, float], list[str]]:
    """Return the accuracy of each detector by labels, where it is known, and warnings."""
    levels, of_labels, warnings = {}, dict[str, None](), []
    for name, fitted in fits.items():
        whole, each = labelled_level(name, fitted, labelled)
        value = whole.combined.estimate.value
        if math.isfinite(value):
            levels[name] = float(np.clip(value, 0, 1))
        of_labels |= dict.fromkeys(warnings_of_few(each, len(labelled.sample.images)))
        warnings += prefixed(name, warnings_of_conflict(whole))
    return levels, [*of_labels, *warnings]


def _differences(
    a: Side,
    b: Side,
    target: str,
    prior: PairPrior,
    categories: Categories,
    paired: PairedLabels | None,
    level: float,
) -> tuple[list[dict], PairForecast]:
    """Return a row for each category and one for their mean, and the value of that."""
    names, n_pool = a.site.boxes.categories, len(a.site)
    free = compare_label_free(a, b, target, prior, categories)
    if paired is None:
        k = 0
        each = [LabelDifference(NOTHING, value, value) for value in free.each]
        whole = LabelDifference(NOTHING, free.whole, free.whole)
    else:
        k = len(paired.sample.images)
        each, whole = paired.difference(a.name, b.name, prior, free)
    rows = []
    for category, difference in zip((*names, ALL), (*each, whole), strict=True):
        combined = difference.combined
        value, lower, upper = np.clip([combined.value, *combined.interval(level)], -1, 1).tolist()
        rows.append(
            {
                "a": a.name,
                "b": b.name,
                "category": category,
                "difference": value,
                "lower": lower,
                "upper": upper,
                "p_better": combined.probability_positive,
                "label_free": difference.prior.value,
                "carried_over": free.carried,
                "more_labels": _more_labels(difference, k, n_pool, level),
            }
        )
    if k and whole.labels.known:
        outlook: Outlook | None = outlook_after(
            whole.labels, k, n_pool, prior=whole.prior, level=level
        )
    else:
        outlook = outlook_without_labels(free, n_pool, level)
    return rows[:-1] if len(names) == 1 else rows, PairForecast(whole.combined, outlook, k)


def _more_labels(difference: LabelDifference, k: int, n_pool: int, level: float) -> float:
    """Return how many more labels will put zero outside the interval; NaN where not known."""
    combined = difference.combined
    if abs(combined.value) > combined.half_width(level):
        return 0.0
    if not difference.labels.known or abs(combined.value) < SMALLEST:
        return math.nan
    outlook = outlook_after(difference.labels, k, n_pool, prior=difference.prior, level=level)
    return float(max(outlook.needed(abs(combined.value)) - k, 1))


def _ranked(
    levels: Mapping[str, float],
    whole: Mapping[tuple[str, str], ValueWithError],
    level: float,
    seed: int,
    known: Mapping[str, float],
) -> pd.DataFrame:
    """Rank the detectors by their differences over all categories, `whole`, in both directions.

    Their values have the mean of `levels`; or that of one detector is as it is known.
    """
    names = list(levels)
    differences, variances = np.zeros((2, len(names), len(names)))
    for (a, b), difference in whole.items():
        place = names.index(a), names.index(b)
        differences[place], variances[place] = difference.value, difference.error**2
    values = consistent_values(differences)
    dof = min(difference.dof for difference in whole.values())
    best = probability_of_best(values, joint_covariance(variances), dof, seed=seed)
    order = np.argsort(-values, kind="stable")
    accuracies = np.mean(list(levels.values())) + values
    for name, value in known.items():
        accuracies = value + values - values[names.index(name)]
    rows = []
    for i in order:
        behind = whole.get((names[i], names[order[0]]), ITSELF)
        value, lower, upper = np.clip([behind.value, *behind.interval(level)], -1, 1).tolist()
        rows.append(
            {
                "detector": names[i],
                "value": float(np.clip(accuracies[i], 0, 1)),
                "behind": value,
                "lower": lower,
                "upper": upper,
                "p_best": float(best[i]),
            }
        )
        for name in known:
            half = whole.get((names[i], name), ITSELF).half_width(level)
            around = np.clip([accuracies[i] - half, accuracies[i] + half], 0, 1)
            rows[-1] |= dict(zip(("value_lower", "value_upper"), map(float, around), strict=True))
    return pd.DataFrame(rows)


def _ordered(pairs: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Turn each pair so that the detector that is ranked higher comes first."""
    place = {name: k for k, name in enumerate(names)}
    turned = pairs["a"].map(place) > pairs["b"].map(place)
    other = pairs.assign(
        a=pairs["b"],
        b=pairs["a"],
        difference=-pairs["difference"],
        lower=-pairs["upper"],
        upper=-pairs["lower"],
        p_better=1 - pairs["p_better"],
        label_free=-pairs["label_free"],
        carried_over=-pairs["carried_over"],
    )
    ordered = pairs.where(~turned, other)
    order = np.lexsort((ordered["b"].map(place), ordered["a"].map(place)))
    return ordered.iloc[order].reset_index(drop=True)


def consistent_values(differences: np.ndarray) -> np.ndarray:
    """Return D values of mean 0 whose differences are nearest to given ones by least squares.

    `differences` are of row less column, antisymmetric, (D, D).

    Examples
    --------
    >>> consistent_values(np.array([[0, .2], [-.2, 0]]))
    array([ 0.1, -0.1])
    """
    return np.asarray(differences.mean(axis=1))


def joint_covariance(variances: np.ndarray) -> np.ndarray:
    r"""Return a covariance of D values whose differences have given variances, (D, D).

    .. math:: C = -\tfrac12 J V J, \qquad J = I - 1/D

    the double centring of classical scaling (Torgerson 1952), without the negative eigenvalues
    that variances have which no joint distribution has.
    """
    centre = np.eye(len(variances)) - 1 / len(variances)
    values, vectors = np.linalg.eigh(-0.5 * centre @ variances @ centre)
    return np.asarray((vectors * np.maximum(values, 0)) @ vectors.T)


def probability_of_best(
    values: np.ndarray, covariance: np.ndarray, dof: float, *, seed: int = 0
) -> np.ndarray:
    """Return the probability of each of D values to be the highest, (D,), by `DRAWS` draws.

    They have a covariance (D, D) and a multivariate Student's distribution with `dof` degrees of
    freedom; infinite for a normal one. Of two it is the probability of a difference over 0.
    """
    if len(values) == 2:
        variance = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
        ahead = ValueWithError(float(values[0] - values[1]), math.sqrt(max(variance, 0.0)), dof)
        return np.array([ahead.probability_positive, 1 - ahead.probability_positive])
    rng = np.random.default_rng(seed)
    roots, vectors = np.linalg.eigh(covariance)
    draws = rng.standard_normal((DRAWS, len(values))) @ (vectors * np.sqrt(np.maximum(roots, 0))).T
    if np.isfinite(dof):
        draws /= np.sqrt(rng.chisquare(dof, (DRAWS, 1)) / dof)
    reached = values + draws
    best = reached == reached.max(axis=1, keepdims=True)  # several where both are known to be 0
    return np.asarray((best / best.sum(axis=1, keepdims=True)).mean(axis=0))
