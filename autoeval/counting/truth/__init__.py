"""True counts from whatever a data set comes with: points, boxes or plain numbers."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from autoeval.counting.count_columns import numbers, read_columns
from autoeval.counting.truth.ground_truth import (
    GroundTruth,
    ImageTruth,
    image_id_of,
    read_coco_counts,
    read_mat,
    truth_of_json,
    truth_of_points,
)
from autoeval.data.json_file import read_json
from autoeval.data.wording import listed
from autoeval.errors import InputError

__all__ = ["GroundTruth", "ImageTruth", "has_categories", "read_truth"]

FORMS = {2: ("id", "target"), 3: ("id", "target", "stratum")}


def read_truth(path: str | os.PathLike[str], category: str | None = None) -> GroundTruth:
    """Read true counts, telling the format by the file's suffix and content.

    Parameters
    ----------
    path : path-like
        CSV or Parquet of ``id,count[,stratum]``; JSON of points (by image id, FSC-147, NWPU-Crowd)
        or of COCO boxes; a ``.mat`` file (ShanghaiTech, UCF-QNRF, NWPU-Crowd); or a folder with one
        ``.mat``, ``.json`` or ``.txt`` (JHU-Crowd++: lines of ``x y w h o b``) an image.
    category : str, optional
        Category to count, for COCO boxes; all by default.

    Raises
    ------
    InputError
        If there is nothing to read, it is malformed, or `category` is given for a format without
        categories.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "points.json"
    ...     _ = file.write_text('{"a.jpg": [[1, 2], [3, 4]], "b.jpg": []}')
    ...     read_truth(file).counts
    {'a.jpg': 2.0, 'b.jpg': 0.0}
    """
    path = Path(path)
    content = read_json(path) if path.suffix == ".json" and not path.is_dir() else None
    if _is_coco(content):
        return read_coco_counts(path, category)
    if category is not None:
        raise InputError(
            f"A category ('{category}') can be chosen of COCO annotations only, and {path} holds "
            "none."
        )
    if path.is_dir():
        return _read_folder(path)
    if path.suffix == ".mat":
        return GroundTruth({image_id_of(path): read_mat(path)})
    return _read_counts(path) if content is None else truth_of_json(content, path)


def has_categories(path: str | os.PathLike[str]) -> bool:
    """Tell whether a file of true counts is one of COCO's, so that a category can be chosen."""
    path = Path(path)
    return path.suffix == ".json" and path.is_file() and _is_coco(read_json(path))


def _is_coco(content: object) -> bool:
    return isinstance(content, dict) and "images" in content and "annotations" in content


def _read_counts(path: Path) -> GroundTruth:
    frame = read_columns(path, FORMS)
    if "target" not in frame:
        raise InputError(f"{path} has no column 'count' or 'target'.")
    counts = numbers(path, frame, "target")
    bad = frame["id"][np.isnan(counts) | (counts < 0)].tolist()
    if bad:
        raise InputError(
            f"{path}: a true count must be a number from 0 up, but {len(bad)} are missing or "
            f"negative (ids: {listed(bad)})."
        )
    return GroundTruth(
        {i: ImageTruth(float(count)) for i, count in zip(frame["id"], counts, strict=True)}
    )


def _read_folder(folder: Path) -> GroundTruth:
    for suffix in (".mat", ".json", ".txt"):
        files = sorted(folder.glob(f"*{suffix}"))
        if files:
            break
    else:
        raise InputError(f"{folder} holds no .mat, .json or .txt file of points.")
    images: dict[str, ImageTruth] = {}
    for file in files:
        for image_id, truth in _read_one(file).items():
            if image_id in images:
                raise InputError(
                    f"{folder}: image {image_id} appears twice (again in {file.name})."
                )
            images[image_id] = truth
    return GroundTruth(images)


def _read_one(file: Path) -> dict[str, ImageTruth]:
    if file.suffix == ".mat":
        return {image_id_of(file): read_mat(file)}
    if file.suffix == ".json":
        return dict(truth_of_json(read_json(file), file).images)
    try:
        lines = [line.split() for line in file.read_text(encoding="utf-8").splitlines()]
        return {file.stem: truth_of_points([[float(f) for f in line] for line in lines if line])}
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: expected lines of 'x y w h o b': {error}.") from None
