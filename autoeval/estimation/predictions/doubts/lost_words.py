"""Categories that labels and predictions may call by different words."""

from __future__ import annotations

import numpy as np

from autoeval.data.labels.truth import Truth
from autoeval.data.predictions import Predictions
from autoeval.data.wording import listed

FEWEST_BOXES = 8


def lost_words(found: Predictions, truth: Truth) -> tuple[str, ...]:
    """Name categories with labels and no prediction where others have predictions and no labels.

    Parameters
    ----------
    found : Predictions
        In the detector's own words.
    truth : Truth
        In those of the labels.

    Returns
    -------
    tuple of str
        One doubt, or none.
    """
    labelled = _used(truth.categories, truth.label)
    predicted = _used(found.categories, found.label)
    lost = [f"{word} ({labelled[word]} boxes)" for word in labelled if word not in predicted]
    strange = [
        f"{word} ({n} boxes)" for word, n in predicted.items() if word not in truth.categories
    ]
    if not lost or not strange:
        return ()
    return (
        f"labelled but never predicted: {listed(lost)}; predicted but no word of the labels: "
        f"{listed(strange)}. Are these the same things by other words?",
    )


def _used(words: tuple[str, ...], label: np.ndarray) -> dict[str, int]:
    counts = np.bincount(label, minlength=len(words)).tolist()
    return {word: n for word, n in zip(words, counts, strict=True) if n >= FEWEST_BOXES}
