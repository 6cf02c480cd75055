"""Tables 1 and 2 of PrACo from prediction files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from autoeval.counting.praco.both_tests import evaluate_files
from autoeval.counting.praco.data import CountingSet, single_class
from autoeval.counting.praco.data_kind import load_counting_set
from autoeval.counting.praco.released_csv import find_released
from autoeval.counting.praco.result import PracoResult
from autoeval.counting.reproduce.printed_grid import beside, not_as_printed, printed_name
from autoeval.errors import InputError
from autoeval.report.printed_beside import Beside

PathLike = str | os.PathLike[str]


def praco_table(
    name: str,
    entry: Mapping[str, Any],
    data_root: PathLike | None,
    predictions: Sequence[PathLike],
    *,
    exclude: Sequence[PathLike] = (),
    mode: str = "released",
) -> tuple[Beside, list[str]]:
    """Measure the prediction files of one split.

    Parameters
    ----------
    name : str
        Of the table.
    entry : mapping
        The table in ``configs/papers/praco.py``.
    data_root : path-like, optional
        FSC-147's folder; its images are not needed.
    predictions : sequence of path-like
        Folders with files in the authors' form.
    exclude : sequence of path-like
        Lists of the images of several classes, which print leaves out.
    mode : {"released", "paper"}

    Returns
    -------
    table : Beside
        Without own figures where something is missing.
    missing : list of str
        What that is.
    """
    missing: list[str] = []
    results: list[PracoResult] = []
    try:
        found = _counting_set(data_root, entry["split"], exclude)
        results, missing = _results(found, predictions, mode)
    except InputError as error:
        missing.append(str(error))
    named = {printed_name(result.name, entry["rows"]): result for result in results}
    own = {
        (model, measure): value
        for model, result in named.items()
        for measure, value in result.measures().items()
    }
    return beside(name, entry, own, marks=_marks(entry, named, mode), notes=_notes(named)), missing


def _counting_set(
    data_root: PathLike | None, split: str, exclude: Sequence[PathLike]
) -> CountingSet:
    if data_root is None:
        raise InputError("No folder of FSC-147: give --data-root DIR.")
    found = load_counting_set(data_root, split=split, exclude=exclude, need_images=False)
    return single_class(found)


def _results(
    counting_set: CountingSet, predictions: Sequence[PathLike], mode: str
) -> tuple[list[PracoResult], list[str]]:
    """Measure each model; say of those that cannot be why."""
    split, results, problems = counting_set.name, [], []
    found = [each for folder in predictions for each in find_released(folder, split).items()]
    for model, path in found:
        try:
            results.append(evaluate_files(path.parent, model, counting_set, mode=mode))
        except InputError as error:
            problems.append(f"{model}: {error}")
    if not found:
        problems.append(f"No prediction file Inference_Test1_MODEL_{split}.csv.")
    return results, problems


def _marks(entry: Mapping[str, Any], results: Mapping[str, PracoResult], mode: str) -> str:
    counts = {
        model: len(result.images)
        for model, result in results.items()
        if len(result.images) != entry["images"]
    }
    return not_as_printed(
        *(f"{model} on {n} images ({entry['images']} in print)" for model, n in counts.items()),
        "measures as the paper defines them, not as its figures were made"
        if results and mode == "paper"
        else "",
    )


def _notes(results: Mapping[str, PracoResult]) -> list[str]:
    return [f"{model}: {note}" for model, result in results.items() for note in result.notes]
