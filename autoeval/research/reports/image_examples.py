"""The images whose boxes stay put least and most, drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from autoeval.data.images import read_image
from autoeval.metasets.task import Task
from autoeval.report.embed import picture_rows
from autoeval.report.sections import Part, StudyReport
from autoeval.research.studies.examples import Example, examples
from autoeval.research.studies.observed import Observations
from autoeval.results.thumbnails import LEGEND, draw_boxes


def examples_report(
    observations: Observations,
    task: Task,
    *,
    most: int = 4,
    per_source: int = 1,
    min_boxes: int = 2,
) -> StudyReport:
    """Draw the least and the most stable images (Yang et al. 2024, figures 1 and 5)."""
    unstable, stable = examples(
        observations, n_images=most, per_source=per_source, min_boxes=min_boxes
    )
    paths = {
        (seed_set.name, record.image_id): record.path
        for seed_set in task.load_seed_sets()
        for record in seed_set.images
    }
    pictures = [_picture(example, paths) for example in (*unstable, *stable)]
    table = Part(
        "examples",
        _example_table({"least stable": unstable, "most stable": stable}),
        formats={"stability": "{:.2f}", "mAP": "{:.2f}"},
    )
    return StudyReport(
        "examples",
        "Images whose boxes stay put least and most",
        f"At most {per_source} of a source, own images with at least {min_boxes} boxes. {LEGEND}.",
        picture_rows(pictures, f"least stable first, then most stable; {LEGEND}"),
        [table],
        observations.warnings,
    )


def _picture(example: Example, paths: dict[tuple[str, str], Path]) -> tuple[np.ndarray, str]:
    evidence = example.image.evidence
    path = paths[example.source, evidence.image_id]
    drawn = draw_boxes(read_image(path), evidence.clean, evidence.perturbed)
    return drawn, f"{example.source}\nstability {example.stability:.2f}, mAP {example.mean_ap:.2f}"


def _example_table(kinds: dict[str, list[Example]]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "kind": kind,
                "source": example.source,
                "image": example.image.evidence.image_id,
                "stability": example.stability,
                "mAP": example.mean_ap,
                "boxes": len(example.image.evidence.clean),
                "true boxes": len(example.image.boxes),
            }
            for kind, chosen in kinds.items()
            for example in chosen
        ]
    )
