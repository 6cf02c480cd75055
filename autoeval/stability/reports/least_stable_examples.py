"""Images to look at: where boxes move most under feature dropout."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

from autoeval.report.page import Page
from autoeval.report.sections import Part, Section
from autoeval.results.estimate.example_images import SHOWN, Pictures, picture_of
from autoeval.stability.methods.scored_site import ScoredSite
from autoeval.stability.passes.least_stable import UnstableImage
from autoeval.words import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEGEND = "blue: boxes of the unperturbed network; orange: with feature dropout, all repeats"


@dataclass(frozen=True)
class LeastStableExamples(Section):
    """The images whose boxes move most under dropout; nothing where there was none."""

    site: ScoredSite

    def show(self, page: Page) -> None:
        """Add pictures, or a table where the images are not at hand."""
        for part in self.parts():
            page.add_heading("Where boxes move most under dropout")
            page.add_thumbnails(
                self._pictures,
                f"The least stable of the unlabelled images ({LEGEND}; faint: score under .3). "
                "Stability is the mean GIoU of partners before and after dropout, where a lost box "
                "counts 0: 1 where no box moves, below 0 where partners lie apart.",
            )
            if not self._pictures:
                part.show(page, "The least stable of the unlabelled images")

    def parts(self) -> list[Part]:
        """Return the table of the images, if there are any."""
        table = self._table()
        if table.empty:
            return []
        return [Part("least_stable", table, formats={"stability": "{:.3f}"})]

    def figures(self) -> Iterator[tuple[str, Figure]]:
        """Yield one figure of all pictures."""
        if self._pictures:
            from autoeval.report.embed import picture_rows

            yield "least_stable", picture_rows(self._pictures, f"Least stable images; {LEGEND}")

    def to_dict(self) -> dict[str, Any]:
        """Return the rows of the table."""
        return {"least_stable": self._table().to_dict("records")}

    def _table(self) -> pd.DataFrame:
        unstable = self.site.least_stable
        columns = {
            "image": [image.image_id for image in unstable],
            "stability": [image.stability for image in unstable],
            "boxes": [len(image.clean) for image in unstable],
            "boxes with dropout": [_counts(image) for image in unstable],
        }
        return pd.DataFrame(columns)

    @cached_property
    def _pictures(self) -> Pictures:
        files = {file.image_id: (k, file) for k, file in enumerate(self.site.images)}
        on_disk = [image for image in self.site.least_stable if image.image_id in files][:SHOWN]
        # In the order of the files: a video is decoded forward.
        order = sorted(on_disk, key=lambda image: files[image.image_id][0])
        drawn = {
            image.image_id: picture_of(
                files[image.image_id][1],
                image.clean,
                image.perturbed,
                f"{image.image_id}: stability {image.stability:.2f}, "
                f"{counted(len(image.clean), 'box', 'boxes')}, {_counts(image)} with dropout",
            )
            for image in order
        }
        return [drawn[image.image_id] for image in on_disk]


def _counts(image: UnstableImage) -> str:
    counts = [len(boxes) for boxes in image.perturbed]
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"
