"""Export PrACo's negative-label test as a task for lmms-eval."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from typing_extensions import Unpack

from autoeval.counting.commands.common_options import (
    SPLIT,
    PracoData,
    check_positive,
    check_praco_data,
)

if TYPE_CHECKING:
    from autoeval.runtime.files import PathLike


def export_negative_labels(
    *,
    data: PathLike,
    question: str | None = None,
    max_tokens: int = 256,
    limit: int | None = None,
    work_dir: PathLike = "praco_tasks",
    **of_data: Unpack[PracoData],
) -> None:
    """Export PrACo's negative-label test as a task for lmms-eval.

    Run it with `lmms-eval --include_path OUT --tasks NAME ...`, in an environment that has this
    package (`pip install --no-deps` and Pillow suffice). Language models give counts without
    locations, which the mosaic test needs.

    Parameters
    ----------
    data : path-like
        What `autoeval count praco --data` takes, with its images.
    question : str, optional
        Template; {} is the class.
    max_tokens : int
        Longest reply.
    limit : int, optional
        The first images only.
    work_dir : path-like
        Where to write.
    **of_data
        See `PracoData`.
    """
    from autoeval.counting.lmms_eval_export import QUESTION, export_praco
    from autoeval.counting.praco.data import single_class
    from autoeval.counting.praco.data_kind import load_counting_set
    from autoeval.counting.praco.evaluation_page import data_notes

    check_praco_data(data, of_data)
    check_positive(max_tokens=max_tokens, limit=limit)
    counting_set = load_counting_set(
        data,
        split=of_data.get("split") or SPLIT,
        data_root=of_data.get("data_root"),
        exclude=of_data.get("exclude") or (),
    )
    counting_set = single_class(counting_set).first(limit)
    asked = QUESTION if question is None else question
    name = export_praco(counting_set, Path(work_dir), question=asked, max_tokens=max_tokens)
    n_images, n_classes = len(counting_set.kept), len(counting_set.classes)
    print(f"{n_images * n_classes} questions: {n_images} images, {n_classes} classes")
    for note in data_notes(counting_set):
        print(f"note: {note}")
    print(f"lmms-eval --include_path {work_dir} --tasks {name}")
