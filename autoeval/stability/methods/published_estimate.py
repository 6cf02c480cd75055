"""The result of a published method: an estimate over dropout repeats, with the error by source."""

from __future__ import annotations

import math
from dataclasses import dataclass

from autoeval.estimation.estimate import Estimate


@dataclass(frozen=True, repr=False)
class PublishedEstimate(Estimate):
    """Estimated accuracy of a detector on images without labels, by a published method.

    Parameters
    ----------
    method : str
        Name of the regressor.
    std : float
        Standard deviation of the value over the dropout repeats; 0 for one repeat.
    source_lower, source_upper : float
        The interval without the sampling error of the images, from the errors on left-out sources.
    """

    method: str = ""
    std: float = math.nan
    source_lower: float = math.nan
    source_upper: float = math.nan
    is_mean = False  # each category is estimated alone, and so are all together

    @property
    def title(self) -> str:
        """What the value is, in words, with the name of its method."""
        return f"{super().title} by {self.method}"

    def figures(self) -> dict[str, float]:
        """Return the value, its standard deviation and its ends, by the name of the target."""
        value, *ends = super().figures().items()
        return dict([value, (f"{self.target}_std", self.std), *ends])
