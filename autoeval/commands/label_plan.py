"""What `autoeval label plan` prints and writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.commands.estimate import site_facts
from autoeval.commands.next_step import LABELS, after_plan

if TYPE_CHECKING:
    from autoeval.commands.command_line import Given
    from autoeval.labels.plan import LabelPlan
    from autoeval.runtime.files import PathLike


def show(
    plan: LabelPlan,
    given: Given,
    *,
    work_dir: PathLike = LABELS,
    verbose: bool = False,
) -> int:
    """Print which images to label and what to expect, and write the page.

    Parameters
    ----------
    verbose : bool
        Print everything.
    """
    from autoeval.api.estimator_paths import load_estimator
    from autoeval.report.labels import plan_page, plan_text, plan_values
    from autoeval.report.text import print_result

    folder, typed = Path(work_dir), given.values
    facts = site_facts(given, load_estimator(typed["estimator"]), estimator=typed["estimator"])
    print_result(
        plan_text(plan, verbose=verbose),
        plan_values(plan, facts),
        folder,
        lambda: plan_page(plan, facts),
        before=plan.files,
        next_step=("their labels", after_plan(folder, typed["compare"] is not None)),
    )
    return 0
