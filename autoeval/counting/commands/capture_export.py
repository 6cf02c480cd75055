"""Export CAPTURe as tasks for lmms-eval."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.counting.commands.common_options import check_positive

if TYPE_CHECKING:
    from autoeval.runtime.files import PathLike


def export_capture(
    split: PathLike,
    out: PathLike,
    *,
    task: Sequence[str] = ("total-original", "total-occluded"),
    prompts: PathLike | None = None,
    prompts_of: str = "default",
    max_tokens: int = 4096,
) -> None:
    """Export CAPTURe as tasks for lmms-eval.

    Run them with `lmms-eval --include_path OUT --tasks NAME ...`, in an environment that has this
    package (`pip install --no-deps` suffices: the scoring needs the standard library alone).

    Parameters
    ----------
    split : path-like
        Folder of a split.
    out : path-like
        Folder to write.
    task : sequence of str
        Tasks, as `count capture run` has them.
    prompts : path-like, optional
        Prompts (default: as shipped).
    prompts_of : str
        Model whose published prompts to use.
    max_tokens : int
        Longest answer.
    """
    from autoeval.counting.capture.split import open_split
    from autoeval.counting.capture.tasks import get_task, load_prompts
    from autoeval.counting.lmms_eval_export import export_lmms_eval

    check_positive(max_tokens=max_tokens)
    book = load_prompts(None if prompts is None else Path(prompts), model=prompts_of)
    tasks = [get_task(name) for name in task]
    split_there = open_split(Path(split))
    names = export_lmms_eval(split_there, tasks, book, Path(out), max_tokens=max_tokens)
    print(f"lmms-eval --include_path {out} --tasks {','.join(names)}")
