"""What `autoeval fit` prints and writes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.commands.next_step import after_fit
from autoeval.runtime.files import alone_in

if TYPE_CHECKING:
    from autoeval.commands.command_line import Given
    from autoeval.estimation.estimator import AccuracyEstimator
    from autoeval.runtime.files import PathLike


def show(
    estimator: AccuracyEstimator,
    given: Given,
    *,
    work_dir: PathLike = "work_dirs/fit",
    json: bool = False,
    verbose: bool = False,
) -> int:
    """Print how accurate a fit is on what it has not seen, and write its page.

    Parameters
    ----------
    json : bool
        Print the result as JSON.
    verbose : bool
        Print everything.
    """
    from autoeval.api.fit_functions import seen_in_training, write_fit_outputs
    from autoeval.report.fit import fit_page, fit_text, fit_values
    from autoeval.report.text import about, print_result

    folder, typed = Path(work_dir), given.values
    result = estimator.fit_result_
    assert result is not None
    if typed["labels"] and typed["detector"]:
        warnings = tuple(seen_in_training(estimator, typed["labels"]))
        result = replace(result, warnings=(*result.warnings, *warnings))
        estimator = replace(estimator, fit_result_=result)
    facts = about(
        given.command_line,
        labels=typed["labels"],
        task=typed["task"],
        joined=", ".join(typed["join"]),
        predictions=typed["predictions"],
        detector=typed["detector"],
        checkpoint=typed["checkpoint"],
    )
    title = f"Joined: {', '.join(Path(path).name for path in typed['join'])}"
    if not typed["join"]:
        boxes = Path(typed["predictions"] or typed["detector"])
        title = f"{boxes.name} on {Path(typed['labels'] or typed['task']).name}"
    name = typed["detector"] or ""
    step = after_fit(given, folder, from_files=estimator.loading_.get("detector") is None)
    with alone_in(folder):
        # again: another fit may have written its own into this folder since
        write_fit_outputs(estimator, folder)
        print_result(
            fit_text(estimator, verbose=verbose),
            fit_values(estimator, detector=name, about=facts),
            folder,
            lambda: fit_page(title, estimator, detector=name, about=facts),
            as_json=json,
            before=result.files,
            next_step=("new images", step),
        )
    return 0
