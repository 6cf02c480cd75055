"""The estimator: label-free scores in, accuracy with a prediction interval out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, overload

import numpy as np
import pandas as pd
from typing_extensions import Self

from autoeval.calibration import ScoreCalibration
from autoeval.data.find_images import Images, list_images
from autoeval.data.wording import listed
from autoeval.detections import Evidence
from autoeval.errors import InputError
from autoeval.estimation.artefact import read_artefact, write_artefact
from autoeval.estimation.bayesian_regression import DEFAULT_METHOD, BayesianRegression
from autoeval.estimation.estimate import Estimate
from autoeval.estimation.fitted_pass import FittedPass
from autoeval.estimation.given_boxes import Detector, GivenBoxes, Predictions, given_boxes
from autoeval.estimation.labelled_files import read_labels
from autoeval.estimation.labelling import plan_site, priors_of_targets
from autoeval.estimation.nothing_found import undefined_at
from autoeval.estimation.observation.detector_identity import identity_warnings
from autoeval.estimation.observation.kept_observer import Keeping, keeping
from autoeval.estimation.observation.observing import ImageDetector
from autoeval.estimation.panel_prior import FULL
from autoeval.estimation.plan_match import check_plan
from autoeval.estimation.protocol import FitResult
from autoeval.estimation.score_floors import FloorFit, split_floors, with_floors
from autoeval.estimation.site import Categories, Site, site_of_images
from autoeval.estimation.site_estimate import estimate_rows, estimate_site
from autoeval.labels.assistance import LabelAssistance
from autoeval.labels.plan import LabelPlan
from autoeval.labels.plan_file import PLAN, load_plan
from autoeval.labels.with_labels import LabelledEstimate, estimate_with_labels
from autoeval.runtime.shards import Shards
from autoeval.sites.reference_statistics import ReferenceStatistics
from autoeval.sites.site_boxes import PathLike
from autoeval.targets import AP_TARGETS, IOUS, OperatingPoint, points_at

CALIBRATIONS = "calibrations"  # of the sites of fits that were joined


class AccuracyEstimator:
    """Estimates the accuracy of a detector on images without labels.

    `autoeval.fit` makes one from labelled data. The boxes of a network, of a Python callable and of
    prediction files are treated alike.

    Parameters
    ----------
    target : str
        Column to estimate: a name in `autoeval.targets.TARGETS`, or precision, recall or F1 at a
        score threshold, such as ``recall@0.3``.
    level : float
        Nominal coverage of the interval.

    Attributes
    ----------
    regression_ : BayesianRegression
        From scores to an estimate.
    table_ : DataFrame
        The score table that it was fitted on.
    context_ : dict
        What the scores were made with: ``boxes`` (reference statistics of the boxes), and, where a
        detector was run, ``detector`` and ``pass``; ``task`` where all sources are of one task.
    calibration_ : ScoreCalibration or None
        Of the detector's confidences; see docs/explanation/calibration.md.
    reference_calibration_ : ScoreCalibration or None
        Of the confidences of the reference detector, where it was fitted with one.
    floors_ : dict
        The fit at higher score floors, a `FloorFit` each; see `at_floor`.
    label_assistance_ : LabelAssistance or None
        What estimates with a few labels need; see docs/how-to/labels.md.
    loading_ : dict
        How its ``detector`` and its ``reference`` are loaded, where that is known; each as
        `DetectorSpec.to_dict` has it.
    fit_result_ : FitResult or None
        How it was evaluated when it was fitted; not saved.
    detector_ : ImageDetector or None
        The detector, where it was fitted with it in this process; not saved.
    """

    def __init__(self, *, target: str = "mAP", level: float = 0.9) -> None:
        self.target = target
        self.level = level

    def __repr__(self) -> str:
        fitted = getattr(self, "regression_", None)
        state = f"fitted on {len(fitted.sources_)} sources" if fitted else "not fitted"
        return f"<AccuracyEstimator of {self.target}, level {self.level}, {state}>"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the constructor, as scikit-learn does."""
        return {"target": self.target, "level": self.level}

    def fit_rows(
        self,
        table: pd.DataFrame,
        *,
        context: Mapping[str, Any] | None = None,
        calibration: ScoreCalibration | None = None,
        reference_calibration: ScoreCalibration | None = None,
        label_assistance: LabelAssistance | None = None,
        loading: Mapping[str, Any] | None = None,
        fit_result: FitResult | None = None,
        detector: ImageDetector | None = None,
        floors: Mapping[float, FloorFit] | None = None,
    ) -> Self:
        """Fit on a score table.

        Parameters
        ----------
        table : DataFrame
            See `autoeval.estimation.score_table` and `autoeval.estimation.pair_table`.
        context : mapping, optional
            What the rows were made with: nested mappings of plain values, saved along and compared
            before the estimator is used on new images.
        calibration : ScoreCalibration, optional
            Of the detector's confidences, with which the default's scores were computed; saved
            along.
        reference_calibration : ScoreCalibration, optional
            Of the confidences of a reference detector; saved along.
        label_assistance : LabelAssistance, optional
            Fitted on the same sources; saved along.
        loading : mapping, optional
            How the detector is loaded; saved along.
        fit_result : FitResult, optional
        detector : ImageDetector, optional
            What `predict` runs by default.
        floors : mapping of float to FloorFit, optional
            The same fit at higher score floors; saved along.

        Raises
        ------
        InputError
            If there is no such target, the level is not over 0 and under 1, a column is missing, or
            no row has a finite accuracy.
        """
        self.context_ = dict(context or {})
        self.floors_ = dict(floors or {})
        self.regression_ = self._regression(self.target).fit(table)
        self.calibration_ = calibration
        self.reference_calibration_ = reference_calibration
        self.label_assistance_ = label_assistance
        self.loading_ = dict(loading or {})
        self.fit_result_ = fit_result
        self.detector_ = detector
        self._regressions = {self.target: self.regression_}
        self._at_floors: dict[float, Self] = {}
        return self

    def for_target(self, target: str) -> Self:
        """Return an estimator of another target, fitted on the same table.

        Raises
        ------
        InputError
            If there is no such target, or the table does not have what it needs.
        """
        if target == self.target:
            return self
        return type(self)(target=target, level=self.level).fit_rows(
            self.table_,
            context=self.context_,
            calibration=self.calibration_,
            reference_calibration=self.reference_calibration_,
            label_assistance=self.label_assistance_,
            loading=self.loading_,
            detector=self.detector_,
            floors=self.floors_,
        )

    def at_floor(self, floor: float) -> Self:
        """Return the same fit for files that begin at another score; see `Site.floor`.

        floor: one of `floors_`; 0 for that of its own files.
        """
        if not floor:
            return self
        known = self.floors_[floor]
        if floor not in self._at_floors:
            boxes = {**self.context_["boxes"], "floor": floor, "floors": []}
            context = {**self.context_, "boxes": boxes}
            if CALIBRATIONS in context:
                context[CALIBRATIONS] = known.of_sites
            self._at_floors[floor] = type(self)(target=self.target, level=self.level).fit_rows(
                known.rows,
                context=context,
                calibration=known.calibration,
                reference_calibration=self.reference_calibration_,
                label_assistance=self.label_assistance_,
                loading=self.loading_,
                detector=self.detector_,
            )
        return self._at_floors[floor]

    def regression_of(self, target: str) -> BayesianRegression:
        """Return the regression of a target on the table that it was fitted on."""
        if target not in self._regressions:
            self._regressions[target] = self._regression(target).fit(self.table_)
        return self._regressions[target]

    def regressions_of(self, targets: Iterable[str]) -> dict[str, BayesianRegression | None]:
        """Return the regression of each target; None for precision that the fit cannot estimate.

        It cannot at a threshold that no box of the labelled images is over.
        """
        found: dict[str, BayesianRegression | None] = {}
        for target in targets:
            try:
                found[target] = self.regression_of(target)
            except InputError:
                if not undefined_at(target):
                    raise
                found[target] = None
        return found

    def _regression(self, target: str) -> BayesianRegression:
        floor = float(self.context_.get("boxes", {}).get("floor", FULL))
        return BayesianRegression(target=target, level=self.level, floor=floor)

    @property
    def _fitted(self) -> BayesianRegression:
        if not hasattr(self, "regression_"):
            raise InputError(
                "This estimator is not fitted: make one with `autoeval.fit`, `fit_rows` of a score "
                "table, or `load`."
            )
        return self.regression_

    @property
    def pass_(self) -> FittedPass:
        """The pass over the images of the fit, which those of a new site get, too."""
        fitted, labels = self._fitted, self.label_assistance_
        return FittedPass(
            self.context_,
            self.loading_,
            fitted.features_,
            tuple(fitted.training_range_),
            fitted.table_,
            frozenset() if labels is None else labels.needs,
        )

    @property
    def statistics_(self) -> ReferenceStatistics:
        """How the boxes of the fit look; refused where it was fitted on rows alone."""
        return self.pass_.statistics

    @property
    def expected_categories_(self) -> Categories | None:
        """The categories of the task that it was fitted on, expected in all images, if of one."""
        return self.pass_.expected_categories

    @property
    def score_thr(self) -> float:
        """Boxes with a lower score count in no score."""
        return self.pass_.score_thr

    def check_detector(self, detector: ImageDetector) -> None:
        """Make sure that a detector is the one it was fitted with, or name what differs."""
        self.pass_.check_detector(detector)

    def load_detector(self) -> ImageDetector:
        """Load the detector that it was fitted with, where it knows how."""
        return self.pass_.load_detector(self.detector_)

    def check_known(self, site: str | None = None, group: str | None = None) -> None:
        """Make sure that the fit has a site or a group of this name."""
        if site is not None:
            self._fitted.known_site(site)
        if group is not None:
            self._fitted.check_group(group)

    @property
    def table_(self) -> pd.DataFrame:
        """The rows that it was fitted on."""
        return self._fitted.table_

    @property
    def other_targets_(self) -> dict[str, BayesianRegression]:
        """Regressions of the other average precisions on the same scores, by target."""
        known = self._fitted.rows_
        names = [name for name in AP_TARGETS if name != self.target and name in known]
        return {name: self.regression_of(name) for name in names}

    @overload
    def predict(
        self, boxes: GivenBoxes | None = None, *, labels: None = None, **site: Any
    ) -> Estimate: ...

    @overload
    def predict(
        self, boxes: GivenBoxes | None = None, *, labels: PathLike, **site: Any
    ) -> LabelledEstimate: ...

    def predict(
        self,
        boxes: GivenBoxes | None = None,
        *,
        images: Images | None = None,
        site: str | None = None,
        group: str | None = None,
        labels: PathLike | None = None,
        img_dir: PathLike | None = None,
        words: Mapping[str, str] | None = None,
        categories: Categories | None = None,
        score_thr: float | None = None,
        iou: float = IOUS[0],
        **running: Any,
    ) -> Estimate | LabelledEstimate:
        """Estimate the accuracy on new images, from predictions or with the detector.

        Parameters
        ----------
        boxes : path-like, Predictions, Detector or ImageDetector, optional
            What the detector found: the path of its predictions, or `autoeval.Predictions`. Or the
            detector that is to be run, `autoeval.Detector`; by default the one that it was fitted
            with, loaded as it was then.
        images : path-like or sequence, optional
            With predictions all images that the detector was run on (a folder, a COCO JSON, a
            text file with a name a line, or a sequence as below), since those without a box are not
            in the predictions; by default those of the plan, where `labels` lie in the folder of
            one.
            With a detector the images to run it on: a folder, a COCO JSON file, or a sequence of
            paths or of arrays (H, W, 3), uint8, BGR.
        site : str, optional
            Name of the labelled set, or of the source of a task, of which these are new images: the
            estimate is its labelled accuracy, changed as its scores are.
        group : str, optional
            Group of the fit that the site belongs to, such as cameras of one make whose images the
            same people label: how far labelled sets of the group are off the line says how far this
            site is.
        labels : path-like, optional
            Labels of some of the images, in any format of `autoeval.load_labels`. Those in a folder
            that `autoeval.plan_labels` wrote are taken as its plan drew them, others as a simple
            random sample.
        img_dir : path-like, optional
            Folder of the labelled images, where the format of their labels does not say.
        words : mapping of str to str, optional
            Category of the estimate for each word of the labels; by default equal words.
        categories : mapping of str to sequence of str, optional
            Categories to expect in all images, each with the detector's words for it, such as
            ``{"vehicle": ["car", "bus", "truck"]}``. By default those of the task that it was
            fitted on, else every category that is detected, on the images where it is.
        score_thr : float, optional
            Estimate precision, recall and F1 of the boxes over this score, too.
        iou : float
            At which IoU with a labelled object such a box is a true positive.
        **running
            How a detector is run: ``keep``, ``shards``, ``watch``; see `read_site`.

        Returns
        -------
        Estimate
            Its `site` holds the boxes. Without a value where nothing was found. With `labels` a
            `LabelledEstimate`.

        Raises
        ------
        InputError
            If there are neither predictions nor images, they are of another detector, nothing can
            be read, the fit has no site or group of this name, a plan beside the labels is for
            something else, or an option does not apply.
        """
        if site is not None and group is not None:
            raise InputError(
                "`site` names a labelled set of the fit, which has its group already: leave out "
                "`group` (--group)."
            )
        self.check_known(site, group)
        if labels is None and (words or img_dir):
            what = "`words`" if words else "`img_dir`"
            raise InputError(f"{what} belongs to labels, and there are none: leave it out.")
        self._check_point(score_thr, iou)
        found = self.read_site(
            boxes, images=images, labels=labels, categories=categories, **running
        )
        estimate = self.predict_site(
            replace(found, known=site or "", group=group or ""), score_thr, iou
        )
        if labels is None:
            return estimate
        content, folder = read_labels(Path(labels), img_dir), Path(labels).parent
        if not (folder / PLAN).exists():
            plan = self.plan_labels(estimate, n=1)
            return estimate_with_labels(plan, content, words=words, planned=False)
        plan = load_plan(folder)
        check_plan(plan, estimate, folder, iou=None if score_thr is None else iou)
        return estimate_with_labels(plan, content, words=words, score_thr=score_thr)

    def read_site(
        self,
        boxes: GivenBoxes | None = None,
        *,
        images: Images | None = None,
        labels: PathLike | None = None,
        categories: Categories | None = None,
        **running: Any,
    ) -> Site:
        """Read predictions of new images, or run the detector on them.

        Parameters
        ----------
        boxes, images, labels, categories
            See `predict`.
        **running
            How a detector is run: ``keep``, a `Keeping`, where to keep what is observed and who
            observes; ``shards``, `Shards`, which processes share the images; ``watch``, called with
            the evidence of each image.

        Raises
        ------
        InputError
            As `predict`.
        """
        categories = categories or self.expected_categories_
        given = None if boxes is None else given_boxes(boxes)
        if isinstance(given, Predictions):
            if running:
                raise InputError(
                    f"{listed(sorted(running))}: for a detector that is run, and predictions are "
                    "read. Leave that out."
                )
            return self.pass_.read_predictions(given, images, labels, categories)
        if images is None:
            raise InputError("Expected predictions, or images to run the detector on.")
        return self._observed(given, images, categories, **running)

    def _observed(
        self,
        run: Detector | None,
        images: Images,
        categories: Categories | None,
        *,
        keep: Keeping | None = None,
        shards: Shards | None = None,
        watch: Callable[[Evidence], object] = lambda evidence: None,
    ) -> Site:
        """Run the detector; see `read_site`."""
        pictures, fitted_pass = list_images(images), self.pass_
        run = run or Detector(self.load_detector())
        detector, reference = run.loaded, run.loaded_reference
        fitted_pass.check_read(["reference"] if reference is not None else [])
        observer = fitted_pass.box_observer(
            detector, reference or fitted_pass.load_reference(), run.batch_size
        )
        site = site_of_images(
            keeping(observer, keep or run.keeping(None)),
            pictures,
            categories=categories,
            shards=shards,
            watch=watch,
        )
        return site.warned((*fitted_pass.repeated_warnings, *identity_warnings(detector)))

    def plan_labels(
        self,
        estimate: Estimate,
        *,
        n: int = 20,
        seed: int = 0,
        frames: int | None = None,
        pseudo_labels: PathLike | None = None,
        pseudo_words: Mapping[str, str] | None = None,
        everywhere: bool = False,
    ) -> LabelPlan:
        """Draw images to label, of those that were estimated; see `plan_site`.

        Parameters
        ----------
        estimate : Estimate
            From `predict`, with its site.
        n, seed, frames, pseudo_labels, pseudo_words, everywhere
            See `autoeval.estimation.labelling.plan_site`.

        Raises
        ------
        InputError
            If the estimate holds no site, or the estimator has no label assistance or is of neither
            an average precision nor precision, recall or F1.
        """
        if estimate.site is None:
            raise InputError("Expected an estimate from `predict`: this one holds no boxes.")
        fitted = self.at_floor(estimate.site.floor)
        targets = (self.target, *self.other_targets_, *estimate.beside)
        points = [point for point in map(OperatingPoint.of, targets) if point]
        return plan_site(
            estimate.site,
            self.label_assistance_,
            priors_of_targets(estimate, fitted.regressions_of(targets)),
            target=self.target,
            level=self.level,
            n=n,
            seed=seed,
            frames=frames,
            pseudo_labels=pseudo_labels,
            pseudo_words=pseudo_words,
            everywhere=everywhere,
            detector=estimate.site.detector,
            point=points[0] if points else None,
        )

    def predict_site(
        self, site: Site, score_thr: float | None = None, iou: float = IOUS[0]
    ) -> Estimate:
        """Estimate from what `site` returns; see `predict`."""
        if site.floor:
            there = self.at_floor(site.floor)
            estimate = there.predict_site(replace(site, floor=0.0), score_thr, iou)
            return replace(estimate, site=replace(estimate.site or site, floor=site.floor))
        own = self.context_.get(CALIBRATIONS, {}).get(site.known)
        calibration = ScoreCalibration.from_dict(own) if own else self.calibration_
        boxes = replace(
            site.boxes,
            calibration=calibration,
            reference_calibration=self.reference_calibration_,
        )
        widening = self.statistics_.widening if "boxes" in self.context_ else 0.0
        site = replace(site, boxes=boxes, unseen=max(site.unseen, widening))
        point = OperatingPoint.of(self.target)
        others: dict[str, BayesianRegression | None] = dict(self.other_targets_)
        if point is not None:
            score_thr, iou = point.score_thr, point.iou
        if score_thr is not None:
            if site.known:
                raise InputError(
                    "At a known site mAP, mAP50 and mAP75 are estimated, not precision, recall and "
                    "F1: leave out either the site or the score threshold."
                )
            names = [name for name in points_at(score_thr, iou) if name != self.target]
            others |= self.regressions_of(names)
        return estimate_site(site, self._fitted, others, self.score_thr)

    def predict_rows(self, rows: pd.DataFrame, *, backbone: str = "ResNet") -> Estimate:
        """Estimate from the scores of one set of images; see `Regression`."""
        return estimate_rows(rows, self._fitted, self.other_targets_, backbone=backbone)

    def predict_left_out(self) -> np.ndarray:
        """Estimate each row of `table_` without its source; see `Regression`."""
        return self._fitted.predict_left_out()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the estimator to one Parquet file: its training table and its settings."""
        table = with_floors(self.table_, self.floors_)
        metadata = {
            "estimator": self.get_params(),
            "context": self.context_,
            "loading": self.loading_,
        }
        if self.calibration_ is not None:
            metadata["calibration"] = self.calibration_.to_dict()
        if self.reference_calibration_ is not None:
            metadata["reference_calibration"] = self.reference_calibration_.to_dict()
        if self.label_assistance_ is not None:
            metadata["labels"] = self.label_assistance_.to_dict()
        if self.floors_:
            metadata["floors"] = {f"{of:g}": fit.to_dict() for of, fit in self.floors_.items()}
        write_artefact(path, table, metadata)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read an estimator and fit it again on the table it carries.

        Parameters
        ----------
        path : path-like
            What `save` wrote, or the work dir of a fit.

        Raises
        ------
        InputError
            If the file is missing or is not a saved estimator.
        """
        table, metadata = read_artefact(path)
        settings = metadata["estimator"]
        method = settings.get("method", DEFAULT_METHOD)  # in files of earlier versions
        if method != DEFAULT_METHOD:
            raise InputError(
                f"{path} is of the published method '{method}': use it with `autoeval estimate-map "
                "--estimator`, or make one of the default method with `autoeval fit`."
            )
        estimator = cls(target=settings["target"], level=settings["level"])
        try:
            labels, calibration = metadata.get("labels"), metadata.get("calibration")
            reference = metadata.get("reference_calibration")
            table, floors = split_floors(table, metadata.get("floors", {}))
            return estimator.fit_rows(
                table,
                context=metadata["context"],
                calibration=ScoreCalibration.from_dict(calibration) if calibration else None,
                reference_calibration=ScoreCalibration.from_dict(reference) if reference else None,
                label_assistance=LabelAssistance.from_dict(labels) if labels else None,
                loading=metadata.get("loading"),
                floors=floors,
            )
        except InputError as error:
            raise InputError(f"{path} holds an estimator that cannot be used. {error}") from error

    def _check_point(self, score_thr: float | None, iou: float) -> None:
        """Refuse a threshold or an IoU that nothing would be estimated at."""
        own = OperatingPoint.of(self.target)
        if own is None:
            if score_thr is None and iou != IOUS[0]:
                raise InputError(
                    f"An IoU of {iou:g} is that of precision, recall and F1 at a score threshold: "
                    "give that, too, or leave the IoU out."
                )
        elif score_thr not in (None, own.score_thr) or iou not in (IOUS[0], own.iou):
            raise InputError(
                f"This estimator is of {self.target}: `for_target` gives one at another threshold "
                "or IoU, or leave these out."
            )
