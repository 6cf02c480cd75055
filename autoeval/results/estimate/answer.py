"""The estimate itself, on top of everything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from autoeval.estimation.estimate import Estimate
from autoeval.report.numerals import counted
from autoeval.report.page import Page
from autoeval.report.sections import Section
from autoeval.targets import Target, find_target

TIGHTNESS = (
    "How tightly labellers draw boxes in a place is seen by no score: it moves mAP75 and mAP, and "
    "mAP50 least."
)


@dataclass(frozen=True)
class Answer(Section):
    """What was estimated, with its interval; nothing where there were no images to estimate on.

    Parameters
    ----------
    estimate : Estimate or None
    """

    estimate: Estimate | None

    def show(self, page: Page) -> None:
        """Add the value, the interval, and the interval on a scale where values have bounds."""
        if self.estimate is not None:
            _show(page, self.estimate, find_target(self.estimate.target))

    def text(self) -> str:
        """Return the estimate with its warnings."""
        return "" if self.estimate is None else str(self.estimate)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields of the estimate."""
        return {"estimate": self.estimate and self.estimate.to_dict()}


def _show(page: Page, estimate: Estimate, target: Target) -> None:
    value, low, high = estimate.value, estimate.lower, estimate.upper
    interval = f"No interval ({estimate.interval_method})"
    if low == low:
        interval = f"{estimate.level:.0%} interval: {target.text(low)} to {target.text(high)}"
    page.add_warnings(list(estimate.advice), title="Before you act on it")
    images = counted(estimate.n_images, "unlabelled image")
    repeats = f"; ± {target.text(estimate.std)} over the dropout repeats"
    if estimate.std != estimate.std:
        repeats = ""
    page.add_interval(
        f"Estimated {target.name}",
        target.text(value) if value == value else "–",
        interval,
        f"In {target.unit}, from {images}, by the method ‘{estimate.method}’"
        f"{repeats}{_sampling(estimate, target)}.",
        on_scale=(100 * value, 100 * low, 100 * high) if target.upper == 1 else None,
    )
    beside = [
        f"{name}: {_with_interval(of, find_target(name))}"
        for name, of in estimate.beside.items()
        if of["value"] == of["value"]
    ]
    if beside:
        page.add_text(f"From the same pass, {'; '.join(beside)}. {TIGHTNESS}")


def _with_interval(of: Mapping[str, float], target: Target) -> str:
    return f"{target.text(of['value'])} ({target.text(of['lower'])} to {target.text(of['upper'])})"


def _sampling(estimate: Estimate, target: Target) -> str:
    """State what the number of images adds to the interval, where that is known."""
    low, high = estimate.source_lower, estimate.source_upper
    if estimate.sampling_std != estimate.sampling_std:
        return ""
    alone = (
        f"; without the sampling error {target.text(low)} to {target.text(high)}"
        if low == low
        else ""
    )
    return f", ± {target.text(estimate.sampling_std)} over the choice of images{alone}"


def star(estimate: Estimate, scores: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return where the estimate stands among the scores, under `name` by its own value."""
    scaled = find_target(estimate.target).scale * estimate.value
    return {**scores, **estimate.features, name: scaled, "value": estimate.value}
