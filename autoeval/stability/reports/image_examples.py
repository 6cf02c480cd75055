"""The images whose boxes stay put least and most, drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd

from autoeval.accuracy.coco_evaluation import MeanAP
from autoeval.errors import InputError
from autoeval.io.images import read_image
from autoeval.io.tasks.task import Task
from autoeval.report.charts import picture_rows
from autoeval.report.page import Table
from autoeval.report.pictures import draw_boxes
from autoeval.stability.reports.method_page import LEGEND
from autoeval.stability.reports.study_report import StudyReport
from autoeval.stability.scores.box_stability import box_stability
from autoeval.stability.studies.kept_boxes import Observations, ObservedImage


def examples_report(
    observations: Observations,
    task: Task,
    *,
    most: int = 4,
    per_source: int = 1,
    min_boxes: int = 2,
) -> StudyReport:
    """Draw the least and the most stable images (Yang et al. 2024, figures 1 and 5).

    Parameters
    ----------
    observations : Observations
        Boxes of each image.
    task : Task
        Where the images are found.
    most : int
        Images of either kind.
    per_source, min_boxes
        See `examples`.
    """
    unstable, stable = examples(
        observations, n_images=most, per_source=per_source, min_boxes=min_boxes
    )
    paths = {
        (seed_set.name, record.image_id): record.path
        for seed_set in task.load_seed_sets()
        for record in seed_set.images
    }
    rows, pictures, score_thr = [], [], observations.stability.score_thr
    for kind, chosen in (("least stable", unstable), ("most stable", stable)):
        for one in chosen:
            evidence = one.image.evidence
            clean = evidence.clean.above(score_thr)  # stability compares no others
            perturbed = [boxes.above(score_thr) for boxes in evidence.perturbed]
            rows.append(
                {
                    "kind": kind,
                    "source": one.source,
                    "image": evidence.image_id,
                    "stability": one.stability,
                    "mAP": one.mean_ap,
                    "boxes": len(clean),
                    "true boxes": len(one.image.boxes),
                }
            )
            picture = read_image(paths[one.source, evidence.image_id])
            drawn = draw_boxes(picture, clean, perturbed)
            label = f"{one.source}\nstability {one.stability:.2f}, mAP {one.mean_ap:.2f}"
            pictures.append((drawn, label))
    formats = {"stability": "{:.2f}", "mAP": "{:.2f}"}
    return StudyReport(
        "examples",
        "Images whose boxes stay put least and most",
        f"At most {per_source} of a source, own images with at least {min_boxes} boxes of a score "
        f"over {score_thr:g}, which are compared and drawn. {LEGEND}.",
        picture_rows(pictures, f"least stable first, then most stable; {LEGEND}"),
        [Table("examples", pd.DataFrame(rows), formats=formats)],
        observations.warnings,
    )


@dataclass(frozen=True, eq=False)
class Example:
    """One image with its stability.

    Parameters
    ----------
    source : str
        Of the image.
    image : ObservedImage
        Its boxes.
    stability : float
        Mean over repeats.
    mean_ap : float
        The mAP of the detector on this image alone, in [0, 1].
    """

    source: str
    image: ObservedImage
    stability: float
    mean_ap: float


def examples(
    observations: Observations,
    *,
    n_images: int = 4,
    per_source: int = 1,
    min_boxes: int = 2,
) -> tuple[list[Example], list[Example]]:
    """Choose the least and the most stable images, extreme ones first.

    Source: Yang et al. 2024, figures 1 and 5.

    Parameters
    ----------
    observations : Observations
        Boxes of each image.
    n_images : int
        Images of either kind.
    per_source : int
        Of either kind from one source, at most.
    min_boxes : int
        Clean boxes of an image, at least.

    Returns
    -------
    least, most : list of Example
        The least and the most stable ones.

    Raises
    ------
    InputError
        If no image has so many boxes.
    """
    ordered, stability = [], replace(observations.stability, empty="skip")
    for observed in observations.sets:
        for image in observed.images:
            clean, passes = image.evidence.clean, image.evidence.require("perturbed")
            n_boxes = len(clean.above(stability.score_thr))
            value = math.fsum(
                box_stability(clean, one_pass, stability) for one_pass in passes
            ) / len(passes)
            if n_boxes >= min_boxes and math.isfinite(value):
                ordered.append((value, observed.source, image))
    if not ordered:
        raise InputError(
            f"Expected images on which {min_boxes} boxes or more are found, with and without "
            "dropout, but there are none."
        )
    ordered.sort(key=lambda entry: (entry[0], entry[1], entry[2].evidence.image_id))

    def first(order: Sequence[tuple]) -> list[Example]:
        chosen = _first(order, n_images, per_source)
        return [
            Example(source, image, value, _mean_ap(image, observations.categories))
            for value, source, image in chosen
        ]

    return first(ordered), first(ordered[::-1])


def _first(entries: Sequence[tuple], n_images: int, per_source: int) -> list[tuple]:
    taken: dict[str, int] = {}
    chosen: list[tuple] = []
    for entry in entries:
        if len(chosen) < n_images and taken.get(entry[1], 0) < per_source:
            taken[entry[1]] = taken.get(entry[1], 0) + 1
            chosen.append(entry)
    return chosen


def _mean_ap(image: ObservedImage, categories: Sequence[str]) -> float:
    metric = MeanAP(tuple(categories))
    metric.update(image.evidence.clean, image.boxes, image.labels, image.iscrowd)
    return metric.compute()["mAP"]
