"""Several fits on predictions of one detector as one."""

from __future__ import annotations

from collections.abc import Mapping

from autoeval.data.wording import listed
from autoeval.errors import InputError
from autoeval.estimation.pairs.joined_pairs import joined_rows
from autoeval.estimation.predictions.prediction_estimator import PredictionsEstimator
from autoeval.estimation.predictions.prediction_fit import (
    PredictionsFit,
    fit_pairs,
    joined,
    unlike,
)


def join_predictions(
    fits: Mapping[str, PredictionsEstimator], *, target: str = "mAP", level: float = 0.9
) -> PredictionsFit:
    """Fit on all pairs that some fits of one detector rest on.

    Parameters
    ----------
    fits : mapping of str to PredictionsEstimator
        By a name for messages.
    target, level
        As in `fit_labels`.

    Raises
    ------
    InputError
        If two of them share no word of the detector, or a pair is in two of them.
    """
    memories = [fit.memory_ for fit in fits.values()]
    for name, memory in zip(fits, memories, strict=True):
        if not set(memory.categories) & set(memories[0].categories):
            raise InputError(
                f"{name} knows {listed(memory.categories, 10)}, the first fit "
                f"{listed(memories[0].categories, 10)}: they are of other detectors."
            )
    rows = joined_rows({name: fit.pairs_.rows_ for name, fit in fits.items()})
    problems = [doubt for memory in memories for doubt in memory.doubts]
    problems += unlike(memories, list(fits))
    return fit_pairs(rows, joined(memories), problems, target, level)
