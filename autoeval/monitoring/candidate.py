"""At which sites another detector would be better: the same sites, by its predictions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from autoeval.comparison.compare_sites import compare_sites
from autoeval.comparison.comparison import distinguishable
from autoeval.data.predictions.reading import files_by_place
from autoeval.data.wording import listed
from autoeval.errors import InputError
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.site import Categories

CURRENT, CANDIDATE = "current", "candidate"
COLUMNS = ["site", "n_images", "difference", "lower", "upper", "p_better", "result"]


def compare_at_sites(
    current: AccuracyEstimator,
    candidate: AccuracyEstimator,
    predictions: str | os.PathLike[str],
    against: str | os.PathLike[str],
    *,
    images_list: str | os.PathLike[str] | None = None,
    categories: Categories | None = None,
    level: float = 0.9,
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Compare two detectors at every site.

    Parameters
    ----------
    current, candidate : AccuracyEstimator
    predictions, against : path-like
        Folders with ``SITE.json`` of each.
    images_list : path-like, optional
        Folder with ``SITE.txt``, ``SITE.json`` or a folder ``SITE``: all images of a site.
    categories : mapping of str to sequence of str, optional
        See `AccuracyEstimator.predict`.
    level : float
        Nominal coverage of the intervals.

    Returns
    -------
    DataFrame
        One row a site, the greatest gain first: ``site``, ``n_images``, ``difference`` (candidate
        less current), ``lower``, ``upper``, ``p_better`` (that the candidate is), and ``result``:
        ``better``, ``worse`` or ``not distinguishable``.
    tuple of str
        Sites that could not be compared, and why.

    Raises
    ------
    InputError
        If a path is no folder, or no site is in both.
    """
    mine, other = (files_by_place(_folder(path)) for path in (predictions, against))
    common = [site for site in mine if site in other]
    if not common:
        raise InputError(
            f"No site is both in {predictions} ({listed(mine)}) and in {against} ({listed(other)})."
        )
    rows, problems = (
        [],
        [f"{site}: no predictions of the candidate" for site in mine if site not in other],
    )
    for site in common:
        images = _images_of(site, images_list)
        try:
            files = ((CURRENT, current, mine[site]), (CANDIDATE, candidate, other[site]))
            sites = {
                name: fitted.read_site(path, images=images, categories=categories)
                for name, fitted, path in files
            }
            result = compare_sites(
                {CURRENT: current, CANDIDATE: candidate}, sites, categories=categories, level=level
            )
        except InputError as error:
            problems.append(f"{site}: {error}")
            continue
        rows.append({"site": site, "n_images": result.n_images, **_of_candidate(result.overall)})
    table = pd.DataFrame(rows, columns=COLUMNS)
    return table.sort_values("difference", ascending=False, ignore_index=True), tuple(problems)


def _of_candidate(pairs: pd.DataFrame) -> Mapping[str, object]:
    row = pairs.iloc[0].to_dict()
    sign = 1 if row["a"] == CANDIDATE else -1
    lower, upper = sorted(sign * row[name] for name in ("lower", "upper"))
    result = "better" if lower > 0 else "worse"
    return {
        "difference": sign * row["difference"],
        "lower": lower,
        "upper": upper,
        "p_better": row["p_better"] if sign > 0 else 1 - row["p_better"],
        "result": result if distinguishable(row) else "not distinguishable",
    }


def _folder(path: str | os.PathLike[str]) -> Path:
    if not Path(path).is_dir():
        raise InputError(
            f"{path} is no folder: --against compares folders with SITE.json for each site."
        )
    return Path(path)


def _images_of(site: str, folder: str | os.PathLike[str] | None) -> Path | None:
    if folder is None:
        return None
    candidates = (Path(folder) / name for name in (f"{site}.txt", f"{site}.json", site))
    return next((path for path in candidates if path.exists()), None)
