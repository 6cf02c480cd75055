"""How many unlabelled images an estimate needs."""

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
    "test-set-size",
    "error by the number of test images",
    "errors_by_size.test_set_size_report",
    {**BY_METHOD, "sizes": NO_NUMBERS, "draws": 10},
    inputs=DATA,
    passes=PASS,
)
def size_of_test_set(run: StudyRun) -> StudyReport:
    """Estimate from fewer test images; the fit takes all sample sets."""
    observations = observed_boxes(run, one_task(run.args), sample_sets=True)
    return run.report(observations, **run.settings)
