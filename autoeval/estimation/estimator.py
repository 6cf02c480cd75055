"""The estimator: label-free scores in, accuracy with a prediction interval out.

`AccuracyEstimator` is what `autoeval.fit` returns and every other function of the package takes:
the pairs of site and category of the labelled data, the calibration of the detector, and how its
files look. It fits a regression for each target when that is first wanted, at the score floor that
new boxes begin at. Here is the order of the steps; what they do is in the neighbours:
`autoeval.estimation.read_site` and `autoeval.estimation.run_detector` make the `Site`,
`autoeval.estimation.estimate` scores it and predicts, `autoeval.estimation.label_planning` draws
images to label, `autoeval.estimation.fit_file` is the form on disk.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import Self

from autoeval.accuracy.measures import AP_TARGETS, IOUS, OperatingPoint, find_target, points_at
from autoeval.boxes import Categories, words_of
from autoeval.errors import InputError
from autoeval.estimation.estimate import Estimate, estimate_rows, estimate_site
from autoeval.estimation.fit_file import FittedSites, FloorFit, read_fit, write_fit
from autoeval.estimation.given import (
    GivenLabels,
    Predictions,
    checked_present,
    given_boxes,
    named_categories,
    other_reference,
)
from autoeval.estimation.read_site import (
    GivenImages,
    boxes_of_fit,
    site_of_files,
    with_chosen_reference,
)
from autoeval.io.predictions.category_words import known_spellings
from autoeval.model.calibration import ScoreCalibration
from autoeval.model.pair_table import CATEGORY, PRECISION, REFERENCE_FEATURES, Table
from autoeval.model.priors import FULL
from autoeval.model.regression import Regression
from autoeval.runtime.files import PathLike
from autoeval.sites.file_looks import SAME_FLOOR, ConfidentBoxes, Looks, unlike_fit
from autoeval.sites.site import Site
from autoeval.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from autoeval.estimation.given import GivenBoxes
    from autoeval.estimation.observation.kept_observer import Keeping
    from autoeval.estimation.observation.observing import ImageDetector
    from autoeval.estimation.observation.reference_boxes import Reference
    from autoeval.estimation.protocol import FitResult, HeldOutErrors
    from autoeval.io.labels.content import LabelSet
    from autoeval.labels.assistance import LabelAssistance
    from autoeval.labels.labelled_estimate import LabelledEstimate
    from autoeval.labels.plan import LabelPlan


@dataclass(frozen=True, eq=False, repr=False)
class AccuracyEstimator:
    """Estimates the accuracy of a detector on images without labels.

    `autoeval.fit` makes one from labelled data, and `load` reads a saved one. It is frozen data:
    names that end in an underscore were learnt from the labelled data. The boxes of a network, of a
    Python callable and of prediction files are treated the same way.

    Parameters
    ----------
    rows_ : mapping of str to ndarray, or DataFrame
        The pairs of site and category that it is fitted on, see `autoeval.model.pair_table`; or a
        score table, see `autoeval.estimation.category_scores`.
    target : str
        Column to estimate: a name in `autoeval.accuracy.measures.TARGETS`, or precision, recall or
        F1 at a score threshold, such as ``recall@0.3``.
    level : float
        Nominal coverage of the interval.
    context_ : mapping
        What the rows were made with, as nested plain values: ``task`` where all sites are of one
        task, ``words`` of the categories of some of the fits that were joined, and, where a
        detector was run, ``detector`` and ``pass``, which are compared before new images are
        estimated.
    looks_ : Looks, optional
        How the boxes of the fit look, with the settings of a detector that it ran; None where it
        was fitted on rows alone, so that no predictions can be compared with them.
    calibration_ : ScoreCalibration, optional
        Of the detector's confidences; see docs/explanation/calibration.md.
    reference_calibration_ : ScoreCalibration, optional
        Of the confidences of the reference detector, where it was fitted with one.
    assistance_ : LabelAssistance or mapping, optional
        What `label_assistance_` is, or is read from: most commands do not need it.
    loading_ : mapping
        How its ``detector`` and its ``reference`` are loaded, where that is known; each as
        `DetectorSpec.to_dict` has it.
    floors_ : mapping of float to FloorFit
        The same fit at higher score floors; see `at_floor`.
    sites_ : FittedSites
        The labelled sites that it was fitted on, from which fits are joined.
    held_out_ : HeldOutErrors, optional
        Errors of estimates of what was left out of the fit, of the target of the fit; None where
        nothing could be left out.
    fit_result_ : FitResult, optional
        How it was evaluated when it was fitted; not saved.
    detector_ : ImageDetector, optional
        The detector, where it was fitted with it in this process; not saved.
    regressions_ : dict
        The regressions of the rows that were used so far, by target and level.
    regression_ : Regression
        From the scores of a site to the target, fitted on the rows.

    Raises
    ------
    InputError
        If the rows are no table, there is no such target, the level is not over 0 and under 1, a
        column is missing, or no row has a finite accuracy.

    Examples
    --------
    Three labelled sites of cars, and the scores of a new one (`autoeval.fit` and `predict` compute
    them from boxes). With so few sites the interval is wide:

    >>> import pandas as pd
    >>> fitted = AccuracyEstimator(
    ...     pd.DataFrame(
    ...         {
    ...             "source": ["gate", "yard", "road"],
    ...             "category": "car",
    ...             "n_images": [100, 80, 120],
    ...             "expected_ap": [0.5, 0.3, 0.6],
    ...             "likely_share": [0.4, 0.3, 0.5],
    ...             "box_size": [-2.0, -2.2, -1.9],
    ...             "mAP": [0.48, 0.33, 0.62],
    ...         }
    ...     )
    ... )
    >>> fitted
    <AccuracyEstimator of mAP, level 0.9, fitted on 3 sites>
    >>> new = {"n_images": [200], "expected_ap": [0.4], "likely_share": [0.35], "box_size": [-2.0]}
    >>> estimate = fitted.predict_rows(pd.DataFrame({"category": ["car"], **new}))
    >>> round(estimate.value, 2), round(estimate.lower, 2), round(estimate.upper, 2)
    (0.42, 0.23, 0.61)
    """

    rows_: Table
    target: str = "mAP"
    level: float = 0.9
    _: KW_ONLY
    context_: Mapping[str, Any] = field(default_factory=dict)
    looks_: Looks | None = None
    calibration_: ScoreCalibration = None  # type: ignore[assignment]
    reference_calibration_: ScoreCalibration | None = None
    assistance_: LabelAssistance | Mapping[str, Any] | None = None
    loading_: Mapping[str, Any] = field(default_factory=dict)
    floors_: Mapping[float, FloorFit] = field(default_factory=dict)
    sites_: FittedSites = field(default_factory=FittedSites)
    held_out_: HeldOutErrors | None = None
    fit_result_: FitResult | None = None
    detector_: ImageDetector | None = None
    regressions_: dict[tuple[str, float], Regression] = field(default_factory=dict)
    regression_: Regression = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.rows_, Mapping) and not hasattr(self.rows_, "columns"):
            raise InputError(
                "Expected the pairs of a fit as rows_, a mapping or a DataFrame, but got "
                f"{self.rows_!r}: `autoeval.fit(labels, predictions)` makes an estimator, and "
                "`autoeval.AccuracyEstimator.load(path)` reads a saved one."
            )
        object.__setattr__(self, "regression_", self.regression_of(self.target))

    def __repr__(self) -> str:
        state = f"fitted on {counted(len(self.regression_.sites_), 'site')}"
        return f"<AccuracyEstimator of {self.target}, level {self.level}, {state}>"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return ``target`` and ``level``, by which scikit-learn describes an estimator.

        Parameters
        ----------
        deep : bool
            Has no effect: no parameter is an estimator.
        """
        return {"target": self.target, "level": self.level}

    @property
    def table_(self) -> pd.DataFrame:
        """`rows_` as a DataFrame."""
        import pandas as pd

        return pd.DataFrame(dict(self.rows_))

    def regression_of(self, target: str) -> Regression:
        """Return the regression of a target on the rows, fitted when it is first wanted.

        Parameters
        ----------
        target : str
            As for `for_target`.

        Returns
        -------
        Regression
            At the floor of the boxes of the fit. Of a score table the own images of each site are
            its pairs, see `pair_rows`.

        Raises
        ------
        InputError
            If there is no such target, or no row has a finite accuracy of it.
        """
        regression = self.regressions_.get((target, self.level))
        if regression is None:
            floor = self.looks_.floor if self.looks_ else FULL
            regression, rows = Regression(target=target, level=self.level, floor=floor), self.rows_
            wide = any("/" in str(name) for name in rows)
            if wide:
                from autoeval.estimation.category_scores import pair_rows

                rows = pair_rows(self.table_)
            regression.fit(rows)
            if wide:
                regression.table_ = self.rows_
            self.regressions_[target, self.level] = regression
        return regression

    def regressions_of(self, targets: Iterable[str] | None = None) -> dict[str, Regression | None]:
        """Return the regression of each target; None for precision that the fit cannot estimate.

        It cannot at a threshold that no box of the labelled images is over.

        Parameters
        ----------
        targets : iterable of str, optional
            By default the other average precisions that the rows have.

        Returns
        -------
        dict of str to Regression or None
            By target, in the order of `targets`.

        Raises
        ------
        InputError
            If one cannot be fitted that is not a precision.
        """
        if targets is None:
            rows = self.regression_.pairs_
            targets = [name for name in AP_TARGETS if name != self.target and name in rows]
        regressions: dict[str, Regression | None] = {}
        for target in targets:
            try:
                regressions[target] = self.regression_of(target)
            except InputError:
                if not target.startswith(PRECISION):
                    raise
                regressions[target] = None
        return regressions

    def for_target(self, target: str) -> Self:
        """Return an estimator of another target, fitted on the same rows.

        Parameters
        ----------
        target : str
            A name in `autoeval.accuracy.measures.TARGETS`, or precision, recall or F1 at a score
            threshold, such as ``recall@0.3``.

        Returns
        -------
        AccuracyEstimator
            Itself, where the target is its own; another one has no `fit_result_`.

        Raises
        ------
        InputError
            If there is no such target, or the rows do not have what it needs.
        """
        name = find_target(target).name
        return self if name == self.target else replace(self, target=name, fit_result_=None)

    def at_floor(self, floor: float) -> Self:
        """Return the same fit for files that begin at another score; see `Site.floor`.

        Parameters
        ----------
        floor : float
            One of `floors_`; 0 for that of its own files.

        Returns
        -------
        AccuracyEstimator
            With the pairs and the calibration of that floor, and no other floors; itself for 0.

        Raises
        ------
        KeyError
            If the fit is not known at this floor.
        """
        if not floor:
            return self
        floor_fit = self.floors_[floor]
        # Sets of the fit were described with all their boxes.
        return replace(
            self,
            rows_=floor_fit.rows,
            looks_=replace(self.known_looks(), floor=floor, floors=(), confident=()),
            calibration_=floor_fit.calibration,
            floors_={},
            fit_result_=None,
            regressions_=floor_fit.regressions,
        )

    @property
    def label_assistance_(self) -> LabelAssistance | None:
        """What estimates with a few labels need; None where too little was labelled for it.

        Read again at each access where the estimator was loaded from a file.
        """
        from autoeval.labels.assistance import LabelAssistance

        assistance = self.assistance_
        return (
            LabelAssistance.from_dict(assistance) if isinstance(assistance, Mapping) else assistance
        )

    @property
    def categories_(self) -> Categories | None:
        """The categories whose detector words were given to the fit; None for its own words."""
        task = self.context_.get("task")
        if task is None or (np.asarray(self.rows_["kind"]) == CATEGORY).any():
            return None
        return {name: list(words) for name, words in task["words"].items()}

    def known_looks(self) -> Looks:
        """Return how the boxes of the fit look.

        Raises
        ------
        InputError
            If it was fitted on rows alone, without boxes.
        """
        if self.looks_ is None:
            raise InputError(
                "This estimator does not know what the boxes of its fit look like, so new "
                "predictions cannot be compared with them: fit it by `autoeval.fit`."
            )
        return self.looks_

    def check_reference(self, given: bool, floor: float = 0.0) -> None:
        """Check that a reference detector is given where the fit reads one, and only there.

        Parameters
        ----------
        given : bool
            Whether new images come with boxes of a reference detector.
        floor : float
            Score at which the boxes of the detector begin, see `at_floor`: of a cut detector a
            reference that is no stronger otherwise may be read.

        Raises
        ------
        InputError
            If the two differ.
        """
        of_pass, features = self.context_.get("pass", {}), {*REFERENCE_FEATURES}
        had = features & {*self.rows_} or of_pass.get("reference")
        read = features & {*self.at_floor(floor).regression_.features_}
        if (given and not had) or (not given and read):
            raise other_reference(given)

    def check_detector(self, detector: ImageDetector, reference: Reference | None = None) -> None:
        """Raise an error that names what differs, unless a detector is the one it was fitted with.

        Thresholds of scores may differ: boxes are then read as those of a file.

        Parameters
        ----------
        detector : ImageDetector
            The detector, loaded.
        reference : Reference, optional
            The reference detector that is run, too.

        Raises
        ------
        InputError
            If either is another one, other settings of it, or the fit is on files of predictions
            that `autoeval detect` did not write.
        """
        from autoeval.estimation.run_detector import check_detector

        context = self.context_
        if "detector" not in context and self.looks_ and self.looks_.detector:
            context = {**context, "detector": self.looks_.detector}  # of `autoeval detect`
        check_detector(context, detector, reference, thresholds=False)

    def load_detector(self) -> ImageDetector:
        """Load the detector that it was fitted with, where it knows how.

        Returns
        -------
        ImageDetector
            `detector_`, where it was fitted in this process.

        Raises
        ------
        InputError
            If it was fitted on files of predictions, or its files are no longer there.
        """
        from autoeval.estimation.run_detector import load_fitted

        return self.detector_ or load_fitted(self.context_, self.loading_)

    def predict(
        self,
        predictions: GivenBoxes | None = None,
        *,
        images: GivenImages = None,
        site: str | None = None,
        group: str | None = None,
        categories: Categories | None = None,
        present: Collection[str] = (),
        score_thr: float | None = None,
        iou: float = IOUS[0],
        keep: Keeping | None = None,
    ) -> Estimate:
        """Estimate the accuracy on new images, from predictions or with the detector.

        Parameters
        ----------
        predictions : path-like, object in memory, Predictions, Detector or ImageDetector, optional
            What the detector found: the path of its predictions, `autoeval.Predictions`, or an
            object, see docs/how-to/python.md. Or the detector that is to be run,
            `autoeval.Detector`; by default the one that it was fitted with, loaded as it was then.
        images : path-like or sequence, optional
            With predictions all images that the detector was run on (a folder, a COCO JSON, a
            text file with a name a line, or a sequence as below), since those without a box are not
            in the predictions.
            With a detector the images to run it on: a folder, a COCO JSON file, or a sequence of
            paths or of arrays (H, W, 3), uint8, BGR.
        site : str, optional
            Name of the labelled set, or of the site of a task, of which these are new images: the
            estimate is its labelled accuracy, changed as its scores are.
        group : str, optional
            Group of the fit that the site belongs to, such as cameras of one make whose images the
            same people label: the residuals of labelled sets of the group correct the estimate of
            this site.
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
        keep : Keeping, optional
            Where to keep what a detector that is run observes, and who observes.

        Returns
        -------
        Estimate
            Its `site` holds the boxes. Without a value where nothing was found. Labels of some of
            the images are for `estimate_with_labels`.

        Raises
        ------
        InputError
            If there are neither predictions nor images, they are of another detector, nothing can
            be read, the fit has no site or group of this name, or an option does not apply.
        """
        if site is not None and group is not None:
            raise InputError(
                "`site` names a labelled set of the fit, which has its group already: leave out "
                "`group` (--group)."
            )
        # names, also where somebody numbers sites and groups
        site_name = "" if site is None else str(site)
        group_name = "" if group is None else str(group)
        if site is not None:
            self.regression_.accuracies_at(site_name)  # refused where the fit has none of this name
        if group is not None:
            self.regression_.check_group(group_name)
        point = OperatingPoint.of(self.target)
        if point is None and score_thr is None and iou != IOUS[0]:
            raise InputError(
                f"An IoU of {iou:g} is that of precision, recall and F1 at a score threshold: "
                "give that, too, or leave the IoU out."
            )
        if point and (score_thr not in (None, point.score_thr) or iou not in (IOUS[0], point.iou)):
            raise InputError(
                f"This estimator is of {self.target}: `for_target` gives one at another threshold "
                "or IoU, or leave these out."
            )
        new_site = self.read_site(
            predictions,
            images=images,
            categories=categories,
            present=present,
            keep=keep,
        )
        new_site = replace(new_site, known=site_name, group=group_name)
        return self.predict_site(new_site, score_thr, iou)

    def read_site(
        self,
        predictions: GivenBoxes | None = None,
        *,
        images: GivenImages = None,
        categories: Categories | Sequence[str] | None = None,
        present: Collection[str] = (),
        labelled: LabelSet | None = None,
        keep: Keeping | None = None,
    ) -> Site:
        """Read the boxes of a new site as those of the fit, or run the detector to find them.

        Parameters
        ----------
        predictions, images, categories, present, keep
            See `predict`.
        labelled : LabelSet, optional
            Labels of some of the images, which tell images with equal boxes apart; copies among
            images that a detector is run on are known byte by byte.

        Returns
        -------
        Site
            The boxes in the categories that were given, or else in those of the fit. They are not
            calibrated yet: `calibrated` does that.

        Raises
        ------
        InputError
            If there are neither predictions nor images, the detector or the reference is not that
            of the fit, `keep` comes with predictions, or nothing can be read.
        """
        vocabulary = self.looks_.categories if self.looks_ else ()
        joined_words = self.context_.get("words")
        named = named_categories(categories, self.categories_, joined_words, vocabulary)
        spelt = known_spellings(present, [*(named or vocabulary)])
        present = [spelt.get(name, name) for name in present]
        box_source = None if predictions is None else given_boxes(predictions)
        found: Site | None = None
        if isinstance(box_source, Predictions):
            looks = self.known_looks()
            if keep is not None:
                raise InputError(
                    "keep: for a detector that is run, and predictions are read. Leave that out."
                )
            if len(box_source.references) > 1:
                box_source = with_chosen_reference(box_source, self.context_)
        else:
            if images is None:
                raise InputError("Expected predictions, or images to run the detector on.")
            from autoeval.estimation.observation.reference_boxes import (
                NEW_IMAGES,
                PredictionsReference,
            )
            from autoeval.estimation.run_detector import (
                Detector,
                any_task,
                detect_site,
                fitted_reference,
            )

            run = box_source or Detector(self.load_detector())
            reference = run.loaded_reference or fitted_reference(self.loading_)
            # refused before a long run; below what was read is checked, at the floor it is read at
            self.check_reference(reference is not None)
            self.check_detector(run.loaded, reference)
            looks = self.known_looks()
            any_task(named or {}, run.loaded.categories)  # refuses words that it does not know
            found = detect_site(
                run,
                images,  # type: ignore[arg-type]
                reference=reference,
                keep=keep,
            )
            box_source = Predictions(found.boxes, reference=found.reference)
            if isinstance(reference, PredictionsReference):  # it has files, which are read below
                path, names = reference.of_site(NEW_IMAGES), reference.names
                box_source = replace(box_source, reference=path, reference_names=names)
            images = None  # those of the boxes, all of them seen: what was not read is not there
        site = site_of_files(
            box_source,
            looks,
            images,
            categories=named,
            present=present,
            labelled=labelled,
        )
        self.check_reference(site.reference is not None, site.floor)
        if found is not None:
            row, warnings = {**found.row, **site.row}, (*found.warnings, *site.warnings)
            site = replace(site, images=found.images, row=row, warnings=warnings)
        again = boxes_of_fit(site.boxes, looks, self.sites_.read, in_part=bool(categories))
        return replace(
            site,
            named=bool(named),
            detector_words=words_of(named or {}),
            present=checked_present(present, named, site.boxes.categories),
            warnings=(*site.warnings, *again),
        )

    def calibrated(self, site: Site) -> Site:
        """Take a site as the fit reads it at the score that its boxes begin at.

        Parameters
        ----------
        site : Site
            From `read_site`.

        Returns
        -------
        Site
            With the calibrations of the fit, a warning of confident boxes unlike those of the fit,
            and an `unseen` that is at least the widening of the fit.

        Raises
        ------
        InputError
            If the fit has no calibration.
        """
        looks = self.looks_
        fit = self.at_floor(site.floor)  # one of `floors_`, or 0; floors below are lowest scores
        if fit.calibration_ is None:
            raise InputError("This estimator has no calibration: fit it by `autoeval.fit`.")
        if looks is not None:
            cut = site.boxes.floor > looks.floor + SAME_FLOOR
            unlike = unlike_fit(looks.confident, ConfidentBoxes.of(site.boxes), cut=cut)
            unseen = max(site.unseen, looks.widening)
            site = replace(site, warnings=(*site.warnings, *unlike), unseen=unseen)
        return replace(
            site,
            calibration=fit.calibration_,
            reference_calibration=fit.reference_calibration_,
        )

    def predict_site(
        self,
        site: Site,
        score_thr: float | None = None,
        iou: float = IOUS[0],
        *,
        brief: bool = False,
    ) -> Estimate:
        """Estimate the accuracy at a site, by the fit at the score that its boxes begin at.

        Parameters
        ----------
        site : Site
            From `read_site`.
        score_thr : float, optional
            Score threshold at which precision, recall and F1 are estimated, too.
        iou : float
            At which IoU with an object a box over the threshold is a true positive.
        brief : bool
            Leave out other average precisions, the sampling error and expected counts at every
            threshold: for many windows of sites.

        Returns
        -------
        Estimate
            Values in the range of the target, in [0, 1] for accuracies; NaN where nothing was
            found. Its site is calibrated, and its `unseen` is at least the widening of the fit.

        Raises
        ------
        InputError
            If precision, recall or F1 are wanted at a known site, or the fit has no calibration.
        """
        site, fit = self.calibrated(site), self.at_floor(site.floor)
        other_regressions = {} if brief else fit.regressions_of()
        point = OperatingPoint.of(self.target)
        if point is not None:
            score_thr, iou = point.score_thr, point.iou
        if score_thr is not None:
            if site.known:
                raise InputError(
                    "At a known site mAP, mAP50 and mAP75 are estimated, not precision, recall and "
                    "F1: leave out either the site or the score threshold."
                )
            points = [name for name in points_at(score_thr, iou) if name != self.target]
            other_regressions |= fit.regressions_of(points)
        return estimate_site(site, fit.regression_, other_regressions, brief=brief)

    def predict_rows(self, rows: pd.DataFrame, *, backbone: str = "ResNet") -> Estimate:
        """Estimate from the scores of one set of images, without its boxes.

        Parameters
        ----------
        rows : DataFrame
            One row a category: ``category``, ``n_images`` and the scores that the regression reads,
            see `autoeval.model.pair_table`; or rows of a score table, of which `pair_rows` takes
            the pairs.
        backbone : str
            Class of the detector's backbone; one that the method was not validated on is warned of.

        Returns
        -------
        Estimate
            Without a site, so that no images can be drawn to label.

        Raises
        ------
        InputError
            If a score is missing.
        """
        from autoeval.estimation.category_scores import pair_rows

        other_regressions = self.regressions_of()
        return estimate_rows(
            self.regression_, pair_rows(rows), other_regressions, backbone=backbone
        )

    def predict_left_out(self) -> np.ndarray:
        """Estimate each of `rows_` by other groups; see `Regression.predict_left_out`."""
        return self.regression_.predict_left_out()

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
        n : int
            How many, from 1 to the number of images.
        seed : int, optional
            Of the draw; 0 by default.
        frames : int, optional
            Says that numbered files are frames; see `autoeval.labels.plan.blocks_of`.
        everywhere : bool
            Draw from all images, each with the same probability: for precision, too, not only from
            those with a box over its threshold, and not more often where a reference detector
            disagrees.

        Returns
        -------
        LabelPlan
            In memory alone: `autoeval.plan_labels` also writes the folder to label.

        Raises
        ------
        InputError
            If the estimate holds no site, the estimator has no label assistance or is of neither
            an average precision nor precision, recall or F1, or `n` is out of range.
        """
        from autoeval.estimation.label_planning import PlanRequest, plan_estimated

        request = PlanRequest(n, seed=seed, frames=frames, everywhere=everywhere)
        return plan_estimated(self, estimate, request)

    def estimate_with_labels(
        self,
        estimate: Estimate,
        labels: GivenLabels,
        *,
        img_dir: PathLike | None = None,
        words: Mapping[str, str] | None = None,
        score_thr: float | None = None,
    ) -> LabelledEstimate:
        """Estimate accuracy with labels that no plan drew: a simple random sample of the images.

        With the labels of all images the value is exact, and nothing else is predicted. Labels of a
        plan are for `autoeval.estimate_with_labels`.

        Parameters
        ----------
        estimate : Estimate
            From `predict`, with its site.
        labels : path-like or object in memory
            COCO, YOLO or VOC; in memory as for `autoeval.fit`.
        img_dir : path-like, optional
            Folder of the labelled images, where their format does not say.
        words : mapping of str to str, optional
            Words of the labels that count, each with the category of the estimate; by default equal
            words, and the detector's words for a category where these were given.
        score_thr : float, optional
            Estimate precision, recall and F1 of the boxes over this score, too; by default where
            the estimate has them.

        Returns
        -------
        LabelledEstimate
            The label-free estimate and the labels, combined by their variances.

        Raises
        ------
        InputError
            As `plan_labels`, or if the labels lie in the folder of a plan, cannot be read or are of
            other images.
        """
        from autoeval.estimation.given import read_labels, refuse_planned
        from autoeval.estimation.label_planning import plan_of_sample
        from autoeval.labels.labelled_estimate import estimate_with_labels

        refuse_planned(labels, "label estimate")
        content = read_labels(labels, img_dir)
        plan = plan_of_sample(self, estimate, content)
        return estimate_with_labels(plan, content, words=words, planned=False, score_thr=score_thr)

    def save(self, path: PathLike) -> None:
        """Write the estimator to a Parquet file: its rows and its settings.

        Its labelled sites, which `autoeval.join` needs, are written next to it, in a file of the
        same name that ends in ``.sites.npz``.

        Parameters
        ----------
        path : path-like
            The file to write, such as ``estimator.parquet``; its folder is made where needed.
        """
        write_fit(path, vars(self))

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read an estimator and fit it again on the rows it carries.

        Parameters
        ----------
        path : path-like
            What `save` wrote, or the work dir of a fit.

        Returns
        -------
        AccuracyEstimator
            Without `fit_result_` and `detector_`; what labels and joins need is read when it is
            used.

        Raises
        ------
        InputError
            If the file is missing, damaged or is not a saved estimator of this format.
        """
        fields = read_fit(path)
        try:
            return cls(**fields)
        except InputError as error:
            raise InputError(f"{path} holds an estimator that cannot be used. {error}") from error
