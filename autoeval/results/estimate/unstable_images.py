"""The images whose boxes move most: where the detector is least sure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from autoeval.report.page import Page
from autoeval.report.parts import Part
from autoeval.report.picture_rows import picture_rows
from autoeval.report.sections import Section
from autoeval.results.thumbnails import LEGEND


@dataclass(frozen=True)
class UnstableImages(Section):
    """The least stable of the unlabelled images; nothing where none was looked at.

    Parameters
    ----------
    table : DataFrame
        ``image``, ``stability``, ``boxes``, ``boxes with dropout``; the least stable first.
    pictures : sequence of (ndarray of shape (H, W, 3) uint8 BGR, str)
        The same images with their boxes drawn, and captions.
    """

    table: pd.DataFrame
    pictures: Sequence[tuple[np.ndarray, str]] = ()

    def show(self, page: Page) -> None:
        """Add the pictures."""
        for part in self.parts():
            page.add_heading("Where the detector is least sure")
            page.add_thumbnails(
                self.pictures,
                f"The least stable of the unlabelled images ({LEGEND}; faint: score under .3). "
                "Stability is the mean GIoU of partners before and after dropout, where a lost box "
                "counts 0: 1 where no box moves, below 0 where partners lie apart.",
            )
            if not self.pictures:
                part.show(page, "The least stable of the unlabelled images")

    def parts(self) -> list[Part]:
        """Return the table."""
        if self.table.empty:
            return []
        return [Part("least_stable", self.table, formats={"stability": "{:.3f}"})]

    def figures(self) -> Iterator[tuple[str, Figure]]:
        """Draw the pictures on one sheet."""
        if self.pictures:
            yield "least_stable", picture_rows(self.pictures, f"Least stable images; {LEGEND}")

    def to_dict(self) -> dict[str, Any]:
        """Return the table."""
        return {"least_stable": self.table.to_dict("records")}
