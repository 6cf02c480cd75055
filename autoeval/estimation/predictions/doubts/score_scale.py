"""Whether the scores of two files are on one scale, as far as their ends tell."""

from __future__ import annotations

from collections.abc import Iterator

from autoeval.data.predictions import Predictions
from autoeval.estimation.predictions.features import COUNTED

NO_LOWER = 1e-3
ANOTHER_FLOOR, OF_FEW_BOXES = 1.5, 3.0
ANOTHER_TOP = 0.6
ENOUGH_BOXES = 100


def another_scale(found: Predictions, floor: float, highest: float) -> Iterator[str]:
    """Say where the scores of new predictions begin or end elsewhere than those of the fit.

    A threshold is the same number in every file that one command exports, and a detector that is
    sure of something anywhere reaches scores close to its highest. Only the ends tell of a scale:
    between them, less confidence is what a worse place looks like.

    Parameters
    ----------
    found : Predictions
    floor, highest : float
        Lowest and highest score in the fit; 0 for a highest that is not known.
    """
    low, high = sorted((max(found.floor, NO_LOWER), max(floor, NO_LOWER)))
    another = high > (ANOTHER_FLOOR if len(found) >= ENOUGH_BOXES else OF_FEW_BOXES) * low
    if another and high > COUNTED:
        yield (
            f"the lowest score is {found.floor:.3g}, in the fit it was {floor:.3g}: "
            "export both with one threshold, or the scores do not compare"
        )
    elif another and len(found) >= ENOUGH_BOXES:
        yield (
            f"the lowest score is {found.floor:.2g}, in the fit it was {floor:.2g}: another "
            "threshold does no harm there, but scores on another scale (another temperature, "
            "another version of the detector) are misread"
        )
    low, high = sorted((found.highest, highest))
    if highest and low < ANOTHER_TOP * high and len(found) >= ENOUGH_BOXES:
        yield (
            f"the highest score is {found.highest:.2f}, in the fit it was {highest:.2f}: unless "
            "the detector is sure of nothing in one of them, its scores are on another scale here "
            "and are misread"
        )
