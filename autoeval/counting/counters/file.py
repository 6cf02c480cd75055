"""Predictions made elsewhere, as a counter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from autoeval.counting.counters.base import COUNT, CountResult
from autoeval.counting.predictions import CountPredictions
from autoeval.errors import InputError
from autoeval.runtime.states import OK, SKIPPED


class FileCounter:
    """Looks counts up by the image's id, which the context must hold as ``image_id``.

    Parameters
    ----------
    predictions : CountPredictions
        Such as `read_predictions` reads; the prompt of a question does not matter.

    Examples
    --------
    >>> counter = FileCounter(CountPredictions("bl", ("a",), np.array([3.]), np.array([2.5])))
    >>> counter.count(np.zeros((2, 2, 3), np.uint8), "people", {"image_id": "a"}).count
    2.5
    """

    capabilities = frozenset({COUNT})

    def __init__(self, predictions: CountPredictions) -> None:
        self.name = predictions.name
        self.counts = dict(zip(predictions.ids, predictions.pred.tolist(), strict=True))

    def count(
        self, image: np.ndarray, prompt: str, context: Mapping[str, Any] | None = None
    ) -> CountResult:
        """Return the count on file.

        Raises
        ------
        InputError
            If the context names no image, or one that the file lacks.
        """
        context = context or {}
        image_id = context.get("image_id")
        if image_id not in self.counts:
            raise InputError(
                f"The predictions of {self.name} have no image {image_id!r}: expected "
                f"context['image_id'] to be one of their {len(self.counts)} ids."
            )
        count = self.counts[image_id]
        return CountResult(count, status=SKIPPED if np.isnan(count) else OK, context=context)
