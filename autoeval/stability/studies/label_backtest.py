"""Estimates with few labels at sites where all are known: error, coverage, half-width."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from autoeval.accuracy.average_precision import RankedDetections
from autoeval.accuracy.operating_point import image_counts, influence_on
from autoeval.labels.assistance import LabelAssistance, MixingWeights
from autoeval.labels.control_variates import MODEL, ProbableLabels
from autoeval.labels.estimators import (
    LabelEstimates,
    LabelledSample,
    SampleAccuracy,
    estimate_category,
    measure_counts,
    measure_sample,
)
from autoeval.labels.fit_assistance import fit_assistance, pairs_of
from autoeval.labels.label_sampling import balanced_order
from autoeval.labels.sample_size import BATCH, stretched
from autoeval.labels.value_with_error import ValueWithError
from autoeval.sites.labelled_set import LabelledSet
from autoeval.targets import OperatingPoint

SIZES = (5, 10, 20, 30, 50)
FEWEST_IMAGES = 60
MOST_LABELLED = 0.8  # share of a site; with more, little is left to estimate
WANTED = (0.04, 0.06)  # half-widths to stop at

Priors = Mapping[tuple[str, str], ValueWithError]


@dataclass(frozen=True, eq=False)
class EvaluatedPair:
    """One category of one site, with what was fitted elsewhere.

    `fitted_on` is the labelled set, or ``other groups``; `predicted` (N,) the influence of each
    image, made by `mixing`; `prior` the label-free estimate with its error; `target` as
    ``recall@0.3``.
    """

    name: str
    category: str
    fitted_on: str
    ranking: RankedDetections
    predicted: np.ndarray
    mixing: MixingWeights
    small_sample_bias: float
    prior: ValueWithError
    target: str = "mAP"

    @property
    def truth(self) -> float:
        """The target on all images."""
        return self.measure(np.arange(len(self.ranking))).value

    def measure(self, images: np.ndarray) -> SampleAccuracy:
        """Measure the target on some images, (k,) int."""
        if self._counts is None:
            return measure_sample(self.ranking.take(images), self.target)
        return measure_counts(self.target.partition("@")[0], self._counts[:, images])

    @cached_property
    def drawn_from(self) -> EvaluatedPair:
        """The pair on the images that a plan draws from: for precision those with a box."""
        if self._counts is None or not self.target.startswith("precision"):
            return self
        chosen = np.flatnonzero(self._counts[1])
        predicted = self.predicted[chosen] * len(chosen) / len(self.ranking)  # the mean is of these
        return replace(self, ranking=self.ranking.take(chosen), predicted=predicted)

    @cached_property
    def _counts(self) -> np.ndarray | None:
        """Counts of a target at a threshold, (3, N), which need no matching again."""
        point = OperatingPoint.of(self.target)
        return image_counts(self.ranking, point.score_thr, point.level) if point else None


def leave_groups_out(
    sites: Sequence[LabelledSet], priors: Priors, *, fewest: int = FEWEST_IMAGES
) -> Iterator[EvaluatedPair]:
    """Yield each pair of a site and a category, with what was fitted on other groups."""
    for group in sorted({site.group for site in sites}):
        left_out = [s for s in sites if s.group == group and len(s.pool) >= fewest]
        if left_out:
            assistance = fit_assistance([site for site in sites if site.group != group])
            yield from evaluated_pairs(assistance, left_out, priors, fewest=fewest)


def evaluated_pairs(
    assistance: LabelAssistance,
    sites: Sequence[LabelledSet],
    priors: Priors,
    *,
    fewest: int = FEWEST_IMAGES,
    target: str = "mAP",
) -> Iterator[EvaluatedPair]:
    """Yield each pair of a site and a category that has a prior, with a fitted assistance."""
    point = OperatingPoint.of(target)
    several = len(assistance.sites) > 1
    fitted_on = "other groups" if several else assistance.sites[0]
    for site in (site for site in sites if len(site.pool) >= fewest):
        probable = ProbableLabels.of_reference(site.boxes)
        predicted = [drawn.mean(axis=0) for drawn in assistance.predict(site.pool, probable)]
        mixing = assistance.mixing_weights(probable)
        if point is not None:
            mixing = assistance.points[point.measure]
            counts = [
                image_counts(ranking, point.score_thr, point.level)
                for ranking in assistance.box_model.rankings(site.pool)
            ]
            predicted = [
                mixing.slopes[MODEL] * np.nan_to_num(influence_on(point.measure, category_counts))
                for category_counts in counts
            ]
        for pair in pairs_of(site, everywhere=True):
            category = site.truth.categories[pair.category]
            prior = priors.get((site.name, category))
            if prior is not None:
                made = EvaluatedPair(
                    site.name,
                    category,
                    fitted_on,
                    pair.ranking,
                    predicted[pair.category],
                    mixing,
                    assistance.small_sample_bias if point is None else 0.0,
                    prior,
                    target,
                )
                if np.isfinite(made.truth):  # precision of a pair without a box has none
                    yield made


def backtest(
    pairs: Sequence[EvaluatedPair], *, sizes: Sequence[int] = SIZES, draws: int = 200, seed: int = 0
) -> pd.DataFrame:
    """Draw labelled images repeatedly, by a plan and simply, and evaluate every estimator.

    One row a site, size and estimator: ``sample`` is from a simple random draw alone; ``coverage``
    and ``half_width`` of nominal 90 % intervals; ``dropped`` the share of draws in which the prior
    was.
    """
    rows: list[dict] = []
    for one in pairs:
        n_pool = len(one.ranking)
        orders = [_planned(one, seed + d) for d in range(draws)]
        for k in (k for k in sizes if k <= MOST_LABELLED * n_pool):
            drawn = [_draw(one, k, seed + d, order) for d, order in enumerate(orders)]
            rows += _evaluate(one, k, drawn)
    return pd.DataFrame(rows)


def stopping(pairs: Sequence[EvaluatedPair], *, draws: int = 200, seed: int = 0) -> pd.DataFrame:
    """Label in batches until the combined interval is narrow enough.

    ``labels`` is their mean number, ``coverage`` that of the interval at the stop; ``corrected``
    and ``labels_corrected`` are by the wider interval of `autoeval.labels.sample_size`.
    """
    rows = []
    for one in pairs:
        for wanted in WANTED:
            plain = [_stop(one, wanted, seed + d, correct=False) for d in range(draws)]
            wide = [_stop(one, wanted, seed + d, correct=True) for d in range(draws)]
            (labels, coverage), (more, corrected) = np.mean(plain, axis=0), np.mean(wide, axis=0)
            rows.append(
                {
                    "site": one.name,
                    "category": one.category,
                    "wanted": wanted,
                    "labels": labels,
                    "coverage": coverage,
                    "labels_corrected": more,
                    "corrected": corrected,
                }
            )
    return pd.DataFrame(rows)


def correlations(pairs: Sequence[EvaluatedPair]) -> pd.DataFrame:
    """Correlate the predicted influence at each site with the true one."""
    return pd.DataFrame(
        [
            {
                "site": one.name,
                "category": one.category,
                "n_images": len(one.ranking),
                one.target: one.truth,
                "label_free": one.prior.value,
                "prior_error": one.prior.error,
                "correlation": np.corrcoef(
                    one.measure(np.arange(len(one.ranking))).influence, one.predicted
                )[0, 1],
            }
            for one in pairs
        ]
    )


def effective_labels(evaluated: pd.DataFrame) -> pd.DataFrame:
    """Add the effective sample size: simply drawn labels whose sample estimate is as good.

    The squared error of the sample estimate falls as (1 / k - 1 / N).
    """
    keys = ["site", "category", "fitted_on", "k"]
    alone = evaluated[evaluated["estimator"] == "sample"].set_index(keys)["rmse"]
    reference = evaluated.set_index(keys).index.map(alone)
    ratio = (evaluated["rmse"] / np.asarray(reference, float)) ** 2
    k, n = evaluated["k"], evaluated["n_images"]
    return evaluated.assign(effective=1 / (1 / n + ratio * (1 / k - 1 / n)))


def _draw(one: EvaluatedPair, k: int, seed: int, order: np.ndarray) -> dict[str, ValueWithError]:
    rng, n_pool = np.random.default_rng([seed, k]), len(one.ranking)
    simple = _estimate(one, np.sort(rng.choice(n_pool, k, replace=False)))
    planned = _estimate(one.drawn_from, order[:k])
    return {
        "sample": simple.sample,
        "sample, drawn by plan": planned.sample,
        "difference": planned.difference,
        "combined": planned.combined.estimate,
        "dropped": ValueWithError(float(planned.combined.conflict), 0.0),
    }


def _planned(one: EvaluatedPair, seed: int) -> np.ndarray:
    return balanced_order(np.argsort(one.drawn_from.predicted, kind="stable"), seed=seed)


def _estimate(one: EvaluatedPair, images: np.ndarray) -> LabelEstimates:
    return estimate_category(
        one.measure(images),
        LabelledSample(images, len(one.ranking)),
        one.predicted,
        one.mixing,
        small_sample_bias=one.small_sample_bias,
        prior=one.prior,
    )


def _evaluate(
    one: EvaluatedPair, k: int, drawn: Sequence[Mapping[str, ValueWithError]]
) -> Iterator[dict]:
    dropped = float(np.mean([draw["dropped"].value for draw in drawn]))
    truth = one.truth
    for name in (name for name in drawn[0] if name != "dropped"):
        estimates = [draw[name] for draw in drawn if draw[name].known]
        if not estimates:
            continue
        errors = np.array([estimate.value for estimate in estimates]) - truth
        halves = np.array([estimate.half_width(0.9) for estimate in estimates])
        yield {
            "site": one.name,
            "category": one.category,
            "fitted_on": one.fitted_on,
            "n_images": len(one.ranking),
            "k": k,
            "estimator": name,
            "error": np.abs(errors).mean(),
            "rmse": np.sqrt(np.mean(errors**2)),
            "bias": errors.mean(),
            "coverage": np.mean(np.abs(errors) <= halves + 1e-9),
            "half_width": halves.mean(),
            "dropped": dropped if name == "combined" else np.nan,
        }


def _stop(one: EvaluatedPair, wanted: float, seed: int, *, correct: bool) -> tuple[int, bool]:
    one, order = one.drawn_from, _planned(one, seed)
    n_pool = len(one.ranking)
    for k in [*range(BATCH, n_pool, BATCH), n_pool]:
        measured = _estimate(one, order[:k]).combined.estimate
        measured = stretched(measured) if correct else measured
        half = measured.half_width(0.9)
        if half <= wanted:
            break
    return k, bool(abs(measured.value - one.truth) <= half + 1e-9)
