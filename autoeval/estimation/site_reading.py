"""Reading a new site: its predictions, or a detector run on its images, as in the fit."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from autoeval.detections import Evidence
from autoeval.errors import InputError
from autoeval.estimation.fitted_pass import FittedPass
from autoeval.estimation.given_boxes import Detector, GivenBoxes, Predictions, given_boxes
from autoeval.estimation.labelled_files import GivenLabels
from autoeval.estimation.observation.detector_identity import identity_warnings
from autoeval.estimation.observation.kept_observer import Keeping, keeping
from autoeval.estimation.observation.observing import ImageDetector
from autoeval.estimation.read_site import (
    Categories,
    given_categories,
    named_categories,
    site_of_images,
)
from autoeval.io.find_images import Images, list_images
from autoeval.io.labels.content import LabelSet
from autoeval.io.wording import listed
from autoeval.sites.site import Site


def read_site(
    fitted_pass: FittedPass,
    detector: ImageDetector | None,
    boxes: GivenBoxes | None,
    *,
    images: Images | None,
    labels: GivenLabels | None,
    categories: Categories | None,
    labelled: LabelSet | None = None,
    present: Collection[str] = (),
    **running: Any,
) -> Site:
    """Read predictions, or run a detector; see `AccuracyEstimator.read_site`.

    detector: that of the fit, where it is loaded.
    running: of `observe_site`.
    """
    categories = given_categories(named_categories(categories), fitted_pass.words)
    given = None if boxes is None else given_boxes(boxes)
    if isinstance(given, Predictions):
        if running:
            raise InputError(
                f"{listed(sorted(running))}: for a detector that is run, and predictions are "
                "read. Leave that out."
            )
        return fitted_pass.read_predictions(given, images, labels, categories, labelled, present)
    if images is None:
        raise InputError("Expected predictions, or images to run the detector on.")
    run = given or Detector(fitted_pass.load_detector(detector))
    return observe_site(fitted_pass, run, images, categories, present=present, **running)


def observe_site(
    fitted_pass: FittedPass,
    run: Detector,
    images: Images,
    categories: Categories | None,
    *,
    present: Collection[str] = (),
    keep: Keeping | None = None,
    watch: Callable[[Evidence], object] = lambda evidence: None,
) -> Site:
    """Run a detector, and the reference of the fit, on the images of a site."""
    pictures = list_images(images)
    detector, reference = run.loaded, run.loaded_reference
    fitted_pass.check_read(["reference"] if reference is not None else [])
    observer = fitted_pass.box_observer(
        detector, reference or fitted_pass.load_reference(), run.batch_size
    )
    site = site_of_images(
        keeping(observer, keep or run.keeping(None)),
        pictures,
        categories=categories,
        present=present,
        watch=watch,
    )
    return site.warned((*fitted_pass.repeated_warnings, *identity_warnings(detector)))
