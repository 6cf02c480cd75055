"""Counts collected image by image, in shards or not, and then evaluated."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from autoeval.counting.binning.bins import CountBins
from autoeval.counting.evaluation.model_measures import CountEvaluation, evaluate_counts
from autoeval.counting.predictions import CountPredictions
from autoeval.errors import InputError


@dataclass
class CountScore:
    """Collects the counts of one model; only two numbers an image are kept.

    Images are put in the order of their ids before anything is computed, so that shards merged in
    any order give the figures of the whole to the last bit.

    Parameters
    ----------
    bins : CountBins
        Bins of the true count.
    mode : str
        See `evaluate_counts`.
    name : str
        Name of the model.

    Examples
    --------
    >>> score, other = (CountScore(CountBins((0, 5, 10))) for _ in range(2))
    >>> score.update("a", 4, 5)
    >>> other.update("b", 8, 8)
    >>> score.merge(other)
    >>> score.compute(n_resamples=10).measures["pooled MAE"]
    0.5
    """

    bins: CountBins
    mode: str = "paper"
    name: str = "model"
    by_image: dict[str, tuple[float, float]] = field(default_factory=dict)

    def update(self, image_id: str, target: float, pred: float) -> None:
        """Add an image: true and predicted count, NaN for a skipped answer.

        Raises
        ------
        InputError
            If the image was given before.
        """
        if image_id in self.by_image:
            raise InputError(f"Image '{image_id}' was given twice.")
        self.by_image[image_id] = (float(target), float(pred))

    def merge(self, other: CountScore) -> None:
        """Add the images of another score of the same bins and mode.

        Raises
        ------
        InputError
            If bins or modes differ, or an image is in both.
        """
        twice = self.by_image.keys() & other.by_image.keys()
        if twice or other.bins != self.bins or other.mode != self.mode:
            raise InputError(
                f"Cannot merge counts with {len(twice)} images in common, "
                f"{'equal' if other.bins == self.bins else 'different'} bins, and modes "
                f"'{self.mode}' and '{other.mode}'."
            )
        self.by_image.update(other.by_image)

    def compute(self, *, n_resamples: int = 1000, seed: int = 0) -> CountEvaluation:
        """Evaluate what was collected; see `evaluate_counts`.

        Raises
        ------
        InputError
            If no image has a prediction.
        """
        ids = tuple(sorted(self.by_image))
        pairs = np.array([self.by_image[image_id] for image_id in ids]).reshape(-1, 2)
        predictions = CountPredictions(self.name, ids, pairs[:, 0], pairs[:, 1])
        return evaluate_counts(
            predictions, self.bins, mode=self.mode, n_resamples=n_resamples, seed=seed
        )
