"""The images whose boxes are the least and the most stable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoeval.stability.commands.studies.inputs import DATA, PASS, observed_boxes, one_task
from autoeval.stability.commands.studies.registry import StudyRun, study

if TYPE_CHECKING:
    from autoeval.stability.reports.study_report import StudyReport


@study(
    "examples",
    "the least and the most stable images, with their boxes",
    "image_examples.examples_report",
    {"most": 4, "per_source": 1, "min_boxes": 2},
    inputs=DATA,
    passes=PASS,
)
def examples(run: StudyRun) -> StudyReport:
    """Draw the images, which the task says where to find."""
    task = one_task(run.args)
    return run.report(observed_boxes(run, task), task, **run.settings)
