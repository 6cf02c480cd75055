"""One category, or the mean over several, from a few labelled images of a pool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autoeval.estimation.labels.aid import Mix
from autoeval.estimation.labels.difference import difference_estimate
from autoeval.estimation.labels.optimism import less_optimism
from autoeval.estimation.labels.prior import Combined, combine
from autoeval.estimation.labels.value_with_error import NOTHING, ValueWithError
from autoeval.metrics.influence import influence_function
from autoeval.metrics.ranked_detections import RankedDetections

LEVELS = {"mAP": slice(None), "mAP50": slice(0, 1), "mAP75": slice(5, 6)}
FEWEST_HOLDING = 3  # labelled images with an object, for a category to be measured
UNKNOWN = 0.25  # standard deviation of an average precision of which nothing is told


@dataclass(frozen=True, eq=False)
class Drawn:
    """Labelled images of a pool.

    Parameters
    ----------
    images : ndarray of shape (k,), int
        Index into the pool, each once.
    n_pool : int
        Images of the pool, these included.
    weights : ndarray of shape (k,), optional
        Inverse inclusion probabilities, where they differ.
    clusters : ndarray of shape (k,), int, optional
        Images of equal number are dependent.
    """

    images: np.ndarray
    n_pool: int
    weights: np.ndarray | None = None
    clusters: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.images)


@dataclass(frozen=True, eq=False)
class Seen:
    """What labelled images say of one category, before anything else is known.

    Parameters
    ----------
    value : float
        Average precision of the labelled images; NaN where they hold no object.
    influence : ndarray of shape (k,)
        Of each of them.
    n_true, n_holding : int
        Objects, and images that hold one.
    """

    value: float
    influence: np.ndarray
    n_true: int
    n_holding: int

    @property
    def measured(self) -> bool:
        """Whether enough images hold the category."""
        return self.n_holding >= FEWEST_HOLDING


@dataclass(frozen=True)
class FromLabels:
    """All that is told of one category, or of the mean over categories.

    Parameters
    ----------
    labels : ValueWithError
        From the labelled images alone.
    difference : ValueWithError
        With the predicted influence of all images.
    prior : ValueWithError
        Without labels.
    combined : Combined
        Of the last two; what is recommended.
    n_true, n_holding : int
        Objects in the labelled images, and images that hold one.
    measured : bool
        Whether enough images hold it; otherwise the label-free estimate stands.
    """

    labels: ValueWithError
    difference: ValueWithError
    prior: ValueWithError
    combined: Combined
    n_true: int
    n_holding: int
    measured: bool


def look(ranking: RankedDetections, target: str = "mAP", weights: np.ndarray | None = None) -> Seen:
    """Measure one category on the labelled images.

    Parameters
    ----------
    ranking : RankedDetections
        Of the k labelled images.
    target : {"mAP", "mAP50", "mAP75"}
    weights : ndarray of shape (k,), optional
    """
    levels = LEVELS[target]
    value = float(ranking.average_precision(weights)[levels].mean())
    influence = influence_function(ranking, weights)[levels].mean(axis=0)
    return Seen(value, influence, int(ranking.n_true.sum()), int((ranking.n_true > 0).sum()))


def assess(
    seen: Seen,
    drawn: Drawn,
    predicted: np.ndarray,
    mix: Mix,
    *,
    optimism: float,
    prior: ValueWithError = NOTHING,
) -> FromLabels:
    """Estimate from labelled images, with a predicted influence and a label-free estimate.

    Parameters
    ----------
    seen : Seen
    drawn : Drawn
    predicted : ndarray of shape (M,)
        Predicted influence of all images of the pool.
    mix : Mix
        How `predicted` was made.
    optimism : float
        See `autoeval.estimation.labels.optimism`; 0 for none.
    prior : ValueWithError
        The label-free estimate with its error.
    """
    labels, difference = NOTHING, NOTHING
    if seen.measured:
        labels = _difference(seen.value, seen, drawn)
        corrected = less_optimism(
            seen.value, optimism, n_true=seen.n_true, n_labelled=len(drawn), n_pool=drawn.n_pool
        )
        spread = mix.rest.scaled(float(predicted.var(ddof=1))) if len(predicted) > 1 else None
        of_drawn = predicted[drawn.images]
        difference = _difference(corrected, seen, drawn, predicted=of_drawn, spread=spread)
    both = combine(difference, prior)
    return FromLabels(labels, difference, prior, both, seen.n_true, seen.n_holding, seen.measured)


def mean_of(
    parts: Sequence[tuple[Seen, np.ndarray, ValueWithError]],
    drawn: Drawn,
    mix: Mix,
    *,
    optimism: float,
    rest: Sequence[ValueWithError] = (),
    prior: ValueWithError = NOTHING,
) -> FromLabels:
    """Estimate the mean over categories.

    Parameters
    ----------
    parts : sequence of (Seen, ndarray of shape (M,), ValueWithError)
        Of each measured category, with the predicted influence and the label-free estimate.
    drawn, mix, optimism
        As in `assess`.
    rest : sequence of ValueWithError
        Label-free estimates of the categories that the labels do not measure. Errors of label-free
        estimates are added, not averaged out, since categories are missed alike. Where nothing is
        told of some of them, the label-free estimate of the mean is moved by what the labels
        change of the measured categories; without one such a category stands at the mean of the
        measured ones, `UNKNOWN` off.
    prior : ValueWithError
        The label-free estimate of the mean.
    """
    values = [
        less_optimism(
            seen.value, optimism, n_true=seen.n_true, n_labelled=len(drawn), n_pool=drawn.n_pool
        )
        for seen, _, _ in parts
    ]
    whole = Seen(
        float(np.mean([seen.value for seen, _, _ in parts])),
        np.mean([seen.influence for seen, _, _ in parts], axis=0),
        sum(seen.n_true for seen, _, _ in parts),
        max(seen.n_holding for seen, _, _ in parts),
    )
    taken_off = whole.value - float(np.mean(values))
    free = _mean([free for _, _, free in parts])
    told = assess(
        replace(whole, value=whole.value - taken_off),
        drawn,
        np.mean([predicted for _, predicted, _ in parts], axis=0),
        mix,
        optimism=0.0,
        prior=free,
    )
    labels = replace(told.labels, value=told.labels.value + taken_off)
    share = len(parts) / (len(parts) + len(rest))
    measured = told.combined.measured
    if prior.known and not all(other.known for other in rest):
        over_all = _moved(prior, measured, free if free.known else prior, share)
    else:
        over_all = _with_rest(measured, rest, share)
    combined = replace(told.combined, measured=over_all)
    return replace(told, labels=labels, prior=prior, combined=combined)


def _difference(value: float, seen: Seen, drawn: Drawn, **helped: Any) -> ValueWithError:
    return difference_estimate(
        value,
        seen.influence,
        n_pool=drawn.n_pool,
        weights=drawn.weights,
        clusters=drawn.clusters,
        **helped,
    )


def _mean(estimates: Sequence[ValueWithError]) -> ValueWithError:
    if not estimates or not all(estimate.known for estimate in estimates):
        return NOTHING
    values, errors, dofs = zip(*((e.value, e.error, e.dof) for e in estimates), strict=True)
    return ValueWithError(float(np.mean(values)), float(np.mean(errors)), min(dofs))


def _moved(
    mean: ValueWithError, measured: ValueWithError, before: ValueWithError, share: float
) -> ValueWithError:
    """Move a label-free mean by what labels change of a share of the categories."""
    value = mean.value + share * (measured.value - before.value)
    error = (1 - share) * mean.error + share * measured.error
    return ValueWithError(value, error, measured.dof)


def _with_rest(
    measured: ValueWithError, rest: Sequence[ValueWithError], share: float
) -> ValueWithError:
    if not rest:
        return measured
    stand_in = ValueWithError(measured.value, UNKNOWN)
    free = _mean([other if other.known else stand_in for other in rest])
    value = share * measured.value + (1 - share) * free.value
    error = share * measured.error + (1 - share) * free.error
    return ValueWithError(value, error, measured.dof)
