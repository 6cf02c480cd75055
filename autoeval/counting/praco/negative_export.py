"""PrACo's negative-label test as a task for lmms-eval.

Models that answer in words give counts without places, so that the mosaic test is not for them.
"""

from __future__ import annotations

import os
from pathlib import Path

from autoeval.counting.lmms_eval import praco_task
from autoeval.counting.lmms_eval.task_files import write_task, write_utils
from autoeval.counting.praco.data import CountingSet
from autoeval.errors import InputError

QUESTION = "How many {} are there in the image? Answer with a number; 0 if there are none."
_COLUMNS = {
    **dict.fromkeys(("image_path", "image_id", "class", "question", "target"), str),
    "own": bool,
    "count": int,
}
_METRICS = {
    "nmn": ("!function utils.aggregate_nmn", False),
    "pccn": ("!function utils.aggregate_pccn", True),
    "pccn_released": ("!function utils.aggregate_pccn_released", True),
    "mae": ("!function utils.aggregate_mae", False),
    "rmse": ("!function utils.aggregate_rmse", False),
    "skipped": ("mean", False),
}


def export_praco(
    counting_set: CountingSet,
    folder: str | os.PathLike[str],
    *,
    question: str = QUESTION,
    max_tokens: int = 256,
) -> str:
    """Write the task, for ``lmms-eval --include_path FOLDER --tasks NAME``.

    Parameters
    ----------
    counting_set : CountingSet
        Of images of one class each. Every measured image is asked about with every class.
    folder : path-like
        The YAML file names its data, and the data the images, by absolute paths: export again
        after moving either.
    question : str
        Template, with ``{}`` for the class.
    max_tokens : int
        Most tokens of an answer.

    Raises
    ------
    InputError
        If the question has no place for the class.
    """
    if "{}" not in question:
        raise InputError(f"The question needs {{}} where the class goes, but got {question!r}.")
    folder = Path(folder).resolve()
    rows = [
        {
            "image_path": str(image.path.resolve()),
            "image_id": image.image_id,
            "class": name,
            "question": question.format(name),
            "target": str(image.count if name == image.category else 0),
            "own": name == image.category,
            "count": image.count,
        }
        for image in counting_set.kept
        for name in counting_set.classes
    ]
    name = "praco_" + "".join(c if c.isalnum() else "_" for c in counting_set.name)
    write_task(
        folder,
        name,
        rows,
        _COLUMNS,
        process="process_count",
        metrics=_METRICS,
        max_tokens=max_tokens,
    )
    write_utils(folder, praco_task.__name__, praco_task.__all__)
    return name
