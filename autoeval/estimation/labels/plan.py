"""A plan: which images of a pool to label, and all that their labels will be set against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from typing_extensions import Self

from autoeval.data.predictions import Predictions
from autoeval.errors import InputError
from autoeval.estimation.labels.aid import LabelAid, Mix
from autoeval.estimation.labels.draw import balanced_order
from autoeval.estimation.labels.needed import Outlook
from autoeval.estimation.labels.pool import Pool
from autoeval.estimation.labels.proxies import PSEUDO
from autoeval.estimation.labels.value_with_error import NOTHING, ValueWithError

BY_INFLUENCE, BY_TIME = "predicted influence", "time"


@dataclass(frozen=True, eq=False)
class LabelPlan:
    """Which images to label, and what is known without their labels.

    Parameters
    ----------
    found : Predictions
        Boxes of the pool of M images, as evaluation takes them.
    influence : ndarray of shape (K, 10, M)
        Predicted influence of each image on each category, by IoU threshold.
    sequence : ndarray of shape (M,), int
        All images in the order in which they are to be labelled.
    n : int
        How many of them are drawn; each image was among them with probability n / M.
    seed : int
    order : str
        What the draw is spread over: `BY_INFLUENCE` or `BY_TIME`.
    blocks : ndarray of shape (M,), int
        Images of one block of time are dependent; a block of its own for each other image.
    mix : Mix
    optimism : float
        Both of the `LabelAid` that predicted.
    priors : mapping of str to ValueWithError
        Label-free estimates by name: that of the target, such as ``mAP``, and ``mAP/<category>``.
    target : str
    level : float
        Nominal coverage of the intervals.
    detector : str
        Fingerprint.
    problems : tuple of str
        What was left out of the pool.
    """

    found: Predictions
    influence: np.ndarray
    sequence: np.ndarray
    n: int
    seed: int
    order: str
    blocks: np.ndarray
    mix: Mix
    optimism: float
    priors: Mapping[str, ValueWithError]
    target: str
    level: float
    detector: str
    problems: tuple[str, ...] = ()

    @property
    def n_pool(self) -> int:
        """Number of images in the pool."""
        return len(self.found.images)

    @property
    def drawn(self) -> np.ndarray:
        """Images to label, (n,)."""
        return self.sequence[: self.n]

    def larger(self, n: int) -> Self:
        """Return the plan with more images; those that were drawn stay.

        Raises
        ------
        InputError
            If `n` is less than what was drawn, or more than there are.
        """
        if not self.n <= n <= self.n_pool:
            raise InputError(
                f"Expected --n of {self.n} (drawn already) to {self.n_pool} (all images) but got "
                f"{n}. For another draw choose another folder."
            )
        return replace(self, n=n)

    def outlook(self) -> Outlook:
        """Return what is to be expected of labels before there are any."""
        whole = self.influence.mean(axis=(0, 1))
        variance = float(whole.var(ddof=1)) if self.n_pool > 1 else 0.0
        prior = self.priors.get(self.target, NOTHING)
        return Outlook(self.mix.rest.scaled(variance), self.n_pool, prior, self.level)


def make_plan(
    pool: Pool,
    aid: LabelAid,
    *,
    n: int,
    priors: Mapping[str, ValueWithError],
    target: str = "mAP",
    level: float = 0.9,
    blocks: np.ndarray | None = None,
    pseudo_labels: Predictions | None = None,
    seed: int = 0,
    detector: str = "",
) -> LabelPlan:
    """Draw images to label.

    Parameters
    ----------
    pool : Pool
    aid : LabelAid
        Of the estimator; fitted on boxes of the same detector.
    n : int
        How many.
    priors, target, level, detector
        See `LabelPlan`.
    blocks : ndarray of shape (M,), int, optional
        Blocks of time, in the order of the pool. Where some hold several images the draw is spread
        over the order of the pool, so that labelled frames lie apart; otherwise over the predicted
        influence.
    pseudo_labels : Predictions, optional
        Boxes of another detector on the same images.
    seed : int

    Raises
    ------
    InputError
        If `n` is not from 1 to the number of images, the pool lacks evidence that the aid needs,
        or there are pseudo-labels and the aid knows of none.
    """
    if not 1 <= n <= len(pool):
        raise InputError(f"Expected 1 to {len(pool)} images to label (all there are) but got {n}.")
    missing = [name for name in aid.soft.names if name not in pool.names]
    if missing:
        raise InputError(
            f"The estimator tells right boxes from {', '.join(missing)}, which this pass did not "
            "leave behind. Plan with the pass that it was fitted with."
        )
    if pseudo_labels is not None and PSEUDO not in aid.mixes:
        raise InputError(
            "The estimator does not know how far a second detector's boxes can be trusted: fit it "
            "with `autoeval estimate-map ... --pseudo-labels DIR`, its boxes on the sources."
        )
    influence = np.stack(aid.predict(pool, pseudo_labels))
    blocks = np.arange(len(pool)) if blocks is None else np.asarray(blocks)
    by_time = len(np.unique(blocks)) < len(pool)
    across = np.arange(len(pool))
    if not by_time:
        across = np.argsort(influence.mean(axis=(0, 1)), kind="stable")
    return LabelPlan(
        pool.found,
        influence,
        balanced_order(across, seed=seed),
        n,
        seed,
        BY_TIME if by_time else BY_INFLUENCE,
        blocks,
        aid.mix(pseudo_labels is not None),
        aid.optimism,
        dict(priors),
        target,
        level,
        detector,
    )
