"""Predictions of new images, and the passes that find them, as in a fit."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from autoeval.data.find_images import Images, UnlabelledImage, list_images
from autoeval.data.image_folder import ImageFile
from autoeval.data.labels.content import LabelledImage
from autoeval.data.tasks.task import Task
from autoeval.detectors.detector_spec import DetectorSpec
from autoeval.errors import InputError
from autoeval.estimation.artefact import refuse_differences
from autoeval.estimation.given_boxes import Predictions
from autoeval.estimation.observation.observing import ImageDetector, Observer
from autoeval.estimation.observation.presets import BY_PRODUCTS, PassSettings, SourceDomain, light
from autoeval.estimation.observation.reference_boxes import OF_FILES, Reference, load_reference
from autoeval.estimation.pair_table import CATEGORY
from autoeval.estimation.site import Categories, Site, own_words, site_of_files
from autoeval.labels.plan_file import PLAN, load_plan
from autoeval.scores.registry import needs_of, of_domain
from autoeval.sites.reference_statistics import ReferenceStatistics
from autoeval.sites.score_range import SCORE_THR
from autoeval.sites.site_boxes import PASSES, PathLike

REMEMBERED = {"detector", "pass", "task"}
UNREAD = {
    "half_size": "a pass at half the size (`half_size=`)",
    "reference": "a reference detector (`reference`, --reference)",
}
"""What a pass that a fit did not have is called."""
WANTS = (*BY_PRODUCTS, "half_size", "views", "reweighted", "prototypes")


@dataclass(frozen=True, eq=False)
class FittedPass:
    """The pass over the images of a fit, which those of a new site get, too.

    context, loading: as an estimator holds them; see `AccuracyEstimator`.
    features: scores that the regression reads; compared: those with a range in the fit.
    table: rows of the fit.
    of_labels: passes that label assistance reads.
    """

    context: Mapping[str, Any]
    loading: Mapping[str, Any]
    features: tuple[str, ...]
    compared: tuple[str, ...]
    table: pd.DataFrame
    of_labels: frozenset[str] = frozenset()

    @property
    def statistics(self) -> ReferenceStatistics:
        """How the boxes of the fit look; refused where it was fitted on rows alone."""
        if "boxes" not in self.context:
            raise InputError(
                "This estimator does not know what the boxes of its fit look like, so new "
                "predictions cannot be compared with them: fit it by `autoeval.fit`."
            )
        return ReferenceStatistics.from_dict(self.context["boxes"])

    @property
    def repeated_warnings(self) -> tuple[str, ...]:
        """What was found wrong in the fit, which every estimate repeats."""
        return self.statistics.warnings if "boxes" in self.context else ()

    @property
    def expected_categories(self) -> Categories | None:
        """The categories of the task of all sources, with the detector's words, if they are of one.

        They are expected in all images.
        """
        task = self.context.get("task")
        if task is None or (self.table["kind"] == CATEGORY).any():
            return None
        return {name: list(words) for name, words in task["words"].items()}

    @property
    def score_thr(self) -> float:
        """Boxes with a lower score count in no score."""
        stability = self.context.get("pass", {}).get("stability", {})
        return float(stability.get("score_thr", SCORE_THR))

    def read_predictions(
        self,
        files: Predictions,
        images: Images | None,
        labels: PathLike | None,
        categories: Categories | None,
    ) -> Site:
        """Read the predictions of new images, by default those of the plan of the labels."""
        known: PathLike | Sequence[LabelledImage] | None
        listed: Sequence[UnlabelledImage] = ()
        if images is None or isinstance(images, str | os.PathLike):
            known = images
        else:
            listed = list_images(images)
            known = [LabelledImage(of.image_id, _file_name(of), None) for of in listed]
        if images is None and labels is not None and (Path(labels).parent / PLAN).exists():
            known = load_plan(Path(labels).parent).found.images
        site = site_of_files(files, self.statistics, images=known, categories=categories)
        self.check_read(site.boxes.passes)
        missing = sorted(needs_of(self.features) - site.boxes.passes)
        if missing:
            raise InputError(
                f"This estimator was fitted with {PASSES.get(missing[0], missing[0])}, or fit "
                "again without."
            )
        return replace(site, images=listed) if listed else site

    def check_read(self, passes: Iterable[str]) -> None:
        """Refuse passes beside the clean one that the fit did not have: nothing reads them."""
        of_pass = self.context.get("pass", {})
        known = needs_of(self.table.columns) | {name for name in of_pass if of_pass[name]}
        unread = sorted(set(passes) - known - self.of_labels)
        if unread:
            raise InputError(
                f"This estimator was fitted without {UNREAD[unread[0]]}, so it would not be read: "
                "leave it out, or fit again with it."
            )

    def load_detector(self, detector: ImageDetector | None) -> ImageDetector:
        """Load the detector that it was fitted with, where it knows how; `detector` if given."""
        if detector is not None:
            return detector
        if not self.loading:
            known = "detector" in self.context
            raise InputError(
                "This estimator does not know how its detector is loaded: pass `detector` "
                "(--detector)."
                if known
                else "This estimator was fitted on prediction files: pass the predictions of the "
                "new images (--predictions), or fit it with the detector (`autoeval fit --labels "
                "PATH --detector ALIAS`)."
            )
        return DetectorSpec.from_dict(self.loading["detector"])()

    def load_reference(self) -> Reference | None:
        """Load the reference that it was fitted with, where that was a detector."""
        spec = self.loading.get("reference")
        return load_reference(DetectorSpec.from_dict(spec)) if spec else None

    def observer(
        self,
        detector: ImageDetector,
        *,
        repeats: int | None = None,
        domain: SourceDomain | None = None,
        reference: Reference | None = None,
        batch_size: int = 4,
    ) -> Observer:
        """Make the pass that the scores of the training table were made with.

        It collects no more evidence than the scores need. Refused for another detector, more
        repeats, and where a training domain or a reference is needed and there is none.
        """
        context = self.context
        if not context.keys() >= REMEMBERED:
            raise InputError(
                "This estimator does not know how its scores were made: it was not fitted, or "
                "without `context`. Load one that `autoeval estimate-map` or `fit_task` wrote, or "
                "pass it rows that you made yourself (`predict_rows`)."
            )
        refuse_differences(context["detector"], detector.settings, "detector.")
        needed = of_domain(self.features)
        if needed and domain is None:
            raise InputError(
                f"This estimator uses {' and '.join(needed)}, which compare with the detector's "
                "training domain, and an estimator does not carry that. Pass `domain`, made by "
                "`autoeval.published.fitting.kept_domain.observe_source_domain` from the "
                "seed set that --preset reference= named when it was fitted."
            )
        _check_reference(self.features, reference)
        needs, wanted = needs_of(self.features), 0
        if "perturbed" in needs or repeats:
            known = _fitted_repeats(self.table)
            wanted = known if repeats is None else repeats
            if not min(1, known) <= wanted <= known:
                raise InputError(
                    f"Expected {min(1, known)} to {known} `repeats`, the number this estimator was "
                    f"fitted with, but got {wanted}."
                )
        wants = tuple(want for want in WANTS if want in BY_PRODUCTS or want in needs)
        try:
            saved, words = context["task"], detector.categories
            names = tuple(saved["categories"])
            lookup = zip(words, saved["lookup"], strict=True)
            task = Task(saved["name"], names, (), {word: names[k] for word, k in lookup if k >= 0})
            settings = PassSettings.from_dict(
                context["pass"], repeats=wanted, wants=wants, domain=domain, reference=reference
            )
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise InputError(
                "What this estimator remembers of its pass is damaged "
                f"({type(error).__name__}: {error}): fit it again."
            ) from error
        return Observer(detector, task, settings, batch_size=batch_size)

    def box_observer(
        self, detector: ImageDetector, reference: Reference | None = None, batch_size: int = 4
    ) -> Observer:
        """Make the pass that finds the boxes which scores and label assistance read.

        Its categories are the detector's own words, so that one pass serves all categories.
        """
        _check_reference(self.features, reference)
        self.check_detector(detector)
        settings, needs = light(), needs_of(self.features) | self.of_labels
        if "perturbed" in needs:
            repeats = _fitted_repeats(self.table)
            settings = self.observer(detector, repeats=repeats, reference=reference).settings
        wants = tuple(name for name in ("half_size", *BY_PRODUCTS) if name in needs)
        settings = replace(settings, reference=reference, wants=wants)
        return Observer(detector, own_words(detector), settings, batch_size=batch_size)

    def check_detector(self, detector: ImageDetector) -> None:
        """Make sure that a detector is the one it was fitted with, or name what differs."""
        if "detector" not in self.context:
            raise InputError(
                "This estimator was fitted on prediction files, so it cannot tell whether a "
                "detector is theirs: give the predictions of the new images, or fit it with the "
                "detector."
            )
        refuse_differences(self.context["detector"], detector.settings, "detector.")

    def check_context(self, context: Mapping[str, Any]) -> None:
        """Make sure that rows made with ``context`` may be given to `predict_rows`."""
        fitted: Mapping[str, Any] = {k: v for k, v in self.context.items() if k != "boxes"}
        ignored = {"measures"} - context.get("pass", {}).keys()  # they need labels
        if not of_domain(self.compared):
            ignored |= {"domain"}
        if "reference" not in needs_of(self.compared) or (_by_files(fitted) and _by_files(context)):
            ignored |= {"reference"}
        refuse_differences(_without(fitted, ignored), _without(context, ignored))


def _fitted_repeats(table: pd.DataFrame) -> int:
    """Count the perturbed passes of a score table: none where no score of it needs any."""
    return int(table["repeat"].max()) + 1 if "perturbed" in needs_of(table.columns) else 0


def _file_name(image: UnlabelledImage) -> str:
    """Return the name by which predictions may call an image."""
    if isinstance(image, ImageFile) and not image.path.as_posix().endswith(image.image_id):
        return image.path.as_posix()
    return image.image_id


def _check_reference(features: Sequence[str], reference: Reference | None) -> None:
    if reference is None and "reference" in needs_of(features):
        raise InputError(
            "This estimator was fitted with a reference detector: give the same one for these "
            "images (--reference), as a detector or by its boxes."
        )


def _by_files(context: Mapping[str, Any]) -> bool:
    """Whether a reference's predictions were read, which are others for other images."""
    return str(context.get("pass", {}).get("reference", "")).startswith(OF_FILES)


def _without(context: Mapping[str, Any], ignored: set[str]) -> dict[str, Any]:
    """Leave out some settings of the pass."""
    described = {k: v for k, v in context.get("pass", {}).items() if k not in ignored}
    return {**context, "pass": described} if "pass" in context else dict(context)
