"""Points from MATLAB files: ShanghaiTech, UCF-QNRF, NWPU-Crowd and JHU layouts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import loadmat

from autoeval.counting.truth.ground_truth import ImageTruth, truth_of_points
from autoeval.errors import InputError

POINT_NAMES = ("annPoints", "points", "gt")


def read_mat(path: Path) -> ImageTruth:
    """Read the points of one image.

    Parameters
    ----------
    path : Path
        Version 5 or 7 file with ``image_info`` (ShanghaiTech: a struct with ``location`` and
        ``number``), ``annPoints`` (UCF-QNRF, NWPU-Crowd), ``points`` or ``gt``; or, whatever its
        name, one table of numbers with two or more columns, x and y first.

    Raises
    ------
    InputError
        If the file cannot be read, holds no such points, or contradicts itself.
    """
    if not path.is_file():
        raise InputError(f"No file {path}: check the path.")
    try:
        content = {k: v for k, v in loadmat(path).items() if not k.startswith("__")}
    except NotImplementedError:
        raise InputError(f"{path} is a version 7.3 file: save it as version 7.") from None
    except Exception as error:
        raise InputError(f"Cannot read {path} as a MATLAB file: {error}.") from None
    try:
        points, stated = _points(content)
        truth = truth_of_points(points)
    except (LookupError, TypeError, ValueError) as error:
        raise InputError(
            f"{path}: expected 'image_info' with 'location', or a table of points named "
            f"{' or '.join(POINT_NAMES)}; it holds {', '.join(content) or 'nothing'} ({error})."
        ) from None
    if stated is not None and stated != truth.count:
        raise InputError(f"{path}: says number = {stated} but has {truth.count:.0f} points.")
    return truth


def image_id_of(path: Path) -> str:
    """Return the id of the image that an annotation file is about.

    Examples
    --------
    >>> [image_id_of(Path(n)) for n in ("GT_IMG_7.mat", "img_0001_ann.mat", "0042.mat")]
    ['IMG_7', 'img_0001', '0042']
    """
    return re.sub(r"^GT_|_ann$", "", path.stem)


def _points(content: dict[str, Any]) -> tuple[Any, int | None]:
    if "image_info" in content:
        info = content["image_info"][0, 0]
        return info["location"][0, 0], int(np.ravel(info["number"][0, 0])[0])
    for name in POINT_NAMES:
        if name in content:
            return content[name], None
    tables = [v for v in content.values() if np.ndim(v) == 2 and np.shape(v)[1] >= 2]
    if len(tables) != 1:
        raise LookupError(f"{len(tables)} tables of two or more columns")
    return tables[0], None
