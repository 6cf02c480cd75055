"""At which sites another detector would be better: by its predictions, or run on their images."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pandas as pd

from autoeval.comparison.common_ground import check_fits
from autoeval.comparison.compare_sites import compare_sites
from autoeval.comparison.comparison import distinguishable
from autoeval.data.predictions.reading import files_by_place
from autoeval.data.wording import listed
from autoeval.errors import InputError
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.site import Categories, Site
from autoeval.estimation.site_boxes import PathLike, SiteBoxes
from autoeval.monitoring.site_records import RecordStore
from autoeval.monitoring.times.periods import in_time

ReadSites = Callable[[], tuple[Site, Site]]
CURRENT, CANDIDATE = "current", "candidate"
COLUMNS = ["site", "n_images", "difference", "lower", "upper", "p_better", "result"]


def compare_at_sites(
    current: AccuracyEstimator,
    candidate: AccuracyEstimator,
    sites: Mapping[str, ReadSites],
    *,
    categories: Categories | None = None,
    level: float = 0.9,
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Compare two detectors at every site.

    Parameters
    ----------
    current, candidate : AccuracyEstimator
    sites : mapping of str to callable
        By name; each reads what both detectors found there. See `sites_of_predictions` and
        `sites_of_records`.
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
        If they are of different targets or not of the default method.
    """
    candidate = candidate.for_target(current.target)
    fits = {CURRENT: current, CANDIDATE: candidate}
    check_fits(fits)
    rows, problems = [], []
    for site, read in sites.items():
        try:
            found = dict(zip(fits, read(), strict=True))
            result = compare_sites(fits, found, categories=categories, level=level)
        except InputError as error:
            problems.append(f"{site}: {error}")
            continue
        rows.append({"site": site, "n_images": result.n_images, **_of_candidate(result.overall)})
    table = pd.DataFrame(rows, columns=COLUMNS)
    return table.sort_values("difference", ascending=False, ignore_index=True), tuple(problems)


def sites_of_predictions(
    current: AccuracyEstimator,
    candidate: AccuracyEstimator,
    predictions: PathLike,
    against: PathLike,
    *,
    images_list: PathLike | None = None,
    categories: Categories | None = None,
) -> tuple[dict[str, ReadSites], tuple[str, ...]]:
    """Find the sites of which there are predictions of both detectors.

    Parameters
    ----------
    current, candidate, categories
        See `compare_at_sites`.
    predictions, against : path-like
        Folders with ``SITE.json`` of each.
    images_list : path-like, optional
        Folder with ``SITE.txt``, ``SITE.json`` or a folder ``SITE``: all images of a site.

    Returns
    -------
    dict of str to callable
        See `compare_at_sites`.
    tuple of str
        Sites without predictions of the candidate.

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

    def read(site: str) -> tuple[Site, Site]:
        images = _images_of(site, images_list)
        first, second = (
            fitted.read_site(path, images=images, categories=categories)
            for fitted, path in ((current, mine[site]), (candidate, other[site]))
        )
        return first, second

    lost = tuple(f"{site}: no predictions of the candidate" for site in mine if site not in other)
    return {site: partial(read, site) for site in common}, lost


def sites_of_records(
    current: RecordStore, candidate: RecordStore, categories: Categories
) -> dict[str, ReadSites]:
    """Find the sites whose images both detectors have observed.

    Parameters
    ----------
    current, candidate : RecordStore
        What each left of the same images.
    categories : mapping of str to sequence of str
        Which the labels of their records index.

    Returns
    -------
    dict of str to callable
        See `compare_at_sites`.
    """
    indices = current.index(), candidate.index()

    def read(site: str) -> tuple[Site, Site]:
        first, second = (
            _site_of_records(store, index[index["group"] == site], categories)
            for store, index in zip((current, candidate), indices, strict=True)
        )
        return first, second

    return {str(site): partial(read, str(site)) for site in indices[0]["group"].unique()}


def _site_of_records(store: RecordStore, index: pd.DataFrame, categories: Categories) -> Site:
    evidence = [record.evidence() for record in store.read(in_time(index))]
    return Site(SiteBoxes.of_evidence(evidence, tuple(categories)), named=True)


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


def _folder(path: PathLike) -> Path:
    if not Path(path).is_dir():
        raise InputError(
            f"{path} is no folder: --against compares folders with SITE.json for each site."
        )
    return Path(path)


def _images_of(site: str, folder: PathLike | None) -> Path | None:
    if folder is None:
        return None
    candidates = (Path(folder) / name for name in (f"{site}.txt", f"{site}.json", site))
    return next((path for path in candidates if path.exists()), None)
