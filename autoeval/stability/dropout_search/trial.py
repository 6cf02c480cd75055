"""A trial: dropouts evaluated on a share of the images, with the work counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from autoeval.errors import InputError
from autoeval.stability.dropout_search.workbench import Workbench
from autoeval.stability.network.forward.dropout_spec import N_STAGES, DropoutSpec
from autoeval.stability.passes.presets import scored_settings

LEAST_IMAGES = 2
MIN_SETS = 3
PARTS = ("stem", *(f"stage {stage}" for stage in range(N_STAGES)), "neck and head")


@dataclass(frozen=True)
class Standings:
    """How C dropouts do on a share of the images.

    Parameters
    ----------
    specs : tuple of DropoutSpec
        The dropouts.
    r2 : ndarray of shape (C,)
        Estimated over all images, exact on a share of 1.
    errors : ndarray of shape (C,)
        Standard error of each one's gap to the largest R².
    """

    specs: tuple[DropoutSpec, ...]
    r2: np.ndarray
    errors: np.ndarray


class Trial:
    """One run of a strategy.

    Parameters
    ----------
    bench : Workbench
        Measures and remembers.
    sets : sequence of bool, optional
        Which of its S sample sets the trial sees; by default all.

    Attributes
    ----------
    executions : ndarray of shape (6,), int
        Work by `PARTS`, counted as if nothing had been measured before, even where the bench
        remembers it.
    found : dict of DropoutSpec to dict
        What was last seen of each dropout: ``r2``, signed ``r``, ``share`` of the images,
        ``undefined`` (sample sets without a score).
    """

    def __init__(self, bench: Workbench, sets: Sequence[bool] | None = None) -> None:
        self.bench = bench
        n_sets = len(bench.sizes)
        self.sets = np.ones(n_sets, bool) if sets is None else np.asarray(sets, bool)
        self.specs = bench.specs
        self.executions = np.zeros(len(PARTS), int)
        self.found: dict[DropoutSpec, dict[str, float]] = {}
        self._stops: dict[DropoutSpec, np.ndarray] = {}

    @property
    def least_share(self) -> float:
        """Two images of the largest sample set: errors need two."""
        return LEAST_IMAGES / max(int(self.bench.sizes[self.sets].max()), LEAST_IMAGES)

    def measure(self, specs: Sequence[DropoutSpec], share: float = 1.0) -> Standings:
        """Evaluate dropouts on a random part of the images of each sample set, two at least.

        Parameters
        ----------
        specs : sequence of DropoutSpec
            Of those of the bench.
        share : float
            Share of the images of each sample set; those of a smaller share are among them.

        Raises
        ------
        InputError
            If fewer than `MIN_SETS` sample sets have mAP.
        """
        sizes = np.where(self.sets, self.bench.sizes, 0)
        stops = np.minimum(np.maximum(np.ceil(share * sizes).astype(int), LEAST_IMAGES), sizes)
        self._count(specs, stops)
        self.bench.measure(specs, stops)
        usable, columns = self._usable(), self.bench.columns(specs)
        seen = (self.bench.ranks < stops[:, None])[usable][..., None]
        sums = self.bench.sums[usable][..., columns] * seen
        counts = self.bench.counts[usable][..., columns] * seen
        accuracy = self.bench.accuracy[usable]
        r2, errors = compare_with_leader(sums, counts, accuracy, stops[usable], sizes[usable])
        scores = scores_of(sums, counts)
        undefined, r = np.isnan(scores).sum(0), correlation(scores, accuracy)
        share = stops.sum() / sizes.sum()
        for i, spec in enumerate(specs):
            self.found[spec] = dict(r2=r2[i], r=r[i], share=share, undefined=undefined[i])
        return Standings(tuple(specs), r2, errors)

    def _usable(self) -> np.ndarray:
        """Return the numbers of its sample sets that have mAP; too few are an `InputError`."""
        usable = self.bench.usable()
        usable = usable[self.sets[usable]]
        if len(usable) < MIN_SETS:
            raise InputError(
                f"Expected at least {MIN_SETS} sample sets with mAP, got {len(usable)} of "
                f"{int(self.sets.sum())}. {' '.join(self.bench.warnings)}"
            )
        return usable

    def _count(self, specs: Sequence[DropoutSpec], stops: np.ndarray) -> None:
        """Add the work of what this trial has not measured before, and of its first clean pass."""
        detector, repeats = (
            self.bench.observer.detector,
            scored_settings(self.bench.observer).repeats,
        )
        none = np.zeros_like(stops)
        ahead: dict[bytes, tuple[np.ndarray, list[DropoutSpec]]] = {}
        for spec in specs:
            start = self._stops.get(spec, none)
            ahead.setdefault(start.tobytes(), (start, []))[1].append(spec)
            self._stops[spec] = np.maximum(start, stops)
        first = not self.executions.any()
        for start, group in ahead.values():
            n = int(np.maximum(stops - start, 0).sum())
            self.executions += n * executions(
                group, repeats=repeats, splits_backbone=detector.splits_backbone
            )
        if first:
            unseen = np.where(self.sets, self.bench.sizes, 0) - stops
            self.executions += int(unseen.sum()) * np.ones(len(PARTS), int)


def executions(
    specs: Sequence[DropoutSpec], *, repeats: int = 1, splits_backbone: bool = True
) -> np.ndarray:
    """Count what observing one image under several dropouts executes, with all sharing.

    A stage runs once for each way in which its input differs: clean, and for each combination of a
    rate and dropped stages before it. Neck and head run once for each dropout, and once clean. A
    detector that does not split its backbone must run wholly for each pass.

    Parameters
    ----------
    specs : sequence of DropoutSpec
        Different ones.
    repeats : int
        Perturbed passes under each.
    splits_backbone : bool
        Whether passes start where dropout begins.

    Returns
    -------
    ndarray of shape (6,), int
        By `PARTS`.

    Examples
    --------
    >>> executions([DropoutSpec("after", (1,), 0.1), DropoutSpec("after", (3,), 0.1)]).tolist()
    [1, 1, 1, 2, 2, 3]
    """
    if not splits_backbone:
        return naive_executions(len(specs), repeats=repeats, share_clean=True)
    stages = [1 + repeats * len(_inputs(stage, specs)) for stage in range(N_STAGES)]
    return np.array([1, *stages, 1 + repeats * len(specs)])


def naive_executions(n_dropouts: int, *, repeats: int = 1, share_clean: bool = False) -> np.ndarray:
    """Count what observing one image costs when nothing is shared, (6,) by `PARTS`.

    Parameters
    ----------
    n_dropouts : int
        Number of dropouts.
    repeats : int
        Perturbed passes under each.
    share_clean : bool
        Whether one clean pass serves all.
    """
    clean = 1 if share_clean else n_dropouts
    return np.full(len(PARTS), clean + n_dropouts * repeats)


def _inputs(stage: int, specs: Sequence[DropoutSpec]) -> set[tuple]:
    """Return the different perturbed inputs of a stage."""
    inputs = set()
    for spec in specs:
        last = stage if spec.position == "before" else stage - 1
        dropped = tuple(s for s in spec.stages if s <= last)
        if dropped:
            inputs.add((spec.position, spec.rate, dropped))
    return inputs


def scores_of(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the score of each sample set under each dropout.

    Parameters
    ----------
    sums, counts : ndarray of shape (S, M, C)
        What each of M images adds to the numerator and to the denominator of the score.

    Returns
    -------
    ndarray of shape (S, C)
        NaN where no image has one.
    """
    above, below = sums.sum(1), counts.sum(1)
    return np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)


def r_squared(
    scores: np.ndarray, accuracy: np.ndarray, noise: np.ndarray | None = None
) -> np.ndarray:
    """Return R² of a line fitted to mAP against each score.

    The line may rise or be level but not fall. A sample set without a score counts as one whose mAP
    is not explained at all, so that a dropout gains nothing by scoring few of them.

    Parameters
    ----------
    scores : ndarray of shape (S, C)
        NaN where undefined.
    accuracy : ndarray of shape (S,)
        mAP of each sample set.
    noise : ndarray of shape (S, C), optional
        Variance of the scores for want of images, which is taken out of their variance, at most
        three quarters of that.

    Returns
    -------
    ndarray of shape (C,)
        In [0, 1].

    Examples
    --------
    >>> rising, falling = np.array([.1, .2, .4]), np.array([.4, .2, .1])
    >>> r_squared(np.stack([rising, falling], 1), rising).round(6)
    array([1., 0.])
    """
    moments = _moments(scores, accuracy)
    y, spread = moments.y, moments.xx
    defined = ~np.isnan(scores)
    if noise is not None:
        least = spread / 4
        spread = np.maximum(spread - np.where(defined, noise, 0).sum(0), least)
    # Of the least-squares line, Σxy² / Σx² of the squares of mAP; a line that falls explains none.
    explained = np.divide(
        np.maximum(moments.xy, 0) ** 2, spread, out=np.zeros_like(spread), where=spread > 0
    )
    explained = np.minimum(explained, (y**2).sum(0))
    deviations = np.where(defined, accuracy[:, None] - accuracy.mean(), 0)
    # The sets that have a score have a mean of their own, which differs from that of all.
    about_mean = (deviations**2).sum(0) - (y**2).sum(0)
    return (explained + about_mean) / _total(accuracy)


def correlation(scores: np.ndarray, accuracy: np.ndarray) -> np.ndarray:
    """Return Pearson's r of each score with mAP over the sample sets that have one.

    Parameters
    ----------
    scores : ndarray of shape (S, C)
        NaN where undefined.
    accuracy : ndarray of shape (S,)
        mAP of each sample set.

    Returns
    -------
    ndarray of shape (C,)
        NaN where either does not vary.
    """
    moments = _moments(scores, accuracy)
    scale = np.sqrt(moments.xx * (moments.y**2).sum(0))
    return np.divide(moments.xy, scale, out=np.full(scale.shape, np.nan), where=scale > 0)


def gradient(scores: np.ndarray, accuracy: np.ndarray) -> np.ndarray:
    """Return the derivative of `r_squared`, without noise, by each score.

    Parameters
    ----------
    scores : ndarray of shape (S, C)
        NaN where undefined.
    accuracy : ndarray of shape (S,)
        mAP of each sample set.

    Returns
    -------
    ndarray of shape (S, C)
        0 where undefined.
    """
    x, y, spread, product = _moments(scores, accuracy)
    slope = np.divide(np.maximum(product, 0), spread, out=np.zeros_like(spread), where=spread > 0)
    # d(Σxy² / Σx²) / dx = 2 b (y - b x) with b = Σxy / Σx²; centring drops out, as both sum to 0.
    return 2 * slope * (y - slope * x) / _total(accuracy)


class Moments(NamedTuple):
    """Centred scores and accuracies, and sums of their products.

    Parameters
    ----------
    x, y : ndarray of shape (S, C)
        Scores and accuracies, 0 where undefined.
    xx, xy : ndarray of shape (C,)
        Σx² and Σxy.
    """

    x: np.ndarray
    y: np.ndarray
    xx: np.ndarray
    xy: np.ndarray


def _moments(scores: np.ndarray, accuracy: np.ndarray) -> Moments:
    """Centre each score, and accuracy with it, over the sample sets that have the score."""
    defined = ~np.isnan(scores)
    n = np.maximum(defined.sum(0), 1)
    values = np.where(defined, scores, 0)
    x = np.where(defined, values - values.sum(0) / n, 0)
    truth = np.where(defined, accuracy[:, None], 0)
    y = np.where(defined, truth - truth.sum(0) / n, 0)
    return Moments(x, y, (x**2).sum(0), (x * y).sum(0))


def _total(accuracy: np.ndarray) -> float:
    """Return the squares that there are to explain; where there are none, none are explained."""
    return max(float(((accuracy - accuracy.mean()) ** 2).sum()), np.finfo(float).tiny)


def compare_with_leader(
    sums: np.ndarray, counts: np.ndarray, accuracy: np.ndarray, seen: np.ndarray, size: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Estimate R² over all images, and how well the gap to the best dropout is known.

    The variance of the scores is freed from what it owes to the images being few; exact once all
    are seen.

    Parameters
    ----------
    sums, counts : ndarray of shape (S, M, C)
        See `scores_of`; 0 of images that were not seen.
    accuracy : ndarray of shape (S,)
        mAP of each sample set.
    seen, size : ndarray of shape (S,)
        Images seen of each sample set, at least two or all, and those that it has.

    Returns
    -------
    r2 : ndarray of shape (C,)
        R² of each dropout.
    errors : ndarray of shape (C,)
        Standard errors of the gap between each R² and the largest (delta method).
    """
    scores = scores_of(sums, counts)
    deviations = _deviations(sums, counts, scores)
    factor = (1 - seen / size) * seen / np.maximum(seen - 1, 1)
    noise = factor[:, None] * (deviations**2).sum(1)
    r2 = r_squared(scores, accuracy, noise)
    pull = gradient(scores, accuracy)[:, None, :] * deviations
    gaps = pull - pull[..., [np.argmax(r2)]]
    return r2, np.sqrt((factor[:, None, None] * gaps**2).sum((0, 1)))


def _deviations(sums: np.ndarray, counts: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return what each image moves its set's score by, (S, M, C), summing to 0 over images."""
    below = np.maximum(counts.sum(1), 1)
    return (sums - np.nan_to_num(scores)[:, None, :] * counts) / below[:, None, :]
