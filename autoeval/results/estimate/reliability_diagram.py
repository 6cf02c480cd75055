"""The reliability diagram of a fit: calibrated probability against the share of boxes right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from autoeval.estimation.calibrating import CALIBRATED, CONFIDENCE, calibration_error
from autoeval.report.page import Page
from autoeval.report.plots import figure_of, plot_curves
from autoeval.report.sections import Part, Section


@dataclass(frozen=True)
class ReliabilityDiagram(Section):
    """Whether boxes are right as often as was predicted.

    Parameters
    ----------
    bins : DataFrame or None
        See `autoeval.estimation.calibrating.reliability`; None where nothing was calibrated.
    """

    bins: pd.DataFrame | None = None

    def show(self, page: Page) -> None:
        """Add the diagram, the errors and the counts."""
        if self.bins is None:
            return
        page.add_heading("Are boxes right as often as predicted?")
        for _, figure in self.figures():
            page.add_figure(
                figure,
                "Share of boxes that are true positives at IoU .5, by the probability that was "
                "predicted of them, with 90 % intervals; on the dashed line both are equal. "
                "‘calibrated’: by calibrations that have not seen the labels of these images. "
                "‘confidence itself’: if confidences were taken for probabilities.",
            )
        page.add_text(self.text())
        (part,) = self.parts()
        part.show(page, "Labelled boxes by predicted probability", folded=True)

    def text(self) -> str:
        """Return the calibration errors."""
        if self.bins is None:
            return ""
        errors = self._errors()
        n = int(self.bins.loc[self.bins["scale"] == CALIBRATED, "n"].sum())
        return (
            f"Expected calibration error on {n} boxes: {errors[CALIBRATED]:.3f} calibrated, "
            f"{errors[CONFIDENCE]:.3f} if confidences were taken for probabilities."
        )

    def parts(self) -> Sequence[Part]:
        """Return the bins."""
        if self.bins is None:
            return ()
        shown = self.bins.drop(columns=["lower", "upper"]).rename(columns={"n": "boxes"})
        return (
            Part("reliability", self.bins, shown, {"predicted": "{:.3f}", "observed": "{:.3f}"}),
        )

    def figures(self) -> Iterator[tuple[str, Figure]]:
        """Draw both curves."""
        if self.bins is None:
            return
        band = ("lower", "upper")
        axes = plot_curves(self.bins, x="predicted", y="observed", group="scale", band=band)
        axes.plot([0, 1], [0, 1], ls="--", lw=1, color="0.5", zorder=0)
        axes.set(xlabel="predicted probability", ylabel="share of true positives at IoU .5")
        axes.set(xlim=(-0.02, 1.03), ylim=(-0.02, 1.03))
        yield "reliability", figure_of(axes)

    def to_dict(self) -> dict[str, Any]:
        """Return the errors."""
        return {} if self.bins is None else {"calibration_error": self._errors()}

    def _errors(self) -> dict[str, float]:
        assert self.bins is not None
        return {str(scale): calibration_error(own) for scale, own in self.bins.groupby("scale")}
