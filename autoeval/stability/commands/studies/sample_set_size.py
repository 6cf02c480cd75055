"""How many images a sample set needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoeval.stability.commands.studies.inputs import (
    BY_METHOD,
    DATA,
    NO_NUMBERS,
    PASS,
    observed_boxes,
    one_task,
)
from autoeval.stability.commands.studies.registry import StudyRun, study

if TYPE_CHECKING:
    from autoeval.stability.reports.study_report import StudyReport


@study(
    "sample-set-size",
    "error by the images in a sample set",
    "errors_by_size.sample_set_size_report",
    {**BY_METHOD, "sizes": NO_NUMBERS, "draws": 5},
    inputs=DATA,
    passes=PASS,
)
def sample_set_size(run: StudyRun) -> StudyReport:
    """Fit on smaller sample sets."""
    observations = observed_boxes(run, one_task(run.args), sample_sets=True)
    return run.report(observations, **run.settings)
