"""The estimator: label-free scores in, accuracy with a prediction interval out."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from typing_extensions import Self

from autoeval.data.labels.content import LabelledImage
from autoeval.data.unlabelled import Images, list_images
from autoeval.detections import Evidence
from autoeval.detectors.detector_spec import DetectorSpec
from autoeval.errors import InputError
from autoeval.estimation.artefact import read_artefact, refuse_differences, write_artefact
from autoeval.estimation.bayesian_regression import DEFAULT_METHOD, BayesianRegression, bounds
from autoeval.estimation.categories import estimate_categories
from autoeval.estimation.estimate import Estimate
from autoeval.estimation.fit_result import FitResult
from autoeval.estimation.label_free_prior import error_elsewhere, priors_of
from autoeval.estimation.label_planning import plan_site
from autoeval.estimation.observation.kept_observer import Keeping, keeping
from autoeval.estimation.observation.observing import ImageDetector, Observer
from autoeval.estimation.observation.presets import BY_PRODUCTS, light
from autoeval.estimation.observation.source_domain import SourceDomain
from autoeval.estimation.observation.teacher_boxes import OF_FILES, Teacher, load_teacher
from autoeval.estimation.pair_table import CATEGORY
from autoeval.estimation.prediction_files import PathLike, PredictionFiles
from autoeval.estimation.reference_statistics import ReferenceStatistics
from autoeval.estimation.regressions import Regression, make_regression
from autoeval.estimation.remembered import check_teacher, fitted_repeats, recall_pass
from autoeval.estimation.score_range import unseen_warning
from autoeval.estimation.site import Categories, Site, any_task, site_of_files, site_of_images
from autoeval.estimation.site_sampling import site_sampling
from autoeval.estimation.site_scores import score_images
from autoeval.estimation.tightness import tightness
from autoeval.estimation.training_set import read_labels
from autoeval.labels.assistance import LabelAssistance
from autoeval.labels.plan import LabelPlan
from autoeval.labels.plan_file import PLAN, load_plan
from autoeval.labels.prior import OF_ONE_SET
from autoeval.labels.value_with_error import ValueWithError
from autoeval.labels.with_labels import LabelledEstimate, estimate_with_labels
from autoeval.runtime.shards import Shards
from autoeval.scores.registry import needs_of, of_domain
from autoeval.targets import AP_TARGETS

SCORE_THR = 0.05


class AccuracyEstimator:
    """Estimates the accuracy of a detector on images without labels.

    `autoeval.fit` makes one from labelled data. The boxes of a network, of a Python callable and of
    prediction files are treated alike.

    Parameters
    ----------
    method : str
        Name in `autoeval.estimation.methods.methods`.
    target : str
        Column to estimate; a name in `autoeval.targets.TARGETS`.
    level : float
        Nominal coverage of the interval.

    Attributes
    ----------
    regression_ : Regression
        From scores to an estimate: a `BayesianRegression`, or for other methods a
        `SourceRegression`.
    table_ : DataFrame
        The score table that it was fitted on.
    context_ : dict
        What the scores were made with: ``boxes`` (reference statistics of the boxes), and, where a
        detector was run, ``detector`` and ``pass``; ``task`` where all sources are of one task.
    label_assistance_ : LabelAssistance or None
        What estimates with a few labels need; see docs/labels.md.
    loading_ : dict
        How its ``detector`` and its ``teacher`` are loaded, where that is known; each as
        `DetectorSpec.to_dict` has it.
    fit_result_ : FitResult or None
        How it was evaluated when it was fitted; not saved.
    detector_ : ImageDetector or None
        The detector, where it was fitted with it in this process; not saved.
    """

    def __init__(
        self, method: str = DEFAULT_METHOD, *, target: str = "mAP", level: float = 0.9
    ) -> None:
        self.method = method
        self.target = target
        self.level = level

    def __repr__(self) -> str:
        fitted = getattr(self, "regression_", None)
        state = f"fitted on {len(fitted.sources_)} sources" if fitted else "not fitted"
        return (
            f"<AccuracyEstimator of {self.target} by '{self.method}', level {self.level}, {state}>"
        )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the constructor, as scikit-learn does."""
        return {"method": self.method, "target": self.target, "level": self.level}

    def fit_rows(
        self,
        table: pd.DataFrame,
        *,
        context: Mapping[str, Any] | None = None,
        label_assistance: LabelAssistance | None = None,
        loading: Mapping[str, Any] | None = None,
        fit_result: FitResult | None = None,
        detector: ImageDetector | None = None,
    ) -> Self:
        """Fit on a score table.

        Parameters
        ----------
        table : DataFrame
            See `autoeval.estimation.score_table` and `autoeval.estimation.pair_table`.
        context : mapping, optional
            What the rows were made with: nested mappings of plain values, saved along and compared
            before the estimator is used on new images.
        label_assistance : LabelAssistance, optional
            Fitted on the same sources; saved along.
        loading : mapping, optional
            How the detector is loaded; saved along.
        fit_result : FitResult, optional
        detector : ImageDetector, optional
            What `predict` runs by default.

        Raises
        ------
        InputError
            As `SourceRegression.fit` and `BayesianRegression.fit`.
        """
        regression = make_regression(self.method, target=self.target, level=self.level)
        self.regression_ = regression.fit(table)
        self.context_ = dict(context or {})
        self.label_assistance_ = label_assistance
        self.loading_ = dict(loading or {})
        self.fit_result_ = fit_result
        self.detector_ = detector
        self.__dict__.pop("other_targets_", None)
        return self

    @property
    def table_(self) -> pd.DataFrame:
        """The rows that it was fitted on."""
        return self._fitted.table_

    @property
    def statistics_(self) -> ReferenceStatistics:
        """How the boxes of the fit look.

        Raises
        ------
        InputError
            If the estimator was fitted on rows alone.
        """
        if "boxes" not in self.context_:
            raise InputError(
                "This estimator does not know what the boxes of its fit look like, so new "
                "predictions cannot be compared with them: fit it by `autoeval.fit`."
            )
        return ReferenceStatistics.from_dict(self.context_["boxes"])

    @property
    def expected_categories_(self) -> Categories | None:
        """The categories of the task that all sources are of, with the detector's words.

        They are expected in all images; None where it was fitted on the categories of a labelled
        set, or on several sets.
        """
        task = self.context_.get("task")
        if task is None or (self.table_["kind"] == CATEGORY).any():
            return None
        return {name: list(words) for name, words in task["words"].items()}

    @cached_property
    def other_targets_(self) -> dict[str, BayesianRegression]:
        """Regressions of the other average precisions on the same scores, by target."""
        if not isinstance(self._fitted, BayesianRegression):
            return {}
        names = [n for n in AP_TARGETS if n != self.target and n in self._fitted.rows_]
        return {n: BayesianRegression(target=n, level=self.level).fit(self.table_) for n in names}

    def predict(
        self,
        predictions: PathLike | PredictionFiles | None = None,
        *,
        images: Images | None = None,
        detector: ImageDetector | None = None,
        labels: PathLike | None = None,
        words: Mapping[str, str] | None = None,
        categories: Categories | None = None,
        repeats: int | None = None,
        domain: SourceDomain | None = None,
        teacher: Teacher | None = None,
        batch_size: int = 4,
        keep: Keeping | None = None,
        shards: Shards | None = None,
        watch: Callable[[Evidence], object] = lambda evidence: None,
    ) -> Any:
        """Estimate the accuracy on new images, from predictions or with the detector.

        Parameters
        ----------
        predictions : path-like or PredictionFiles, optional
            What the detector found, as COCO results; see `autoeval.load_predictions`.
        images : path-like or sequence, optional
            With `predictions` all images that the detector was run on (a folder, a COCO JSON or a
            text file with a name a line), since those without a box are not in the predictions;
            by default those of the plan, where `labels` lie in the folder of one.
            With a detector the images to run it on: a folder, a COCO JSON file, or a sequence of
            paths or of arrays (H, W, 3), uint8, BGR.
        detector : ImageDetector, optional
            The one that it was fitted with; by default it is loaded as it was then.
        labels : path-like, optional
            Labels of some of the images, in any format of `autoeval.load_labels`. Those in a folder
            that `autoeval.plan_labels` wrote are taken as its plan drew them, others as a simple
            random sample.
        words : mapping of str to str, optional
            Category of the estimate for each word of the labels; by default equal words.
        categories : mapping of str to sequence of str, optional
            Categories to expect in all images, each with the detector's words for it, such as
            ``{"vehicle": ["car", "bus", "truck"]}``. By default those of the task that it was
            fitted on, else every category that is detected, on the images where it is.
        repeats : int, optional
            Perturbed passes, for methods that read them; by default as many as it was fitted with.
        domain : SourceDomain, optional
            The detector's training domain, for methods that compare with it.
        teacher : Teacher, optional
            A stronger detector, where the estimator compares with one.
        batch_size : int
            Changes no number.
        keep : Keeping, optional
            Where to keep what is observed, and who observes.
        shards : Shards, optional
            Which processes share the images.
        watch : callable
            Called with the evidence of each image, where a detector is run.

        Returns
        -------
        Estimate
            Its `site` holds the boxes. With `labels` a `LabelledEstimate`.

        Raises
        ------
        InputError
            If there are neither predictions nor images, they are of another detector, nothing can
            be read, or nothing is detected.
        """
        regression = self._fitted
        of_boxes = isinstance(regression, BayesianRegression)
        categories = categories or self.expected_categories_
        if predictions is not None:
            if detector is not None:
                raise InputError("Expected either predictions or a detector, but got both.")
            if not of_boxes:
                raise InputError(
                    f"The method '{self.method}' reads scores that need the detector itself: "
                    f"fit by '{DEFAULT_METHOD}' to estimate from predictions."
                )
            files = predictions
            if not isinstance(files, PredictionFiles):
                files = PredictionFiles(files)
            if images is not None and not isinstance(images, str | os.PathLike):
                raise InputError("With predictions, `images` is a folder, a COCO JSON or a list.")
            known: PathLike | Sequence[LabelledImage] | None = images
            if images is None and labels is not None and (Path(labels).parent / PLAN).exists():
                known = load_plan(Path(labels).parent).found.images
            site = site_of_files(files, self.statistics_, images=known, categories=categories)
            self._check_passes(site)
            return self._predict_with(site, labels, words)
        if images is None:
            raise InputError("Expected predictions, or images to run the detector on.")
        listed = list_images(images)
        detector = detector or self.load_detector()
        teacher = teacher or self.load_teacher()
        if not of_boxes:
            observer = self.observer(
                detector, repeats=repeats, domain=domain, teacher=teacher, batch_size=batch_size
            )
            self.check_context(observer.context())
            site = score_images(keeping(observer, keep), listed, shards=shards, watch=watch)
        else:
            check_teacher(regression.features_, teacher)
            observer = keeping(self.box_observer(detector, teacher, batch_size), keep)
            site = site_of_images(
                observer, listed, categories=categories, shards=shards, watch=watch
            )
        return self._predict_with(site.warned(self._warnings_of_fit()), labels, words)

    def plan_labels(
        self,
        estimate: Estimate,
        *,
        n: int = 20,
        seed: int = 0,
        frames: int | None = None,
        pseudo_labels: PathLike | None = None,
        pseudo_words: Mapping[str, str] | None = None,
    ) -> LabelPlan:
        """Draw images to label, of those that were estimated; see `plan_site`.

        Parameters
        ----------
        estimate : Estimate
            From `predict`, with its site.
        n, seed, frames, pseudo_labels, pseudo_words
            See `autoeval.estimation.label_planning.plan_site`.

        Raises
        ------
        InputError
            As `plan_site`; if the estimate holds no site.
        """
        if estimate.site is None:
            raise InputError("Expected an estimate from `predict`: this one holds no boxes.")
        return plan_site(
            estimate.site,
            self.label_assistance_,
            self._priors(estimate),
            target=self.target,
            level=self.level,
            n=n,
            seed=seed,
            frames=frames,
            pseudo_labels=pseudo_labels,
            pseudo_words=pseudo_words,
            detector=estimate.site.detector,
        )

    def load_detector(self) -> ImageDetector:
        """Load the detector that it was fitted with.

        Raises
        ------
        InputError
            If it was fitted on prediction files, does not know how its detector is loaded, or a
            file is no longer where it was.
        """
        if self.detector_ is not None:
            return self.detector_
        if not self.loading_:
            known = "detector" in self.context_
            raise InputError(
                "This estimator does not know how its detector is loaded: pass `detector` "
                "(--detector or --config)."
                if known
                else "This estimator was fitted on prediction files: pass the predictions of the "
                "new images (--predictions), or fit it with the detector (`autoeval fit --labels "
                "PATH --detector ALIAS`)."
            )
        return DetectorSpec.from_dict(self.loading_["detector"])()

    def load_teacher(self) -> Teacher | None:
        """Load the teacher that it was fitted with, where that was a detector."""
        spec = self.loading_.get("teacher")
        return load_teacher(DetectorSpec.from_dict(spec)) if spec else None

    def predict_site(self, site: Site) -> Estimate:
        """Estimate from what `site` returns."""
        regression = self._fitted
        if not isinstance(regression, BayesianRegression):
            rows = pd.DataFrame(site.row["rows"])
            estimate = self.predict_rows(rows, backbone=site.backbone)
        else:
            scores = site.scores(regression.features_, self.score_thr)
            rows = pd.DataFrame([of.row() for of in scores])
            sampling = site_sampling(
                regression, scores, rows, n_images=len(site.boxes), blocks=site.boxes.blocks
            )
            estimate = regression.predict_rows(
                rows, backbone=site.backbone, sampling=sampling, unseen=site.unseen
            )
            rows = sampling.independent(rows)
            estimate = self._with_other_targets(estimate, rows, site.unseen)
            estimate = replace(estimate, n_images=len(site.boxes))
            site = replace(site, row={**site.row, "rows": rows})
        warnings = (*site.warnings, *unseen_warning(site.unseen), *estimate.warnings)
        return replace(estimate, warnings=warnings, site=site)

    def predict_rows(self, rows: pd.DataFrame, *, backbone: str = "ResNet") -> Estimate:
        """Estimate from the scores of one set of images; see `Regression`."""
        regression = self._fitted
        estimate = regression.predict_rows(rows, backbone=backbone)
        if isinstance(regression, BayesianRegression):
            return self._with_other_targets(estimate, regression.site_rows(rows), 0.0)
        if estimate.per_category or not any("/" in str(name) for name in rows):
            return estimate
        categories = estimate_categories(
            self.table_, rows, method=self.method, target=self.target, level=self.level
        ).rename(columns={"estimate": "value"})
        table = categories.set_index("category")[["value", "lower", "upper"]]
        return replace(estimate, per_category=table.to_dict("index"))

    def predict_left_out(self) -> np.ndarray:
        """Estimate each row of `table_` without its source; see `Regression`."""
        return self._fitted.predict_left_out()

    def observer(
        self,
        detector: ImageDetector,
        *,
        repeats: int | None = None,
        domain: SourceDomain | None = None,
        teacher: Teacher | None = None,
        batch_size: int = 4,
    ) -> Observer:
        """Make the pass that the scores of the training table were made with.

        Raises
        ------
        InputError
            If the estimator does not know its pass, was fitted with another detector (naming what
            differs) or fewer repeats, or needs a training domain or a teacher and there is none.
        """
        fitted = getattr(self, "regression_", None)
        task, settings = recall_pass(
            getattr(self, "context_", {}),
            detector,
            features=fitted.features_ if fitted else (),
            fitted_repeats=fitted_repeats(fitted.table_) if fitted else 0,
            repeats=repeats,
            domain=domain,
            teacher=teacher,
        )
        return Observer(detector, task, settings, batch_size=batch_size)

    def box_observer(
        self, detector: ImageDetector, teacher: Teacher | None = None, batch_size: int = 4
    ) -> Observer:
        """Make the pass that finds the boxes which scores and label assistance read.

        Its categories are the detector's own words, so that one pass serves all categories.

        Raises
        ------
        InputError
            If the estimator was fitted with another detector, naming what differs.
        """
        self.check_detector(detector)
        settings, needs = light(), set(needs_of(self._fitted.features_))
        if self.label_assistance_ is not None:
            needs |= self.label_assistance_.needs
        if "perturbed" in needs:
            repeats = fitted_repeats(self.table_)
            settings = self.observer(detector, repeats=repeats, teacher=teacher).settings
        wants = tuple(name for name in ("half_size", *BY_PRODUCTS) if name in needs)
        settings = replace(settings, teacher=teacher, wants=wants)
        words = {word: [word] for word in detector.categories}
        task = any_task(words, detector.categories)
        return Observer(detector, task, settings, batch_size=batch_size)

    def check_detector(self, detector: ImageDetector) -> None:
        """Make sure that a detector is the one it was fitted with.

        Raises
        ------
        InputError
            Saying what differs.
        """
        if "detector" not in self.context_:
            raise InputError(
                "This estimator was fitted on prediction files, so it cannot tell whether a "
                "detector is theirs: give the predictions of the new images, or fit it with the "
                "detector."
            )
        refuse_differences(self.context_["detector"], detector.settings, "detector.")

    def check_context(self, context: Mapping[str, Any]) -> None:
        """Make sure that rows made with ``context`` may be given to `predict_rows`.

        Raises
        ------
        InputError
            Saying which settings differ from those the estimator was fitted with.
        """
        fitted: Mapping[str, Any] = {k: v for k, v in self.context_.items() if k != "boxes"}
        ignored = {"measures"} - context.get("pass", {}).keys()  # they need labels
        if not of_domain(self._fitted.training_range_):
            ignored |= {"domain"}
        if "teacher" not in needs_of(self._fitted.training_range_) or (
            _by_files(fitted) and _by_files(context)
        ):
            ignored |= {"teacher"}
        refuse_differences(_without(fitted, ignored), _without(context, ignored))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the estimator to one Parquet file: its training table and its settings."""
        table = self.table_
        metadata = {
            "estimator": self.get_params(),
            "context": self.context_,
            "loading": self.loading_,
        }
        if self.label_assistance_ is not None:
            metadata["labels"] = self.label_assistance_.to_dict()
        write_artefact(path, table, metadata)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read an estimator and fit it again on the table it carries.

        Raises
        ------
        InputError
            If the file is missing or is not a saved estimator.
        """
        table, metadata = read_artefact(path)
        settings = metadata["estimator"]
        estimator = cls(settings["method"], target=settings["target"], level=settings["level"])
        try:
            labels = metadata.get("labels")
            return estimator.fit_rows(
                table,
                context=metadata["context"],
                label_assistance=LabelAssistance.from_dict(labels) if labels else None,
                loading=metadata.get("loading"),
            )
        except InputError as error:
            raise InputError(f"{path} holds an estimator that cannot be used. {error}") from error

    @property
    def _fitted(self) -> Regression:
        if not hasattr(self, "regression_"):
            raise InputError(
                f"This estimator by '{self.method}' is not fitted: make one with `autoeval.fit`, "
                "`fit_rows` of a score table, or `load`."
            )
        return self.regression_

    @property
    def score_thr(self) -> float:
        """Boxes with a lower score count in no score."""
        stability = self.context_.get("pass", {}).get("stability", {})
        return float(stability.get("score_thr", SCORE_THR))

    def _predict_with(
        self, site: Site, labels: PathLike | None, words: Mapping[str, str] | None
    ) -> Estimate | LabelledEstimate:
        """Estimate without labels, or with those of some images."""
        estimate = self.predict_site(site)
        if labels is None:
            return estimate
        content, folder = read_labels(Path(labels), None), Path(labels).parent
        if not (folder / PLAN).exists():
            plan = self.plan_labels(estimate, n=1)
            return estimate_with_labels(plan, content, words=words, planned=False)
        plan = load_plan(folder)
        names = {image.image_id for image in site.boxes.clean.images}
        if any(image.image_id not in names for image in plan.found.images):
            raise InputError(f"{folder} holds a plan for other images than these.")
        return estimate_with_labels(plan, content, words=words)

    def _warnings_of_fit(self) -> tuple[str, ...]:
        return self.statistics_.warnings if "boxes" in self.context_ else ()

    def _priors(self, estimate: Estimate) -> dict[str, ValueWithError]:
        """Return the label-free estimates of all average precisions, with their errors."""
        assert estimate.site is not None
        rows = pd.DataFrame(estimate.site.row["rows"])
        found: dict[str, ValueWithError] = {}
        for target in (name for name in AP_TARGETS if name in self.table_):
            of_target, regression = estimate, self._fitted
            if target != self.target:
                regression = self.other_targets_.get(target) or make_regression(
                    self.method, target=target, level=self.level
                ).fit(self.table_)
                of_target = regression.predict_rows(rows, backbone=estimate.site.backbone)
            error = None
            if isinstance(regression, BayesianRegression):
                if target != self.target:
                    of_target = regression.predict_rows(rows, unseen=estimate.site.unseen)
                error = error_elsewhere(regression.cross_validated_, self.level) or OF_ONE_SET
            found |= priors_of(of_target, error)
        return found

    def _check_passes(self, site: Site) -> None:
        """Make sure that new predictions hold the passes that the regression reads."""
        missing = sorted(needs_of(self._fitted.features_) - site.boxes.passes)
        if missing:
            option = {
                "half_size": "a pass at half the size: give that of these images, too "
                "(--half-size-predictions)",
                "teacher": "a teacher: give its predictions on these images, too (--teacher)",
            }
            raise InputError(
                f"This estimator was fitted with {option.get(missing[0], missing[0])}, or fit "
                "again without."
            )

    def _with_other_targets(
        self, estimate: Estimate, rows: pd.DataFrame, unseen: float
    ) -> Estimate:
        """Add the estimates of the other average precisions, and what they say of loose boxes."""
        others = {n: of.predict_mean(rows, unseen=unseen) for n, of in self.other_targets_.items()}
        beside = {name: bounds(interval) for name, interval in others.items()}
        values = {self.target: estimate.value, **{n: of["value"] for n, of in beside.items()}}
        loose = tightness(self._fitted.rows_, values)  # type: ignore[attr-defined]
        return replace(estimate, beside=beside, warnings=(*estimate.warnings, *loose))


def _by_files(context: Mapping[str, Any]) -> bool:
    """Whether there was a teacher's predictions, which are others for other images."""
    return str(context.get("pass", {}).get("teacher", "")).startswith(OF_FILES)


def _without(context: Mapping[str, Any], ignored: set[str]) -> dict[str, Any]:
    """Leave out some settings of the pass."""
    described = {k: v for k, v in context.get("pass", {}).items() if k not in ignored}
    return {**context, "pass": described} if "pass" in context else dict(context)
