"""What `autoeval compare` prints and writes, and the status of a gate."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from autoeval.commands.estimate import LABELS, N_LABELS, repeated_for_plan, unused_folder
from autoeval.commands.labels import larger_plan
from autoeval.errors import InputError
from autoeval.runtime.files import read_json

if TYPE_CHECKING:
    from autoeval.commands.command_line import Invocation
    from autoeval.comparison.comparison import Comparison, Gate
    from autoeval.runtime.files import PathLike

HOW_READ = ("names", "numbering", "columns")
STATUS = {"passed": 0, "failed": 3, "undecided": 4}  # of a gate


@contextmanager
def around(invocation: Invocation) -> Iterator[dict[str, Any]]:
    """Refuse, before anything is read, a gate that cannot fail.

    Parameters
    ----------
    invocation : Invocation
        What was typed.

    Raises
    ------
    InputError
        If `--max-loss` is out of range, or `--undecided` has no gate.
    """
    from autoeval.comparison.comparison import check_max_loss

    max_loss = invocation.values["max_loss"]
    if max_loss is not None:
        check_max_loss(max_loss / 100)
    elif invocation.values["undecided"]:
        raise InputError("--undecided is about a gate: give --max-loss, too, or leave it out.")
    yield {}


def show(
    result: Comparison,
    invocation: Invocation,
    *,
    max_loss: float | None = None,
    undecided: Literal["pass", "fail"] | None = None,
    markdown: PathLike | None = None,
    work_dir: PathLike = "work_dirs/compare",
    json: bool = False,
    verbose: bool = False,
) -> int:
    """Print which detector is better, and write the page.

    Parameters
    ----------
    max_loss : float, optional
        Release gate, in points of 100: the first detector may be worse than each other one by so
        many; status 0 where the interval excludes a larger loss, 3 where it excludes a smaller one,
        else 4.
    undecided : str, optional
        How an undecided gate ends: with status 0 or 3, not 4.
    markdown : path-like, optional
        Write the differences with their intervals for the summary of a pull request.
    json : bool
        Print the result as JSON.
    verbose : bool
        Print everything.
    """
    from autoeval.report.comparison import (
        comparison_markdown,
        comparison_page,
        comparison_text,
        comparison_values,
    )
    from autoeval.report.page import PAGE, about, print_result, written_files
    from autoeval.runtime.files import write_text

    typed = invocation.values
    gate = None if max_loss is None else result.gate(max_loss / 100)
    facts = about(
        invocation.command_line,
        detectors=", ".join(invocation.words["estimators"]),
        images=typed["images"],
        predictions=", ".join(typed["predictions"] or ()),
        labels=typed["labels"],
    )
    label_command = after_compare(invocation, result, gate)
    values = comparison_values(result, gate, facts, label_command)
    print_result(comparison_text(result, gate, verbose=verbose), values, as_json=json)
    written = comparison_page(result, gate, facts).write(Path(work_dir) / PAGE, values)
    if markdown:
        write_text(markdown, comparison_markdown(result, gate, label_command))
        written.append(Path(markdown))
    if not json:
        print(f"\n{written_files(written, 'images to label', label_command)}")
    if gate is None:
        return 0
    if gate.outcome == "undecided" and undecided:
        return STATUS["passed" if undecided == "pass" else "failed"]
    return STATUS[gate.outcome]


def after_compare(invocation: Invocation, result: Comparison, gate: Gate | None) -> str:
    """Return the command that plans labels of what shows the difference of two detectors.

    Of the best two, or of what leaves a gate undecided. There is none (an empty text) where these
    are decided, where images are labelled without a plan or come from standard input, where a
    detector is run, and where the files are read in different ways.

    Parameters
    ----------
    invocation : Invocation
        What was typed.
    result : Comparison
        Of the detectors that were given.
    gate : Gate or None
        Whether a candidate may replace the others.
    """
    from autoeval.api.compare_detectors import NOT_FILES
    from autoeval.api.options import load_estimator
    from autoeval.estimation.fit_file import artefact_path
    from autoeval.estimation.given import plan_folder_of
    from autoeval.io.image_lists import STANDARD_INPUT

    typed = invocation.values
    files = typed["predictions"] or [NOT_FILES]
    # of each file its own: a plan reads both files in one way
    if NOT_FILES in files or any(len(typed[name] or ()) > 1 for name in HOW_READ):
        return ""
    best, n = result.overall.iloc[0], N_LABELS
    a, b, decided = best["a"], best["b"], bool(best["distinguishable"])
    if gate is not None:
        a, b, decided = gate.candidate, gate.decisive.detector, gate.outcome != "undecided"
        n = gate.decisive.labels or n
    if decided:
        return ""
    if result.n_labelled:
        more = min(result.n_labelled + n, result.n_images)
        wanted = gate is not None and more > result.n_labelled
        return _more_of_plan(plan_folder_of(typed["labels"]), more) if wanted else ""
    if typed["target"] or typed["images"] in (None, STANDARD_INPUT):
        return ""
    named = typed["estimators"]
    folders = list(named.values() if isinstance(named, Mapping) else named)
    first, second = list(result.sites).index(a), list(result.sites).index(b)
    if any(load_estimator(folders[k]).assistance_ is None for k in (first, second)):
        return ""
    words = ["--estimator", artefact_path(folders[first]), "--compare", Path(folders[second])]
    words += ["--compare-predictions", files[second]]
    words += ["--predictions", files[first]]
    words += repeated_for_plan(invocation, ["predictions"])
    n = min(n, result.n_images)
    words = ["autoeval", "label", "plan", *words, "--n", n, "--work-dir", unused_folder(LABELS)]
    return shlex.join(map(str, words))


def _more_of_plan(folder: Path | None, n: int) -> str:
    """Return the command that lets the plan in a folder have `n` images; nothing without one."""
    if folder is None or not (page := folder / "result.json").exists():
        return ""
    return larger_plan(read_json(page, "result of the plan"), n)
