"""The estimator: label-free scores in, accuracy with a prediction interval out."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, overload

import numpy as np
import pandas as pd
from typing_extensions import Self

from autoeval.errors import InputError
from autoeval.estimation.calibrating import FloorFit
from autoeval.estimation.estimate import Estimate, estimate_rows
from autoeval.estimation.fit_file import read_fit, write_fit
from autoeval.estimation.fit_state import FitState
from autoeval.estimation.fitted_pass import FittedPass
from autoeval.estimation.fitted_sites import FittedSites
from autoeval.estimation.given_boxes import GivenBoxes
from autoeval.estimation.label_planning import Draw, check_plan, plan_estimated
from autoeval.estimation.labelled_files import GivenLabels, plan_beside, read_labels
from autoeval.estimation.observation.observing import ImageDetector
from autoeval.estimation.protocol import FitResult
from autoeval.estimation.read_site import Categories
from autoeval.estimation.score_table import pair_rows
from autoeval.estimation.site_reading import read_site
from autoeval.io.find_images import Images
from autoeval.io.labels.content import LabelSet
from autoeval.labels.assistance import LabelAssistance
from autoeval.labels.labelled_estimate import LabelledEstimate, estimate_with_labels
from autoeval.labels.plan import LabelPlan
from autoeval.labels.plan_folder import load_plan
from autoeval.model.calibration import ScoreCalibration
from autoeval.model.regression import Regression
from autoeval.runtime.files import PathLike
from autoeval.sites.file_looks import Looks
from autoeval.sites.site import Site
from autoeval.targets import IOUS


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
    regression_ : Regression
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
        state = "not fitted"
        if hasattr(self, "_state"):
            state = f"fitted on {len(self.regression_.sources_)} sources"
        return f"<AccuracyEstimator of {self.target}, level {self.level}, {state}>"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the constructor, as scikit-learn does."""
        return {"target": self.target, "level": self.level}

    def fit_rows(
        self,
        table: pd.DataFrame,
        *,
        fit_result: FitResult | None = None,
        detector: ImageDetector | None = None,
        **saved: Any,
    ) -> Self:
        """Fit on a score table.

        Parameters
        ----------
        table : DataFrame
            See `autoeval.estimation.score_table` and `autoeval.model.pair_table`.
        fit_result : FitResult, optional
        detector : ImageDetector, optional
            What `predict` runs by default.
        **saved
            What the fit knows of the table, saved along: ``context``, ``calibration``,
            ``reference_calibration``, ``label_assistance``, ``loading``, ``floors``, ``sites``; see
            `autoeval.estimation.fit_state.FitState`.

        Raises
        ------
        InputError
            If there is no such target, the level is not over 0 and under 1, a column is missing, or
            no row has a finite accuracy.
        """
        state = FitState(table, self.target, self.level, **saved)
        return self._of(state, fit_result=fit_result, detector=detector)

    def _of(
        self,
        state: FitState,
        *,
        fit_result: FitResult | None = None,
        detector: ImageDetector | None = None,
    ) -> Self:
        self._state, self.fit_result_, self.detector_ = state, fit_result, detector
        return self

    @property
    def fit_(self) -> FitState:
        """What the fit holds; refused where there is none."""
        if not hasattr(self, "_state"):
            raise InputError(
                "This estimator is not fitted: make one with `autoeval.fit`, `fit_rows` of a score "
                "table, or `load`."
            )
        return self._state

    def for_target(self, target: str) -> Self:
        """Return an estimator of another target, fitted on the same table.

        Raises
        ------
        InputError
            If there is no such target, or the table does not have what it needs.
        """
        if target == self.target:
            return self
        state = replace(self.fit_, target=target)
        return type(self)(target=target, level=self.level)._of(state, detector=self.detector_)

    def at_floor(self, floor: float) -> Self:
        """Return the same fit for files that begin at another score; see `FitState.at_floor`."""
        if not floor:
            return self
        other = type(self)(target=self.target, level=self.level)
        return other._of(self.fit_.at_floor(floor), detector=self.detector_)

    @property
    def regression_(self) -> Regression:
        """From scores to an estimate."""
        return self.fit_.regression

    @property
    def table_(self) -> pd.DataFrame:
        """The rows that it was fitted on."""
        return self.fit_.table

    @property
    def context_(self) -> dict[str, Any]:
        """What the rows were made with."""
        return self.fit_.context

    @property
    def loading_(self) -> dict[str, Any]:
        """How its detectors are loaded."""
        return self.fit_.loading

    @property
    def calibration_(self) -> ScoreCalibration | None:
        """The calibration of the detector's confidences."""
        return self.fit_.calibration

    @property
    def reference_calibration_(self) -> ScoreCalibration | None:
        """The calibration of the confidences of the reference detector."""
        return self.fit_.reference_calibration

    @property
    def label_assistance_(self) -> LabelAssistance | None:
        """What estimates with a few labels need."""
        return self.fit_.label_assistance

    @property
    def floors_(self) -> Mapping[float, FloorFit]:
        """The fit at higher score floors."""
        return self.fit_.floors

    @property
    def sites_(self) -> FittedSites:
        """The labelled sets that it was fitted on, from which fits are joined."""
        return self.fit_.sites

    @property
    def pass_(self) -> FittedPass:
        """The pass over the images of the fit, which those of a new site get, too."""
        return self.fit_.of_pass

    @property
    def statistics_(self) -> Looks:
        """How the boxes of the fit look; refused where it was fitted on rows alone."""
        return self.pass_.statistics

    @property
    def words_(self) -> Categories | None:
        """The categories that it was fitted on, with the detector's words, where it has them."""
        return self.pass_.words

    def check_detector(self, detector: ImageDetector) -> None:
        """Make sure that a detector is the one it was fitted with, or name what differs."""
        self.pass_.check_detector(detector)

    def load_detector(self) -> ImageDetector:
        """Load the detector that it was fitted with, where it knows how."""
        return self.pass_.load_detector(self.detector_)

    def check_known(self, site: str | None = None, group: str | None = None) -> None:
        """Make sure that the fit has a site or a group of this name."""
        if site is not None:
            self.regression_.known_site(site)
        if group is not None:
            self.regression_.check_group(group)

    @overload
    def predict(
        self, boxes: GivenBoxes | None = None, *, labels: None = None, **site: Any
    ) -> Estimate: ...

    @overload
    def predict(
        self, boxes: GivenBoxes | None = None, *, labels: GivenLabels, **site: Any
    ) -> LabelledEstimate: ...

    def predict(
        self,
        boxes: GivenBoxes | None = None,
        *,
        images: Images | None = None,
        site: str | None = None,
        group: str | None = None,
        labels: GivenLabels | None = None,
        img_dir: PathLike | None = None,
        words: Mapping[str, str] | None = None,
        categories: Categories | None = None,
        present: Collection[str] = (),
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
            Categories that may count, each with the detector's words for it, such as
            ``{"vehicle": ["car", "bus", "truck"]}``; one whose words the fit knows needs
            none. By default those of the fit, else all words of the detector. Those that are found
            count in the estimate, see `autoeval.sites.site`; a single one always does.
        present : collection of str, optional
            Names of categories that are at the site, and count, found or not.
        score_thr : float, optional
            Estimate precision, recall and F1 of the boxes over this score, too.
        iou : float
            At which IoU with a labelled object such a box is a true positive.
        **running
            How a detector is run: ``keep``, ``watch``; see `read_site`.

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
        self.fit_.check_point(score_thr, iou)
        content, folder = None, None
        if labels is not None:
            content, folder = read_labels(labels, img_dir), plan_beside(labels)
        new_site = self.read_site(
            boxes,
            images=images,
            labels=labels,
            categories=categories,
            present=present,
            labelled=None if folder else content,  # a plan was drawn without the labels
            **running,
        )
        estimate = self.predict_site(
            replace(new_site, known=site or "", group=group or ""), score_thr, iou
        )
        if content is None:
            return estimate
        if folder is None:
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
        labels: GivenLabels | None = None,
        categories: Categories | None = None,
        labelled: LabelSet | None = None,
        present: Collection[str] = (),
        **running: Any,
    ) -> Site:
        """Read predictions of new images, or run the detector on them.

        Parameters
        ----------
        boxes, images, labels, categories, present
            See `predict`.
        labelled : LabelSet, optional
            Labels of some of the images, which tell images with equal boxes apart.
        **running
            How a detector is run: ``keep``, a `Keeping`, where to keep what is observed and who
            observes; ``watch``, called with the evidence of each image.

        Raises
        ------
        InputError
            As `predict`.
        """
        return read_site(
            self.pass_,
            self.detector_,
            boxes,
            images=images,
            labels=labels,
            categories=categories,
            labelled=labelled,
            present=present,
            **running,
        )

    def plan_labels(
        self,
        estimate: Estimate,
        *,
        n: int = 20,
        seed: int | None = None,
        frames: int | None = None,
        everywhere: bool = False,
    ) -> LabelPlan:
        """Draw images to label, of those that were estimated.

        Parameters
        ----------
        estimate : Estimate
            From `predict`, with its site.
        n, seed, frames, everywhere
            See `autoeval.estimation.label_planning.Draw`.

        Raises
        ------
        InputError
            If the estimate holds no site, or the estimator has no label assistance or is of neither
            an average precision nor precision, recall or F1.
        """
        return plan_estimated(self.fit_, estimate, Draw(n, seed, frames, everywhere))

    def predict_site(
        self, site: Site, score_thr: float | None = None, iou: float = IOUS[0]
    ) -> Estimate:
        """Estimate from what `read_site` returns; see `predict`."""
        return self.fit_.estimate(site, score_thr, iou)

    def predict_rows(self, rows: pd.DataFrame, *, backbone: str = "ResNet") -> Estimate:
        """Estimate from the scores of one set of images; see `Regression`."""
        fit = self.fit_
        return estimate_rows(fit.regression, pair_rows(rows), fit.other_targets, backbone=backbone)

    def predict_left_out(self) -> np.ndarray:
        """Estimate each row of `table_` without its source; see `Regression`."""
        return self.regression_.predict_left_out()

    def save(self, path: PathLike) -> None:
        """Write the estimator to a Parquet file: its training table and its settings.

        Its labelled sites, which `autoeval.join` needs, lie beside it.
        """
        write_fit(path, self.fit_)

    @classmethod
    def load(cls, path: PathLike) -> Self:
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
        state = read_fit(path)
        return cls(target=state.target, level=state.level)._of(state)
