"""What `autoeval label plan` and `label estimate` print and write."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoeval.commands.estimate import LABELS
from autoeval.errors import InputError
from autoeval.labels import PLAN
from autoeval.runtime.files import read_json

if TYPE_CHECKING:
    from autoeval.commands.command_line import Invocation
    from autoeval.labels.labelled_estimate import LabelledEstimate
    from autoeval.labels.plan import LabelPlan
    from autoeval.runtime.files import PathLike


def show_plan(
    plan: LabelPlan,
    invocation: Invocation,
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
    from autoeval.api.options import load_estimator
    from autoeval.report.labels import plan_page, plan_text, plan_values
    from autoeval.report.page import PAGE, about, print_result, written_files

    folder, typed = Path(work_dir), invocation.values
    spec = load_estimator(typed["estimator"]).loading_.get("detector")
    names = ("images", "predictions", "detector", "checkpoint", "estimator")
    facts = about(invocation.command_line, spec=spec, **{name: typed[name] for name in names})
    values, step = plan_values(plan, facts), ""
    print_result(plan_text(plan, verbose=verbose), values)
    written = [*plan.files, *plan_page(plan, facts).write(folder / PAGE, values)]
    if typed["compare"] is None:  # else `compare` takes the labels
        words = ["autoeval", "label", "estimate", "--plan", folder, "--labels", "LABELS"]
        step = shlex.join(map(str, words))
    print(f"\n{written_files(written, 'their labels', step)}")
    return 0


def show_labelled(
    estimate: LabelledEstimate,
    invocation: Invocation,
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
    from autoeval.labels.labelled_estimate import GOALS
    from autoeval.report.labels import labelled_page, labelled_text, labelled_values
    from autoeval.report.page import PAGE, about, print_result, written_files

    if until is not None and not 0 < until < float("inf"):
        raise InputError(f"Expected --until above 0 but got {until:g}.")
    plan = Path(invocation.values["plan"])
    plan = plan.parent if plan.name == PLAN else plan
    folder = Path(work_dir) if work_dir else plan / "estimate"
    if folder.resolve() == plan.resolve():
        raise InputError(
            f"Expected --work-dir as another folder than {plan}, the plan's own, whose result.json "
            "says what was drawn: leave it out."
        )
    page = plan / "result.json"
    of_draw = read_json(page, "result of the plan") if page.exists() else {}
    facts = of_draw.get("about", {})
    of_plan = {name: facts[name] for name in facts if name not in ("date", "command")}
    typed = about(invocation.command_line, labels=invocation.values["labels"])
    of_page = {"plan": str(plan)} | of_plan | typed
    n: int | None = None
    reached = ""
    if estimate.forecast_known:  # labels for the first half-width of the headline
        n_next = min(estimate.n_labelled + estimate.more_labels(GOALS[0]), estimate.n_pool)
        n = n_next if n_next > estimate.n_labelled else None
    wanted: dict[str, float | None] | None = None
    if until is not None:
        n, reached, wanted = _until(estimate, until / 100, len(of_draw.get("drawn", ())))
    values = labelled_values(estimate, of_page, wanted)
    goal = None if until is None else until / 100
    print_result(labelled_text(estimate, reached, goal, verbose=verbose), values, as_json=json)
    written = labelled_page(estimate, of_page, reached, goal).write(folder / PAGE, values)
    if not json:
        step = larger_plan(of_draw, n) if n else ""
        print(f"\n{written_files(written, 'images to label', step)}")
    return 0


def _until(
    estimate: LabelledEstimate, wanted: float, n_drawn: int
) -> tuple[int | None, str, dict[str, float | None]]:
    """Decide whether the wanted half-width, in [0, 1], is reached; see `next_batch`.

    `n_drawn` images are in the plan, labelled or not.

    Returns
    -------
    next_n : int, optional
        Labels to go on with, in all; None where it is reached or none is left.
    text : str
        A sentence.
    values : dict
        What JSON has: ``wanted``, ``half_width`` and ``next_n``; the last two are None where boxes
        contradict the labels.
    """
    from autoeval.labels.joint import next_batch
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
    return next_n, until_text(wanted, half, n, next_n, n_drawn), values


def larger_plan(of_draw: Mapping[str, Any], n: int) -> str:
    """Return the command that made a plan, for more images.

    Empty where it is not known, and where as many are drawn already: they lack labels alone.

    Parameters
    ----------
    of_draw : mapping
        Content of ``result.json`` in the folder of the plan.
    n : int
        How many images.

    Examples
    --------
    >>> command = "autoeval label plan --n 5 --estimator e.parquet"
    >>> larger_plan({"drawn": ["1", "2", "3", "4", "5"], "about": {"command": command}}, 9)
    'autoeval label plan --estimator e.parquet --n 9'
    """
    words = shlex.split(of_draw.get("about", {}).get("command", ""))
    if words[:3] != ["autoeval", "label", "plan"] or n <= len(of_draw.get("drawn", ())):
        return ""
    kept = [
        word
        for before, word in zip(["", *words], words, strict=False)
        if "--n" not in (before, word) and not word.startswith("--n=")
    ]
    return shlex.join(map(str, [*kept, "--n", n]))
