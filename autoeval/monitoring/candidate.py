"""At which sites another detector would be better: by its predictions, or run on their images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from autoeval.comparison.common_ground import check_fits
from autoeval.comparison.compare_sites import DetectorFacts, compare_sites
from autoeval.errors import InputError
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.given import Predictions
from autoeval.io.predictions.category_words import read_names
from autoeval.model.pair_table import REFERENCE_AP
from autoeval.monitoring.monitor_store import MonitorStore, copied_files, site_of
from autoeval.monitoring.monitored import SiteCategories
from autoeval.monitoring.read_sites import each_once, find_results
from autoeval.monitoring.windows import in_time
from autoeval.runtime.files import PathLike
from autoeval.sites.site import Site
from autoeval.words import Notice, listed

ReadSites = Callable[[], tuple[Site, Site]]
CURRENT = "current"
CANDIDATE = "candidate"
COLUMNS = ["site", "n_images", "difference", "lower", "upper", "p_better", "result"]
# Warnings of a comparison that are about its site. Those of the boxes of the candidate alone are
# given, too, but for notes. Others of the current detector, or of both, a monitor gives by itself.
NAMED = (
    "category-not-common",
    "detectors-elsewhere",
    "images-not-common",
    "images-of-the-fit",
    "same-boxes",
)
OF_KNOWN = ["known", "by_known", "by_known_lower", "by_known_upper"]


def compare_at_sites(
    current: AccuracyEstimator,
    candidate: AccuracyEstimator,
    sites: Mapping[str, ReadSites],
    *,
    level: float = 0.9,
    known: Mapping[str, float] | None = None,
) -> tuple[pd.DataFrame, tuple[Notice, ...]]:
    """Compare two detectors at every site.

    Parameters
    ----------
    current, candidate : AccuracyEstimator
        Fits of both.
    sites : mapping of str to callable
        By name, what reads what both detectors found there; see `sites_of_predictions` and
        `sites_of_records`.
    level : float
        Nominal coverage of the intervals.
    known : mapping of str to float, optional
        Accuracy of the candidate, in [0, 1], at sites where it was measured.

    Returns
    -------
    table : DataFrame
        One row a site, the greatest gain first: ``site``, ``n_images``, ``difference`` (candidate
        less current, in [-1, 1]), ``lower``, ``upper``, ``p_better`` (that the candidate is), and
        ``result``: ``better``, ``worse`` or ``not distinguishable``. With `known` also ``known``,
        and what follows from it for the current detector, known less difference, as ``by_known``
        with ``by_known_lower`` and ``by_known_upper``: NaN at other sites. It is of the same images
        and categories.
    warnings : tuple of Notice
        Which sites, or categories of a site, could not be compared, and why; what is odd about the
        boxes of the candidate.

    Raises
    ------
    InputError
        If `check_fits` refuses the estimators, or `known` names another site or is not in [0, 1].
    """
    known = known or {}
    candidate = candidate.for_target(current.target)
    fits = {CURRENT: current, CANDIDATE: candidate}
    check_fits(fits)
    if unknown := [site for site in known if site not in sites]:
        raise InputError(
            f"--against-known names {listed(unknown)}. Expected sites where both detectors "
            f"were run: {listed(list(sites), 10)}."
        )
    for value in known.values():
        check_fits(fits, accuracy={CANDIDATE: value})
    rows, warnings, of_sites = [], list[Notice](), dict[str, list[Notice]]()
    for site, read in sites.items():
        try:
            sites_of_both = dict(zip(fits, read(), strict=True))
            known_accuracy = {CANDIDATE: known[site]} if site in known else {}
            result = compare_sites(
                fits,
                sites_of_both,
                facts=DetectorFacts(accuracy=known_accuracy),
                level=level,
            )
        except InputError as error:
            warnings.append(Notice("site-not-compared", f"{site}: {error}"))
            continue
        rows.append({"site": site, "n_images": result.n_images, **_of_candidate(result.overall)})
        of_sites[site] = [
            warning
            for warning in result.warnings
            if warning.code in NAMED
            or (warning.severity != "note" and warning.startswith(f"{CANDIDATE}: "))
        ]
        if known_accuracy:
            rows[-1] |= _of_current(result.ranking, known[site])
    table = pd.DataFrame(rows, columns=[*COLUMNS, *(OF_KNOWN if known else ())])
    warnings += each_once(of_sites)
    return table.sort_values("difference", ascending=False, ignore_index=True), tuple(warnings)


def sites_of_predictions(
    current: AccuracyEstimator,
    candidate: AccuracyEstimator,
    files: Predictions,
    against: PathLike,
    categories: SiteCategories,
    *,
    images_list: PathLike | None = None,
    depth: int | None = None,
) -> tuple[dict[str, ReadSites], tuple[Notice, ...]]:
    """Find the sites of which there are predictions of both detectors.

    Parameters
    ----------
    current, candidate : AccuracyEstimator
        Fits of both.
    files : Predictions
        Its path is a folder with ``SITE.json`` of each site, its reference one with ``SITE.json``
        of a reference detector, for the fits that had one.
    against : path-like
        The folder of the candidate.
    categories : SiteCategories
        Which categories count at each site.
    images_list : path-like, optional
        All images of each site; see `find_results`.
    depth : int, optional
        How many folders name a site; by default each file is a site.

    Returns
    -------
    sites : dict of str to callable
        What reads both sites.
    lost : tuple of Notice
        Which sites lack predictions of the candidate.

    Raises
    ------
    InputError
        If a path is no folder, no site is in both, a site is of several files, or there are several
        references.
    """
    if len(files.references) > 1:
        raise InputError(f"Expected one --reference but got {listed(files.references)}.")
    predictions, reference_names = files.path, read_names(files.reference_names)
    for path in (predictions, against):
        if not Path(path).is_dir():
            raise InputError(
                f"{path} is no folder: --against compares folders with SITE.json for each site."
            )
    reference = next(iter(files.references), None)
    found = find_results(predictions, reference=reference, image_list=images_list)
    current_files = {file.name: file for file in found}
    candidate_files = {file.name: file for file in find_results(against)}
    if parts := [name for name in current_files if site_of(f"{name}/", depth) != name]:
        raise InputError(
            f"--against compares one file of each site, but with --depth {depth} "
            f"{listed(parts, most=2)} are parts of sites: give folders with SITE.json, or leave "
            "out --against."
        )
    common = [site for site in current_files if site in candidate_files]
    if not common:
        raise InputError(
            f"No site is both in {predictions} ({listed(current_files)}) and in {against} "
            f"({listed(candidate_files)})."
        )

    def read(site: str) -> tuple[Site, Site]:
        file = current_files[site]
        images = file.images() if file.folder else file.image_list
        of_site = categories.of_site.get(site)
        named = of_site or categories.named
        present = list(of_site or categories.present)
        first = of_detector(current, file.path, file.reference)
        second = of_detector(candidate, candidate_files[site].path, file.reference)
        return (
            current.read_site(first, images=images, categories=named, present=present),
            candidate.read_site(second, images=images, categories=named, present=present),
        )

    def of_detector(
        fitted: AccuracyEstimator, path: Path, reference: PathLike | None
    ) -> Predictions:
        if reference is None or REFERENCE_AP not in fitted.rows_:
            return replace(files, path=path, reference=None, reference_names={})
        return replace(files, path=path, reference=reference, reference_names=reference_names)

    lost = tuple(
        Notice("site-not-compared", f"{site}: no predictions of the candidate")
        for site in current_files
        if site not in candidate_files
    )
    return {site: partial(read, site) for site in common}, lost


def sites_of_records(
    fits: Sequence[AccuracyEstimator], stores: Sequence[MonitorStore], categories: SiteCategories
) -> dict[str, ReadSites]:
    """Find the sites of the current detector, to read what both detectors observed there.

    Parameters
    ----------
    fits : sequence of AccuracyEstimator
        Of the current detector and of the candidate.
    stores : sequence of MonitorStore
        What each observed.
    categories : SiteCategories
        The categories that are given; by default those of each fit, or those that either has found.
    """
    indices = [store.index() for store in stores]
    copies = indices[0]["name"][copied_files(indices[0])]
    indices = [index[~index["name"].isin(copies)] for index in indices]

    def read(site: str) -> tuple[Site, Site]:
        sites = []
        for fitted, store, index in zip(fits, stores, indices, strict=True):
            words, of_fit = store.add_words(()), fitted.categories_
            known = fitted.looks_.frequencies if fitted.looks_ else ()
            joined = fitted.context_.get("words")
            in_words = replace(categories, words=words, of_fit=of_fit, joined=joined, known=known)
            images = in_time(index[(index["site"] == site) & (index["unreadable"] == "")])
            # Between the first and the last whose boxes were dropped (--keep) only images without
            # a box are left: they would stand for that time.
            dropped = np.flatnonzero(~images["kept"].to_numpy())
            if len(dropped):
                images = images.drop(images.index[dropped[0] : dropped[-1] + 1])
            sites.append(in_words.site(site, store.read(images["name"].tolist())))
        return sites[0], sites[1]

    return {str(site): partial(read, str(site)) for site in indices[0]["site"].unique()}


def _of_candidate(pairs: pd.DataFrame) -> Mapping[str, object]:
    row = pairs.iloc[0].to_dict()
    sign = 1 if row["a"] == CANDIDATE else -1
    lower, upper = sorted(sign * row[name] + 0.0 for name in ("lower", "upper"))  # no -0.0
    result = "better" if lower > 0 else "worse"
    return {
        "difference": sign * row["difference"] + 0.0,
        "lower": lower,
        "upper": upper,
        "p_better": row["p_better"] if sign > 0 else 1 - row["p_better"],
        "result": result if row["distinguishable"] else "not distinguishable",
    }


def _of_current(ranking: pd.DataFrame, measured: float) -> Mapping[str, object]:
    """Return what the known accuracy of the candidate says of the current detector."""
    row = ranking[ranking["detector"] == CURRENT].iloc[0]
    return {
        "known": float(measured),
        "by_known": float(row["value"]),
        "by_known_lower": float(row["value_lower"]),
        "by_known_upper": float(row["value_upper"]),
    }
