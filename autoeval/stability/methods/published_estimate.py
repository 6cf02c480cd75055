"""The result of a published method: an estimate over dropout repeats, with the error by source."""

from __future__ import annotations

import math
from dataclasses import dataclass

from autoeval.estimation.estimate import Estimate
from autoeval.targets import find_target


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
    no_interval = "no interval: fewer than three sources hold the category"

    @property
    def value_text(self) -> str:
        """The value and its standard deviation over the repeats, in the unit of the target."""
        return f"{super().value_text} ± {find_target(self.target).text(self.std)} (repeats)"

    def _of_categories(self) -> str:
        # each category is estimated alone, and so are all together: the value is no mean
        return ""

    def _by_method(self) -> str:
        return f" (method: {self.method})"

    def sampling_text(self) -> str:
        """State what the sources and what the number of images add to the interval."""
        sampling = super().sampling_text()
        if not sampling or self.source_lower != self.source_lower:
            return sampling
        return f"without the sampling error: {self._by_source()}; {sampling}"

    def variation_text(self) -> str:
        """State how the value varies over repeats and images, to follow the name of the method."""
        sampling, std = super().variation_text(), find_target(self.target).text(self.std)
        alone = ""
        if sampling and self.source_lower == self.source_lower:
            alone = f"; without the sampling error {self._by_source()}"
        return f"; ± {std} over the dropout repeats{sampling}{alone}"

    def figures(self) -> dict[str, float]:
        """Return the value, its standard deviation and its ends, by the name of the target."""
        value, *ends = super().figures().items()
        return dict([value, (f"{self.target}_std", self.std), *ends])

    @property
    def scaled_std(self) -> float | None:
        """The standard deviation over the repeats in the unit of the target, as an error bar."""
        return find_target(self.target).scale * self.std

    def _by_source(self) -> str:
        text = find_target(self.target).text
        return f"{text(self.source_lower)} to {text(self.source_upper)}"
