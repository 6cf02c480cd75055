"""Bins that results have been published on, by the name of the data set."""

from __future__ import annotations

from pathlib import Path

from autoeval.counting.binning.bins import CountBins, load_bins
from autoeval.counting.binning.paper import released_bins
from autoeval.errors import InputError

# Smallest and largest count of training images, and gamma. The authors list the edges of the first
# four; those of JHU are not published, but these reproduce its figures in the paper's Table II.
PUBLISHED = {
    "nwpu": (0, 15426, 0.6),
    "ucf": (49, 12865, 0.6),
    "sta": (33, 3139, 0.6),
    "stb": (13, 578, 0.6),
    "jhu": (0, 25791, 0.1),
}


def published_bins(name: str) -> CountBins:
    """Return the bins of NWPU-Crowd, UCF-QNRF, ShanghaiTech A or B, or JHU-Crowd++.

    Parameters
    ----------
    name : {"nwpu", "ucf", "sta", "stb", "jhu"}

    Raises
    ------
    InputError
        If there is no such name.

    Examples
    --------
    >>> published_bins("stb").edges[:6]
    (13.0, 13.5, 15.5, 19.5, 25.5, 36.5)
    """
    if name not in PUBLISHED:
        raise InputError(f"No published bins '{name}': there are {', '.join(PUBLISHED)}.")
    bins = released_bins(*PUBLISHED[name])
    return CountBins(bins.edges, {**bins.origin, "data_set": name})


def find_bins(name: str, list_name: str | None = None) -> CountBins:
    """Return published bins, or read a JSON file.

    Parameters
    ----------
    name : str
        A key of `PUBLISHED`, unless there is a file of that name; or the path of a file.
    list_name : str, optional
        Which of several lists in a file; see `load_bins`.

    Raises
    ------
    InputError
        If there is no such file, or it holds no bins.
    """
    if name in PUBLISHED and not Path(name).exists():
        return published_bins(name)
    return load_bins(name, list_name)
