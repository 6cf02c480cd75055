"""What `autoeval compare` prints and writes, and the status of a gate."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from autoeval.commands.next_step import after_compare
from autoeval.errors import InputError

if TYPE_CHECKING:
    from autoeval.commands.command_line import Given
    from autoeval.comparison.comparison import Comparison, Gate
    from autoeval.runtime.files import PathLike

STATUS = {"passed": 0, "failed": 3, "undecided": 4}  # of a gate


@contextmanager
def around(given: Given) -> Iterator[None]:
    """Refuse, before anything is read, a gate that cannot fail."""
    from autoeval.comparison.comparison import check_max_loss

    max_loss = given.values["max_loss"]
    if max_loss is not None:
        check_max_loss(max_loss / 100)
    elif given.values["undecided"]:
        raise InputError("--undecided is about a gate: give --max-loss, too, or leave it out.")
    yield


def show(
    result: Comparison,
    given: Given,
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
    from autoeval.api import named_estimators
    from autoeval.report.comparison import comparison_page, comparison_text, comparison_values
    from autoeval.report.text import about, print_result

    typed = given.values
    fits = named_estimators(typed["estimators"])
    gate = None if max_loss is None else result.gate(max_loss / 100, next(iter(fits)))
    facts = about(
        given.command_line,
        detectors=", ".join(given.words["estimators"]),
        images=typed["images"],
        predictions=", ".join(typed["predictions"] or ()),
        labels=typed["labels"],
    )
    label_command = after_compare(given, fits, result, gate)
    print_result(
        comparison_text(result, gate, verbose=verbose),
        comparison_values(result, gate, facts, label_command),
        Path(work_dir),
        lambda: comparison_page(result, gate, facts),
        as_json=json,
        more=partial(_markdown, markdown, result, gate, label_command) if markdown else tuple,
        next_step=("images to label", label_command),
    )
    if gate is None:
        return 0
    if gate.outcome == "undecided" and undecided:
        return STATUS["passed" if undecided == "pass" else "failed"]
    return STATUS[gate.outcome]


def _markdown(
    path: PathLike, result: Comparison, gate: Gate | None, label_command: str
) -> list[Path]:
    """Write the summary in Markdown; return its file."""
    from autoeval.report.comparison import comparison_markdown
    from autoeval.runtime.files import write_text

    write_text(path, comparison_markdown(result, gate, label_command))
    return [Path(path)]
