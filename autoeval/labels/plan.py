"""A plan: which images of a pool to label, and all that the estimate from their labels needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from typing_extensions import Self

from autoeval.data.predictions import Predictions
from autoeval.errors import InputError
from autoeval.labels.assistance import LabelAssistance, MixingWeights
from autoeval.labels.control_variates import PSEUDO
from autoeval.labels.label_sampling import balanced_order
from autoeval.labels.pool import Pool
from autoeval.labels.sample_size import Outlook
from autoeval.labels.value_with_error import NOTHING, ValueWithError

BY_INFLUENCE, BY_TIME = "predicted influence", "time"


@dataclass(frozen=True, eq=False)
class LabelPlan:
    """Which images to label, and what is known before.

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
    mixing : MixingWeights
    small_sample_bias : float
        Both of the `LabelAssistance` that predicted.
    priors : mapping of str to ValueWithError
        Label-free estimates by name: that of the target, such as ``mAP``, and ``mAP/<category>``.
    target : str
    level : float
        Nominal coverage of the intervals.
    detector : str
        Fingerprint.
    warnings : tuple of str
        What was left out of the pool or assumed of it.
    """

    found: Predictions
    influence: np.ndarray
    sequence: np.ndarray
    n: int
    seed: int
    order: str
    blocks: np.ndarray
    mixing: MixingWeights
    small_sample_bias: float
    priors: Mapping[str, ValueWithError]
    target: str
    level: float
    detector: str
    warnings: tuple[str, ...] = ()

    @property
    def n_pool(self) -> int:
        """Number of images in the pool."""
        return len(self.found.images)

    @property
    def drawn(self) -> np.ndarray:
        """Images to label, (n,)."""
        return self.sequence[: self.n]

    def larger(self, n: int) -> Self:
        """Return the plan with more images; those that were drawn are kept.

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
        """Return the forecast of the precision that labels give, before there are any."""
        whole = self.influence.mean(axis=(0, 1))
        variance = float(whole.var(ddof=1)) if self.n_pool > 1 else 0.0
        prior = self.priors.get(self.target, NOTHING)
        return Outlook(self.mixing.residual.scaled(variance), self.n_pool, prior, self.level)


def make_plan(
    pool: Pool,
    assistance: LabelAssistance,
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
    assistance : LabelAssistance
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
        If `n` is not from 1 to the number of images, the pool lacks features that the assistance
        needs, or there are pseudo-labels and the assistance was fitted without.
    """
    if not 1 <= n <= len(pool):
        raise InputError(f"Expected 1 to {len(pool)} images to label (all there are) but got {n}.")
    fitting = assistance.for_features(pool.names)
    if pseudo_labels is not None and PSEUDO not in fitting.mixing:
        raise InputError(
            "The estimator was fitted without pseudo-labels: fit it with those of the same second "
            "detector on the labelled sites, `--pseudo-labels DIR`, or plan without."
        )
    warnings = pool.warnings
    if fitting is not assistance:
        passes = " and ".join(sorted(assistance.needs))
        warnings += (
            f"the pass {passes} is missing here: the true-positive probability of boxes is "
            "estimated from clean boxes alone",
        )
    influence = np.stack(fitting.predict(pool, pseudo_labels))
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
        fitting.mixing_weights(pseudo_labels is not None),
        fitting.small_sample_bias,
        dict(priors),
        target,
        level,
        detector,
        warnings,
    )
