"""Predictions of new images, and the passes that find them, as in a fit."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from autoeval.boxes import LabelledImage
from autoeval.detectors.detector_spec import DetectorSpec
from autoeval.errors import InputError
from autoeval.estimation.given_boxes import Predictions
from autoeval.estimation.labelled_files import GivenLabels, plan_beside
from autoeval.estimation.observation.detector_identity import refuse_differences
from autoeval.estimation.observation.observing import ImageDetector, Observer
from autoeval.estimation.observation.pass_settings import PassSettings, of_plain_pass
from autoeval.estimation.observation.reference_boxes import Reference, load_reference
from autoeval.estimation.read_site import Categories, own_words, site_of_files
from autoeval.estimation.reference_choice import as_fitted
from autoeval.io.find_images import ImageArray, Images, UnlabelledImage, list_images
from autoeval.io.image_folder import ImageFile
from autoeval.io.image_header import image_size
from autoeval.io.in_memory import images_in_memory
from autoeval.io.labels.content import LabelSet
from autoeval.labels.plan_folder import load_plan
from autoeval.model.pair_table import CATEGORY, needs_of
from autoeval.runtime.files import PathLike
from autoeval.sites.file_looks import Looks
from autoeval.sites.site import Site


@dataclass(frozen=True, eq=False)
class FittedPass:
    """The pass over the images of a fit, which those of a new site get, too.

    context, loading: as an estimator holds them; see `AccuracyEstimator`.
    features: columns of the table that the regression reads.
    table: rows of the fit.
    """

    context: Mapping[str, Any]
    loading: Mapping[str, Any]
    features: tuple[str, ...]
    table: pd.DataFrame

    @property
    def statistics(self) -> Looks:
        """How the boxes of the fit look; refused where it was fitted on rows alone."""
        if "boxes" not in self.context:
            raise InputError(
                "This estimator does not know what the boxes of its fit look like, so new "
                "predictions cannot be compared with them: fit it by `autoeval.fit`."
            )
        return Looks.from_dict(self.context["boxes"])

    @property
    def statistics_of_detector(self) -> Looks:
        """The same with the settings of the detector that the fit ran, to compare files with."""
        if "detector" not in self.context:
            return self.statistics
        return replace(self.statistics, detector=of_plain_pass(self.context["detector"]))

    @property
    def repeated_warnings(self) -> tuple[str, ...]:
        """What was found wrong in the fit, which every estimate repeats."""
        return self.statistics.warnings if "boxes" in self.context else ()

    @property
    def words(self) -> Categories | None:
        """The categories whose detector words were given to the fit; None for its own words."""
        task = self.context.get("task")
        if task is None or (self.table["kind"] == CATEGORY).any():
            return None
        return {name: list(words) for name, words in task["words"].items()}

    def read_predictions(
        self,
        files: Predictions,
        images: Images | None,
        labels: GivenLabels | None,
        categories: Categories | None,
        labelled: LabelSet | None = None,
        present: Collection[str] = (),
    ) -> Site:
        """Read the predictions of new images, by default those of the plan of the labels.

        labelled: see `site_of_files`.
        """
        files = as_fitted(files, self.context)
        listed_images: PathLike | Sequence[LabelledImage] | None
        listed: Sequence[UnlabelledImage] = ()
        in_memory = images_in_memory(images)
        if in_memory is not None:
            listed_images = in_memory
        elif images is None or isinstance(images, str | os.PathLike):
            listed_images = images
        else:
            listed = list_images(images)
            listed_images = [
                LabelledImage(image.image_id, _file_name(image), _size(image)) for image in listed
            ]
        plan = None if labels is None else plan_beside(labels)
        if images is None and plan is not None:
            listed_images = load_plan(plan).found.images
        site = site_of_files(
            files,
            self.statistics_of_detector,
            images=listed_images,
            categories=categories,
            labelled=labelled,
            present=present,
        )
        if site.reference is not None:
            self.check_read(["reference"])
        elif self.needs(self.features):
            raise InputError(
                "This estimator was fitted with a reference detector: give its boxes on these "
                "images, too (--reference), or fit again without."
            )
        return replace(site, images=listed) if listed else site

    def check_read(self, passes: Iterable[str]) -> None:
        """Refuse passes beside the clean one that the fit did not have: nothing reads them."""
        of_pass = self.context.get("pass", {})
        readable = self.needs(self.table.columns) | {name for name in of_pass if of_pass[name]}
        unread = set(passes) - readable
        if unread:
            raise InputError(
                "This estimator was fitted without a reference detector (`reference`, "
                "--reference), so it would not be read: leave it out, or fit again with it."
            )

    def load_detector(self, detector: ImageDetector | None) -> ImageDetector:
        """Load the detector that it was fitted with, where it knows how; `detector` if given."""
        if detector is not None:
            return detector
        if not self.loading:
            detector_known = "detector" in self.context
            raise InputError(
                "This estimator does not know how its detector is loaded: pass `detector` "
                "(--detector)."
                if detector_known
                else "This estimator was fitted on prediction files: pass the predictions of the "
                "new images (--predictions), or fit it with the detector (`autoeval fit --labels "
                "PATH --detector ALIAS`)."
            )
        return DetectorSpec.from_dict(self.loading["detector"])()

    def load_reference(self) -> Reference | None:
        """Load the reference that it was fitted with, where that was a detector."""
        spec = self.loading.get("reference")
        return load_reference(DetectorSpec.from_dict(spec)) if spec else None

    def needs(self, columns: Iterable[str]) -> frozenset[str]:
        """Return the passes beside the clean one that columns of the table are made of."""
        return needs_of(columns)

    def box_observer(
        self,
        detector: ImageDetector,
        reference: Reference | None = None,
        batch_size: int | None = None,
    ) -> Observer:
        """Make the pass that finds the boxes that are read.

        Its categories are the detector's own words, so that one pass serves all categories.
        """
        self.check_reference(reference)
        self.check_detector(detector)
        settings = PassSettings(reference=reference)
        return Observer(detector, own_words(detector), settings, batch_size=batch_size)

    def check_reference(self, reference: Reference | None) -> None:
        """Make sure that there is a reference detector where features need one."""
        if reference is None and "reference" in self.needs(self.features):
            raise InputError(
                "This estimator was fitted with a reference detector: give the same one for these "
                "images (--reference), as a detector or by its boxes."
            )

    def check_detector(self, detector: ImageDetector) -> None:
        """Make sure that a detector is the one it was fitted with, or name what differs."""
        if "detector" not in self.context:
            raise InputError(
                "This estimator was fitted on prediction files, so it cannot tell whether a "
                "detector is theirs: give the predictions of the new images, or fit it with the "
                "detector."
            )
        fitted, now = map(of_plain_pass, (self.context["detector"], detector.settings))
        refuse_differences(fitted, now, "detector.")


def _size(image: UnlabelledImage) -> tuple[int, int] | None:
    """Return height and width by the header of a file, or of decoded pixels."""
    if isinstance(image, ImageArray):
        return image.pixels.shape[0], image.pixels.shape[1]
    return image_size(image.path) if isinstance(image, ImageFile) else None


def _file_name(image: UnlabelledImage) -> str:
    """Return the name by which predictions may call an image."""
    if isinstance(image, ImageFile) and not image.path.as_posix().endswith(image.image_id):
        return image.path.as_posix()
    return image.image_id
