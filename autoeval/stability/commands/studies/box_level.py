"""Whether a box that stays put under dropout is a good box."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoeval.stability.commands.studies.inputs import DATA, PASS, observed_boxes, one_task
from autoeval.stability.commands.studies.registry import StudyRun, study

if TYPE_CHECKING:
    from autoeval.stability.reports.study_report import StudyReport


@study(
    "box-level",
    "is a box that stays put a good box",
    "box_quality.box_level_report",
    {},
    inputs=DATA,
    passes=PASS,
)
def box_level(run: StudyRun) -> StudyReport:
    """Compare stability and confidence of the boxes of the task's own images."""
    return run.report(observed_boxes(run, one_task(run.args)), **run.settings)
