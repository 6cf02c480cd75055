"""Reading the prediction files of the models that PrACo's tables and figures compare."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from autoeval.counting.praco.both_tests import evaluate_files
from autoeval.counting.praco.data import CountingSet, single_class
from autoeval.counting.praco.data_kind import load_counting_set
from autoeval.counting.praco.released_csv import NEGATIVE, file_name, find_released
from autoeval.counting.praco.result import PracoResult
from autoeval.counting.reproduce.printed_grid import printed_name
from autoeval.errors import InputError

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class PracoModels:
    """Measured models by the name that print has for them, and what is missing."""

    results: Mapping[str, PracoResult]
    missing: Sequence[str]


def read_models(
    data_root: PathLike | None,
    predictions: Sequence[PathLike],
    split: str,
    *,
    known: Iterable[str] = (),
    by_folder: str | None = None,
    exclude: Sequence[PathLike] = (),
    mode: str = "paper",
) -> PracoModels:
    """Measure the prediction files of one split.

    Parameters
    ----------
    data_root : path-like, optional
        FSC-147's folder; its images are not needed.
    predictions : sequence of path-like
        Folders with files in the authors' form, or with a folder of them for each model.
    split : str
    known : iterable of str
        Names in print, which replace those of files whatever their case and hyphens.
    by_folder : str, optional
        A model that several folders hold files of, one for each setting: these are named after the
        folder, and only those in `known` are measured.
    exclude : sequence of path-like
        Lists of the images of several classes, which print leaves out.
    mode : {"paper", "released"}
    """
    names = dict.fromkeys(known)
    try:
        found = _counting_set(data_root, split, exclude)
    except InputError as error:
        return PracoModels({}, [str(error)])
    files = _in_folders(predictions, by_folder, split) if by_folder else _all(predictions, split)
    results, problems = {}, []
    for model, path in files:
        name = printed_name(path.parent.name if by_folder else model, names)
        if by_folder and name not in names:
            continue
        try:
            results[name] = evaluate_files(path.parent, model, found, mode=mode)
        except InputError as error:
            problems.append(f"{name}: {error}")
    if not results and not problems:
        inside = f"{' or '.join(names)}/" if by_folder else ""
        problems.append(
            f"No prediction file {inside}{file_name(NEGATIVE, by_folder or 'MODEL', split)}."
        )
    return PracoModels(results, problems)


def _counting_set(
    data_root: PathLike | None, split: str, exclude: Sequence[PathLike]
) -> CountingSet:
    if data_root is None:
        raise InputError("No folder of FSC-147: give --data-root DIR.")
    found = load_counting_set(data_root, split=split, exclude=exclude, need_images=False)
    return single_class(found)


def _all(folders: Sequence[PathLike], split: str) -> list[tuple[str, Path]]:
    return [each for folder in folders for each in find_released(folder, split).items()]


def _in_folders(folders: Sequence[PathLike], model: str, split: str) -> list[tuple[str, Path]]:
    name = file_name(NEGATIVE, model, split)
    return [
        (model, path)
        for folder in folders
        for path in [*Path(folder).glob(name), *sorted(Path(folder).glob(f"*/{name}"))]
    ]
