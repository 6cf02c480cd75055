"""What `autoeval label estimate` prints and writes."""

from __future__ import annotations

from json import loads
from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.commands.next_step import larger_plan
from autoeval.errors import InputError

if TYPE_CHECKING:
    from autoeval.commands.command_line import Given
    from autoeval.labels.labelled_estimate import LabelledEstimate
    from autoeval.runtime.files import PathLike


def show(
    estimate: LabelledEstimate,
    given: Given,
    *,
    until: float | None = None,
    work_dir: PathLike | None = None,
    json: bool = False,
    verbose: bool = False,
) -> int:
    """Print an estimate with labels, and write its page.

    Parameters
    ----------
    until : float, optional
        Wanted half-width in points of 100: say whether it is reached, and how many to label next if
        not.
    work_dir : path-like, optional
        Folder for the report (default: estimate/ in the plan).
    json : bool
        Print the result as JSON.
    verbose : bool
        Print everything.
    """
    from autoeval.report.labels import labelled_page, labelled_text, labelled_values
    from autoeval.report.text import about, print_result

    if until is not None and not 0 < until < float("inf"):
        raise InputError(f"Expected --until above 0 but got {until:g}.")
    plan = Path(given.values["plan"])
    page = plan / "result.json"
    facts = loads(page.read_bytes()).get("about", {}) if page.exists() else {}
    of_plan = {name: facts[name] for name in facts if name not in ("date", "command")}
    typed = about(given.command_line, labels=given.values["labels"])
    of_page = {"plan": str(plan)} | of_plan | typed
    n, reached = _more(estimate), ""
    values: dict[str, float | None] | None = None
    if until is not None:
        n, reached, values = _until(estimate, until / 100)
    step = larger_plan(facts.get("command", ""), n) if n else ""
    print_result(
        labelled_text(estimate, reached, verbose=verbose),
        labelled_values(estimate, of_page, values),
        Path(work_dir) if work_dir else plan / "estimate",
        lambda: labelled_page(estimate, of_page),
        as_json=json,
        next_step=("images to label", step),
    )
    return 0


def _more(estimate: LabelledEstimate) -> int | None:
    """Return how many labels make the first of the half-widths that the headline has, if any do."""
    from autoeval.labels.labelled_estimate import GOALS

    if not estimate.forecast_known:
        return None
    n = min(estimate.n_labelled + estimate.more_labels(GOALS[0]), estimate.n_pool)
    return n if n > estimate.n_labelled else None


def _until(
    estimate: LabelledEstimate, wanted: float
) -> tuple[int | None, str, dict[str, float | None]]:
    """Decide whether the wanted half-width is reached.

    Returns how many labels to go on with, None for none; a sentence; and what JSON has.
    """
    from autoeval.labels.outlook import next_batch
    from autoeval.report.labels import until_text

    stop = next_batch(
        estimate.recommended,
        wanted,
        n_labelled=estimate.n_labelled,
        needed=estimate.outlook.needed(wanted),
        level=estimate.level,
    )
    half: float | None = stop.half_width
    n = min(estimate.n_labelled + stop.more, estimate.n_pool)
    next_n = None if stop.reached or n <= estimate.n_labelled else n
    if not estimate.forecast_known:
        half = next_n = None
    values = {"wanted": wanted, "half_width": half, "next_n": next_n}
    return next_n, until_text(wanted, half, n, next_n), values
