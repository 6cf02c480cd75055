"""A label plan as a page, and a warning of images seen in training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.labelled_files import read_labels
from autoeval.io.find_images import UnlabelledImage
from autoeval.labels.estimators import FEWEST_HOLDING
from autoeval.labels.joint_outlook import JointOutlook
from autoeval.labels.label_sampling import inclusion_probabilities
from autoeval.labels.plan import LabelPlan
from autoeval.labels.plan_file import drawn_with
from autoeval.labels.sample_size import USUAL_SIZES, Outlook
from autoeval.notices import Notice
from autoeval.report.page import Page
from autoeval.report.sections import Part, Report, Section
from autoeval.results.columns import explained
from autoeval.results.estimate.about import about_section
from autoeval.results.estimate.example_images import pictures_of
from autoeval.results.estimate.tool_files import image_table
from autoeval.runtime.files import PathLike

PICTURES = 12
LISTED = 100  # images from which on their table is folded


@dataclass(frozen=True)
class WhatToLabel(Section):
    """How many images were drawn, and how."""

    plan: LabelPlan

    def show(self, page: Page) -> None:
        page.add_headline("images to label", str(self.plan.n), f"of {self.plan.n_pool}")
        page.add_text(f"{self.headline()} {self.text()}")
        page.add_warnings(self.plan.warnings)

    def headline(self) -> str:
        return (
            f"{self.plan.n} of {self.plan.n_pool} images drawn. Label every object of every "
            "category, and keep images that hold none: they count."
        )

    def text(self) -> str:
        plan = self.plan
        return (
            f"Drawn by seed {plan.seed}, spread over {plan.order}, {_chances(plan)}. A larger --n "
            "keeps what is drawn."
        )

    def all_warnings(self) -> Sequence[str]:
        return self.plan.warnings

    def to_dict(self) -> dict[str, Any]:
        images = self.plan.found.images
        return {
            "drawn": [images[k].image_id for k in self.plan.drawn],
            "n_pool": self.plan.n_pool,
            **drawn_with(self.plan),
        }


@dataclass(frozen=True)
class ImagesToLabel(Section):
    """The images that were drawn, in the order of the draw, with the detector's boxes on some.

    images: where they lie; empty where only their boxes are at hand.
    """

    plan: LabelPlan
    images: Sequence[UnlabelledImage] = ()

    def show(self, page: Page) -> None:
        (part,) = self.parts()
        page.add_heading("Images to label")
        names = part.table["image_id"].head(PICTURES)
        if pictures := pictures_of(self.plan.found, self.images, names):
            caption = "with the boxes that the detector found (faint: score under .3)"
            page.add_thumbnails(pictures, f"The first {len(pictures)} of them, {caption}")
        about = f"In the order of the draw. {explained(part.for_people)}"
        part.show(page, about, folded=len(part.table) > LISTED)

    def parts(self) -> list[Part]:
        of_image = image_table(self.plan.found).set_index("image_id")
        images = self.plan.found.images
        names = [images[k].image_id for k in self.plan.drawn]
        table = of_image.loc[names].reset_index()
        table.insert(0, "order", range(1, len(table) + 1))
        shown = table.drop(columns="share")
        return [Part("images", table, shown, {"mean_score": "{:.2f}"})]


@dataclass(frozen=True)
class WidthToExpect(Section):
    """Half-width of the interval, or of that of a `difference`, by the number of labels."""

    plan: LabelPlan
    difference: Outlook | None = None

    @property
    def what(self) -> str:
        """What the half-widths are of."""
        return f"the difference of {self.plan.target}" if self.difference else self.plan.target

    def table(self) -> pd.DataFrame:
        """Return ``labels`` and ``half_width``; of several categories how many are measured."""
        outlook, n_pool = self.difference or self.plan.outlook(), self.plan.n_pool
        sizes = sorted({k for k in (*USUAL_SIZES, self.plan.n) if 2 <= k <= n_pool})
        widths = [outlook.half_width(k) for k in sizes]
        table = pd.DataFrame({"labels": sizes, "half_width": widths})
        if isinstance(outlook, JointOutlook) and len(self.plan.found.categories) > 1:
            table["categories_measured"] = [round(outlook.measured(k), 1) for k in sizes]
        return table

    def show(self, page: Page) -> None:
        page.add_heading("Expected half-width")
        for part in self.parts():
            level = f"{self.plan.level:.0%} interval of {self.what}"
            part.show(page, f"Expected half-width of the {level}, in points")
        for figure in self.charts.values():
            page.add_figure(figure, "Expected half-width by the number of labels")

    def headline(self) -> str:
        table = self.table()
        rows = list(table.itertuples(index=False))
        forecasts = [row for row in rows if row.half_width == row.half_width]
        widths = ", ".join(
            f"±{100 * row.half_width:.1f} with {row.labels}"
            + (" (all images: exact)" if row.labels == self.plan.n_pool else "")
            for row in forecasts
        )
        text = f"expected of {self.what}: {widths or 'not known before there are labels'}"
        if "categories_measured" not in table:
            return text
        counts = ", ".join(f"{row.categories_measured:.0f} with {row.labels}" for row in rows)
        return (
            f"{text}\ncategories that {FEWEST_HOLDING} labelled images or more will probably hold, "
            f"of {len(self.plan.found.categories)}: {counts}"
        )

    def parts(self) -> list[Part]:
        table = self.table()
        shown = table.assign(half_width=100 * table["half_width"])
        names = {"half_width": "half-width", "categories_measured": "categories measured"}
        shown = shown.rename(columns=names)
        formats = {"half-width": "{:.1f}", "categories measured": "{:.0f}"}
        return [Part("half_width", table, shown, formats)]

    def figures(self) -> list[tuple[str, Figure]]:
        table = self.table()
        ax = Figure(figsize=(5.6, 3), layout="constrained").subplots()
        ax.plot(table["labels"], 100 * table["half_width"], marker="o", color="tab:blue")
        ax.set(xlabel="labelled images", ylabel="half-width (points of 100)", ylim=(0, None))
        ax.grid(alpha=0.25)
        return [("half_width", ax.figure)]  # type: ignore[list-item]

    def to_dict(self) -> dict[str, Any]:
        return {"half_width": self.table().to_dict("records")}


def plan_report(
    plan: LabelPlan,
    given: Mapping[str, str] = MappingProxyType({}),
    difference: Outlook | None = None,
    images: Sequence[UnlabelledImage] = (),
) -> Report:
    """Compose the page of a plan; `given` is what it is about.

    For `difference` see `WidthToExpect`, for `images` see `ImagesToLabel`.
    """
    sections = [
        WhatToLabel(plan),
        WidthToExpect(plan, difference),
        ImagesToLabel(plan, images),
        about_section(given),
    ]
    return Report("Images to label", sections)


def seen_in_training(estimator: AccuracyEstimator, labels: PathLike) -> Iterator[str]:
    """Yield why the labelled images seem to be training images, and what follows."""
    from autoeval.detectors.building.training_images import trained_on

    detector = estimator.detector_
    config = getattr(detector, "config", None)
    if config is None:  # a black box
        return
    names = tuple(image.file_name for image in read_labels(Path(labels), None).images)
    for reason in trained_on(config, labels, names):
        yield (
            Notice(
                "trained-on-these-images",
                f"{reason}: the accuracy of a detector on images that it was trained on is too "
                "high, fit on others",
            )
        )


def _chances(plan: LabelPlan) -> str:
    """Say with what probability images were drawn."""
    if plan.sizes is None:
        return f"each with probability {plan.n / plan.n_pool:.3g}"
    drawn = inclusion_probabilities(plan.sizes, plan.n)
    return (
        f"with probabilities of {drawn.min():.2g} to {drawn.max():.2g}, by whose inverse each "
        "labelled image counts"
    )
