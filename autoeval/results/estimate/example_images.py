"""Images to look at: where the detector is least certain, and where its boxes move most."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from autoeval.data.find_images import UnlabelledImage
from autoeval.data.images import UnreadableImageError
from autoeval.data.predictions import FoundBoxes
from autoeval.detections import Detections
from autoeval.estimation.observation.least_stable import UnstableImage
from autoeval.estimation.site import Site
from autoeval.report.page import Page
from autoeval.report.sections import Part, Section
from autoeval.report.tables import counted
from autoeval.results.columns import explained
from autoeval.results.estimate.tool_files import image_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Pictures = list[tuple[np.ndarray, str]]
SHOWN = 6  # of each kind, so that a page has at most twelve
GRAY = np.full((270, 360, 3), 128, np.uint8)


@dataclass(frozen=True)
class LeastCertainExamples(Section):
    """The images with the lowest mean score, with their boxes where they are at hand."""

    site: Site

    def show(self, page: Page) -> None:
        for part in self.parts():
            page.add_heading("Where the detector is least certain")
            if self._pictures:
                page.add_thumbnails(
                    self._pictures,
                    "Images with the lowest mean score of their boxes (faint: score under .3).",
                )
            about = explained(part.table)
            part.show(page, f"Images by the mean score of their boxes, lowest first. {about}")

    def parts(self) -> list[Part]:
        table = image_table(self.site.boxes.clean)
        table = table[table["boxes"] > 0].head(4 * SHOWN)
        if table.empty:
            return []
        return [Part("least_certain", table, formats={"mean_score": "{:.2f}", "share": "{:.2f}"})]

    @cached_property
    def _pictures(self) -> Pictures:
        parts = self.parts()
        names = parts[0].table["image_id"].head(SHOWN) if parts else ()
        return pictures_of(self.site.boxes.clean, self.site.images, names)


@dataclass(frozen=True)
class LeastStableExamples(Section):
    """The images whose boxes move most under dropout; nothing where there was none."""

    site: Site

    def show(self, page: Page) -> None:
        for part in self.parts():
            from autoeval.results.thumbnails import LEGEND  # needs OpenCV

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
        table = self._table()
        if table.empty:
            return []
        return [Part("least_stable", table, formats={"stability": "{:.3f}"})]

    def figures(self) -> Iterator[tuple[str, Figure]]:
        if self._pictures:
            from autoeval.report.embed import picture_rows
            from autoeval.results.thumbnails import LEGEND

            yield "least_stable", picture_rows(self._pictures, f"Least stable images; {LEGEND}")

    def to_dict(self) -> dict[str, Any]:
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
        known = [image for image in self.site.least_stable if image.image_id in files][:SHOWN]
        # In the order of the files: a video is decoded forward.
        order = sorted(known, key=lambda image: files[image.image_id][0])
        drawn = {
            image.image_id: _picture(
                files[image.image_id][1],
                image.clean,
                image.perturbed,
                f"{image.image_id}: stability {image.stability:.2f}, "
                f"{counted(len(image.clean), 'box', 'boxes')}, {_counts(image)} with dropout",
            )
            for image in order
        }
        return [drawn[image.image_id] for image in known]


def pictures_of(
    found: FoundBoxes, images: Sequence[UnlabelledImage], names: Iterable[str]
) -> Pictures:
    """Return images with their boxes, in the order of `names`; those that are not at hand lack."""
    if not images or not _has_opencv():
        return []
    files = {image.image_id: image for image in images}
    at = {image.image_id: k for k, image in enumerate(found.images)}
    there = [name for name in names if name in files]
    return [_picture(files[name], found.detections(at[name]), (), name) for name in there]


def _has_opencv() -> bool:
    """Whether images can be decoded: estimates from prediction files need no OpenCV."""
    try:
        import cv2  # noqa: F401
    except ModuleNotFoundError:
        return False
    return True


def _picture(
    file: UnlabelledImage, clean: Detections, perturbed: tuple[Detections, ...], caption: str
) -> tuple[np.ndarray, str]:
    from autoeval.results.thumbnails import draw_boxes

    try:
        return draw_boxes(file.read(), clean, perturbed), caption
    except UnreadableImageError as error:
        return GRAY, f"{caption}; no longer readable: {error}"


def _counts(image: UnstableImage) -> str:
    counts = [len(boxes) for boxes in image.perturbed]
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"
