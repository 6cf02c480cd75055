"""Files of predicted counts by network, data set and minibatching scheme (binned counting)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from autoeval.counting.binning.paper import PUBLISHED
from autoeval.counting.predictions import read_predictions
from autoeval.counting.reproduce.printed_grid import printed_name

PathLike = str | os.PathLike[str]
SCHEMES = {"rs": "RS", "rr": "RR", "unbinned": "no binning"}
FORM = "DATASET_unbinned_tar_pred_error.txt (or rr, rs)"
_NAME = re.compile(rf"({'|'.join(PUBLISHED)})_({'|'.join(SCHEMES)})(_.+)?\.(txt|csv|parquet)")


@dataclass(frozen=True)
class CountFile:
    """Predicted counts of one network.

    Parameters
    ----------
    model : str
        As printed, where print has it.
    dataset : str
        Key of `PUBLISHED`.
    scheme : str
        Key of `SCHEMES`.
    path : Path
    """

    model: str
    dataset: str
    scheme: str
    path: Path

    def read(self) -> tuple[np.ndarray, np.ndarray]:
        """Return true and predicted counts (N,) of the images that have a prediction."""
        found = read_predictions(self.path)
        return found.target[found.answered], found.pred[found.answered]


def find_count_files(folders: Sequence[PathLike], models: Iterable[str]) -> list[CountFile]:
    """Find the files of all networks in folders and the folders within them."""
    known = dict.fromkeys(models)
    return [
        CountFile(_model(path, Path(folder), known, match), match[1], match[2], path)
        for folder in folders
        for path in [*sorted(Path(folder).glob("*")), *sorted(Path(folder).glob("*/*"))]
        if (match := _NAME.fullmatch(path.name))
    ]


def _model(path: Path, folder: Path, known: dict[str, None], match: re.Match[str]) -> str:
    name = printed_name(path.parent.name.removesuffix("_txt"), known)
    if path.parent != folder or name in known:
        return name
    return "BL" if match[3] else "DM-Count"
