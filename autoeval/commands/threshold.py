"""What `autoeval threshold` prints and writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autoeval.commands.command_line import Given
    from autoeval.estimation.threshold_choice import ThresholdChoice
    from autoeval.runtime.files import PathLike


def show(
    choice: ThresholdChoice,
    given: Given,
    *,
    work_dir: PathLike = "work_dirs/threshold",
    json: bool = False,
    verbose: bool = False,
) -> int:
    """Print the threshold with the curve that it was chosen from, and write its page.

    Parameters
    ----------
    json : bool
        Print the result as JSON.
    verbose : bool
        Print everything.
    """
    from autoeval.api.estimator_paths import load_estimator
    from autoeval.report.text import about, print_result
    from autoeval.report.threshold import choice_page, choice_text, choice_values

    typed = given.values
    names = ("images", "predictions", "labels", "plan", "estimator", "detector")
    facts = about(given.command_line, **{name: typed[name] for name in names})
    fitted = typed["estimator"] and load_estimator(typed["estimator"])
    of_fit = fitted.looks_.warnings if fitted else ()
    print_result(
        choice_text(choice, verbose=verbose, of_fit=of_fit),
        choice_values(choice, facts),
        Path(work_dir),
        lambda: choice_page(choice, facts),
        as_json=json,
    )
    return 0
