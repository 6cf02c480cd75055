"""A comparison of detectors as a page, on the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from autoeval.comparison.common_objects import different_boxes
from autoeval.comparison.comparison import ALL, Comparison, distinguishable
from autoeval.comparison.gate import Gate
from autoeval.detections import Detections
from autoeval.estimation.site import Site
from autoeval.io.images import UnreadableImageError
from autoeval.model.calibration import FOUND
from autoeval.report.page import Page
from autoeval.report.sections import Part, Report, Section
from autoeval.report.tables import format_cells, to_terminal
from autoeval.results.estimate.about import about_section
from autoeval.words import counted

SHOWN, SIDE = 6, 480  # images, each for two detectors: twelve pictures


@dataclass(frozen=True)
class Ranking(Section):
    """Who is best, with what probability, and the differences to the first."""

    result: Comparison

    def show(self, page: Page) -> None:
        result = self.result
        for row in result.ranking.head(3).itertuples():
            note = f"best with probability {row.p_best:.0%}"
            if result.known:
                note = f"{result.value_text(row)}, {note}"
            page.add_headline(row.detector, f"{100 * row.value:.0f}", note)
        page.add_text(*(result.sentence(row) for row in result.overall.head(1).to_dict("records")))
        if result.about_values:
            page.add_text(result.about_values)
        for figure in self.charts.values():
            page.add_figure(figure, "How far each is behind the first")
        page.add_warnings(result.warnings)

    def headline(self) -> str:
        return "\n".join(self.result.headline())

    def all_warnings(self) -> Sequence[str]:
        return self.result.warnings

    def text(self) -> str:
        return "\n".join(self.result.details())

    def to_dict(self) -> dict[str, Any]:
        return {"comparison": self.result.to_dict()}

    def figures(self) -> list[tuple[str, Figure]]:
        figure = Figure(figsize=(5.6, 1.4 + 0.5 * len(self.result.ranking)), layout="constrained")
        self.result.plot(figure.subplots())
        return [("ranking", figure)]

    def parts(self) -> list[Part]:
        return [Part("ranking", self.result.ranking)]


@dataclass(frozen=True)
class GateSection(Section):
    """Whether the candidate may replace the other detectors."""

    gate: Gate

    def show(self, page: Page) -> None:
        first, *losses = str(self.gate).splitlines()
        page.add_headline("Release gate", self.gate.outcome, first.partition(": ")[2])
        page.add_text(*(line.strip() for line in losses))

    def headline(self) -> str:
        return str(self.gate)

    def to_dict(self) -> dict[str, Any]:
        return {"gate": self.gate.to_dict()}


@dataclass(frozen=True)
class Pairwise(Section):
    """The probability of each to be better than each other, and all differences."""

    result: Comparison

    def show(self, page: Page) -> None:
        page.add_heading("Each with each")
        matrix, differences = self.parts()
        if len(self.result.detectors) > 2:
            matrix.show(page, "Probability (%) that the detector of a row is better than the other")
        differences.show(page, self._caption)

    def text(self) -> str:
        _, part = self.parts()
        return f"{self._caption}:\n\n{to_terminal(format_cells(part.for_people, part.formats))}"

    @property
    def _caption(self) -> str:
        return f"Differences of {self.result.target} in points of 100, a less b"

    def parts(self) -> list[Part]:
        matrix = self.result.matrix().rename_axis("better").reset_index()
        percent = matrix.assign(**{name: 100 * matrix[name] for name in self.result.detectors})
        formats = dict.fromkeys(self.result.detectors, "{:.0f}")
        pairs = self.result.to_pandas()
        points = ("difference", "lower", "upper", "label_free", "carried_over")
        shown = pairs.assign(**{name: 100 * pairs[name] for name in points})
        shown = shown.assign(
            p_better=100 * pairs["p_better"],
            result=[
                f"{row['a']} is better" if distinguishable(row) else "not distinguishable"
                for row in pairs.to_dict("records")
            ],
        ).drop(columns="distinguishable")
        if (pairs["category"] == ALL).all() or pairs["category"].nunique() == 1:
            shown = shown.drop(columns="category")
        if not self.result.n_labelled:
            shown = shown.drop(columns=["more_labels", "label_free"])
        names = {"p_better": "a better (%)"}
        shown = shown.rename(columns=lambda name: names.get(name, name.replace("_", " ")))
        of_points = {name.replace("_", " "): "{:+.1f}" for name in points}
        whole = {"a better (%)": "{:.0f}", "more labels": "{:.0f}"}
        return [
            Part("better", matrix, percent, formats),
            Part("differences", pairs, shown, {**of_points, **whole}),
        ]


@dataclass(frozen=True)
class Disagreements(Section):
    """The images on which the first two detectors find most differently, side by side."""

    result: Comparison

    def show(self, page: Page) -> None:
        for part in self.parts():
            page.add_heading("Where they disagree most")
            if self._pictures:
                page.add_thumbnails(
                    self._pictures,
                    "The same image for the first two detectors, side by side, with boxes by their "
                    "true-positive probability (faint: under .3)",
                    side=SIDE,
                )
            part.show(page, "Likely boxes that one has and the other has not", folded=True)

    def parts(self) -> list[Part]:
        order = [k for k in np.argsort(-self._counts, kind="stable") if self._counts[k] > 0]
        images = self._both[0].boxes.clean.images
        rows = [(images[k].image_id, int(self._counts[k])) for k in order[: 4 * SHOWN]]
        if not rows:
            return []
        return [Part("disagreements", pd.DataFrame(rows, columns=["image", "boxes that differ"]))]

    @cached_property
    def _both(self) -> tuple[Site, Site]:
        first, second, *_ = (self.result.sites[name] for name in self.result.detectors)
        return first, second

    @cached_property
    def _counts(self) -> np.ndarray:
        return different_boxes(*(site.boxes for site in self._both))

    @cached_property
    def _pictures(self) -> list[tuple[np.ndarray, str]]:
        pictures: list[tuple[np.ndarray, str]] = []
        try:
            from autoeval.results.thumbnails import draw_boxes
        except ModuleNotFoundError:  # estimates from prediction files need no OpenCV
            return pictures
        files = {image.image_id: image for site in self._both for image in site.images}
        for k in np.argsort(-self._counts, kind="stable")[:SHOWN]:
            name = self._both[0].boxes.clean.images[k].image_id
            if name not in files or not self._counts[k]:
                continue
            try:
                pixels = files[name].read()
            except UnreadableImageError:
                continue
            differ = counted(int(self._counts[k]), "box differs", "boxes differ")
            for detector, site in zip(self.result.detectors, self._both, strict=False):
                drawn = draw_boxes(pixels, _likely(site, int(k)), (), side=SIDE)
                pictures.append((drawn, f"{detector}: {name}, {differ}"))
        return pictures


def _likely(site: Site, image: int) -> Detections:
    """Return the boxes of an image that may be right, scored by their probability."""
    assert site.boxes.calibration is not None
    boxes = site.boxes.clean.detections(image)
    scored = replace(boxes, scores=site.boxes.calibration.at_half(boxes.scores))
    return scored[scored.scores > FOUND]


def comparison_report(
    result: Comparison,
    given: Mapping[str, str] = MappingProxyType({}),
    gate: Gate | None = None,
) -> Report:
    """Compose the page of a comparison; `given` is what it is about."""
    title = f"Which is better: {', '.join(result.detectors)}"
    first = [] if gate is None else [GateSection(gate)]
    rest = [Ranking(result), Pairwise(result), Disagreements(result), about_section(given)]
    return Report(title, [*first, *rest])
