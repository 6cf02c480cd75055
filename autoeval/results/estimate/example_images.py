"""Images to look at: where the detector is least certain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from autoeval.detections import Detections
from autoeval.estimation.site import Site
from autoeval.io.find_images import UnlabelledImage
from autoeval.io.images import UnreadableImageError
from autoeval.io.predictions import FoundBoxes
from autoeval.report.page import Page
from autoeval.report.sections import Part, Section
from autoeval.results.columns import explained
from autoeval.results.estimate.tool_files import image_table

if TYPE_CHECKING:
    pass

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


def pictures_of(
    boxes: FoundBoxes, images: Sequence[UnlabelledImage], names: Iterable[str]
) -> Pictures:
    """Return images with their boxes, in the order of `names`; those that are not at hand lack."""
    if not images or not _has_opencv():
        return []
    files = {image.image_id: image for image in images}
    at = {image.image_id: k for k, image in enumerate(boxes.images)}
    there = [name for name in names if name in files]
    return [picture_of(files[name], boxes.detections(at[name]), (), name) for name in there]


def _has_opencv() -> bool:
    """Whether images can be decoded: estimates from prediction files need no OpenCV."""
    try:
        import cv2  # noqa: F401
    except ModuleNotFoundError:
        return False
    return True


def picture_of(
    file: UnlabelledImage, clean: Detections, perturbed: tuple[Detections, ...], caption: str
) -> tuple[np.ndarray, str]:
    """Draw an image with its boxes; gray, with the reason, where it can no longer be read."""
    from autoeval.results.thumbnails import draw_boxes

    try:
        return draw_boxes(file.read(), clean, perturbed), caption
    except UnreadableImageError as error:
        return GRAY, f"{caption}; no longer readable: {error}"
