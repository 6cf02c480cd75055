"""Watch many sites with one call: images or predictions, a folder or a file for each site."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path

from autoeval.errors import InputError
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.given_boxes import Detector, GivenBoxes, Predictions, given_boxes
from autoeval.estimation.site import Categories, named_categories
from autoeval.monitoring.periods import AUTO, Clock
from autoeval.monitoring.site_records import RecordStore
from autoeval.monitoring.watch_plan import WatchPlan
from autoeval.monitoring.watch_sites import watch_predictions, watch_sites
from autoeval.monitoring.watched import Watched
from autoeval.runtime.files import PathLike


def monitor(
    estimator: AccuracyEstimator | PathLike,
    boxes: GivenBoxes | None = None,
    *,
    images: PathLike | None = None,
    work_dir: PathLike,
    plan: WatchPlan | None = None,
    categories: Categories | None = None,
    site_categories: Mapping[str, Categories] | None = None,
    present: Collection[str] = (),
    time: str = AUTO,
) -> Watched:
    """Estimate many sites, put them in order, and go on where the last call stopped.

    Parameters
    ----------
    estimator : AccuracyEstimator or path-like
        Fitted with the same detector, or on its predictions.
    boxes : path-like, Predictions, Detector or ImageDetector, optional
        Predictions: a folder with ``SITE.json`` for each site. Or the detector that is run over
        `images`; by default the one that the estimator was fitted with.
    images : path-like, optional
        With a detector a folder with a folder of images for each site. With predictions the list of
        all images of the sites, since those without a box are not in the predictions: a COCO JSON,
        a text file with a name a line, or a folder with ``SITE.json`` or ``SITE.txt``.
    work_dir : path-like
        Keeps what was observed: a call with the same one looks at new images alone.
    plan : WatchPlan, optional
        Periods, changes, thresholds for alarms; by default each site as a whole.
    categories, site_categories : mapping, optional
        Names, each with the detector's words for it, that may count at all sites, and that count
        at single ones; by default those of the fit, else all words of the detector.
    present : collection of str
        Categories that count at every site, found or not.
    time : str
        Where the time of an image comes from; see `autoeval.monitoring.periods.Clock`.

    Returns
    -------
    Watched
        ``watched["gate"]`` is one site, ``watched.to_pandas()`` the table of all, the worst first.

    Raises
    ------
    InputError
        As `autoeval.monitoring.watch_sites.watch_sites` and `watch_predictions`.
    """
    fitted = (
        estimator if isinstance(estimator, AccuracyEstimator) else AccuracyEstimator.load(estimator)
    )
    given = None if boxes is None else given_boxes(boxes)
    categories = named_categories(categories)
    of_sites = {site: named_categories(of) or {} for site, of in (site_categories or {}).items()}
    if isinstance(given, Predictions) and not isinstance(given.path, str | os.PathLike):
        raise InputError(
            f"Expected predictions as files, of which the new ones are read at each run, but got "
            f"{given.name}: write them as Parquet or COCO results."
        )
    store, plan = RecordStore(Path(work_dir)), plan or WatchPlan()
    if isinstance(given, Predictions):
        return watch_predictions(
            given,
            fitted,
            store,
            plan,
            images_list=images,
            categories=categories,
            site_categories=of_sites,
            present=present,
            time_form=time,
        )
    if images is None:
        raise InputError("Expected predictions, or images to run the detector on.")
    from autoeval.io.image_folder import load_image_folder
    from autoeval.monitoring.observing.signals import image_signals

    watched = watch_sites(
        load_image_folder(images),
        fitted,
        given or Detector(fitted.load_detector()),
        store,
        plan,
        clock=Clock(time),
        signals=image_signals,
        categories=categories,
        site_categories=of_sites,
        present=present,
    )
    assert watched is not None  # of a single process
    return watched
