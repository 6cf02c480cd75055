"""The estimator: a fitted regression that knows how its scores were made."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from typing_extensions import Self

from autoeval.data.copied_files import copies_taken
from autoeval.data.unlabelled import Images, list_images
from autoeval.detections import Evidence
from autoeval.errors import InputError
from autoeval.estimation.artefact import (
    read_artefact,
    refuse_differences,
    refuse_predictions,
    write_artefact,
)
from autoeval.estimation.categories import estimate_categories
from autoeval.estimation.estimate import Estimate
from autoeval.estimation.labels.aid import LabelAid
from autoeval.estimation.observation.observing import ImageDetector, Observer
from autoeval.estimation.observation.samples import UnlabelledSamples
from autoeval.estimation.observation.source_domain import SourceDomain
from autoeval.estimation.observation.teacher_boxes import OF_FILES, Teacher
from autoeval.estimation.regressions import Regression, make_regression
from autoeval.estimation.remembered import fitted_repeats, recall_pass
from autoeval.estimation.sampling import RESAMPLED, RESAMPLES
from autoeval.runtime.shards import Shards, Undivided
from autoeval.scores.registry import needs_of, of_domain


class MapEstimator:
    """Estimates accuracy from label-free scores, and makes those scores where it is given images.

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
        What turns scores into an estimate.
    context_ : dict
        What the rows were made with; see `fit_rows`.
    aid_ : LabelAid or None
        What a few labels at a new place are helped by; see docs/labels.md.
    """

    def __init__(self, method: str = "bayes", *, target: str = "mAP", level: float = 0.9) -> None:
        self.method = method
        self.target = target
        self.level = level

    def __repr__(self) -> str:
        fitted = getattr(self, "regression_", None)
        state = f"fitted on {len(fitted.sources_)} sources" if fitted else "not fitted"
        return f"<MapEstimator of {self.target} by '{self.method}', level {self.level}, {state}>"

    def fit_rows(
        self,
        table: pd.DataFrame,
        *,
        context: Mapping[str, Any] | None = None,
        aid: LabelAid | None = None,
    ) -> Self:
        """Fit on a score table.

        Parameters
        ----------
        table : DataFrame
            See `autoeval.estimation.score_table`.
        context : mapping, optional
            What the rows were made with, from `Observer.context`: nested mappings of plain values,
            saved along and compared before the estimator is used on images.
        aid : LabelAid, optional
            Fitted on the same sources; saved along.

        Raises
        ------
        InputError
            As `SourceRegression.fit` and `PairRegression.fit`.
        """
        regression = make_regression(self.method, target=self.target, level=self.level)
        self.regression_ = regression.fit(table)
        self.context_ = dict(context or {})
        self.aid_ = aid
        return self

    @property
    def table_(self) -> pd.DataFrame:
        """The rows it was fitted on."""
        return self._fitted.table_

    def predict(
        self,
        images: Images,
        detector: ImageDetector,
        *,
        repeats: int | None = None,
        domain: SourceDomain | None = None,
        teacher: Teacher | None = None,
        batch_size: int = 4,
        shards: Shards | None = None,
    ) -> Estimate:
        """Run a detector over images without labels and estimate its accuracy there.

        Dropout, stability, seed and categories are those that the estimator was fitted with.

        Parameters
        ----------
        images : path-like or sequence
            A folder, a COCO JSON file, or a sequence of paths or of arrays (H, W, 3), uint8, BGR;
            see `autoeval.data.unlabelled.list_images`.
        detector : ImageDetector
            From `autoeval.detectors.load_detector`.
        repeats, domain, teacher, batch_size
            See `observer`.
        shards : Shards, optional
            Which processes share the images.

        Raises
        ------
        InputError
            As `observer`, and if no image can be read.

        Warns
        -----
        UserWarning
            Naming the images that could not be read.
        """
        observer = self.observer(
            detector, repeats=repeats, domain=domain, teacher=teacher, batch_size=batch_size
        )
        estimate, row = self.estimate(observer, images, shards=shards)
        if row["unreadable"]:
            warnings.warn(f"not read: {row['unreadable']}", stacklevel=2)
        return estimate

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

        Parameters
        ----------
        detector : ImageDetector
            The one that it was fitted with.
        repeats : int, optional
            Perturbed passes; by default as many as it was fitted with.
        domain : SourceDomain, optional
            The detector's training domain, where the estimator uses scores that compare with it.
        teacher : Teacher, optional
            A stronger detector, where the estimator compares with one.
        batch_size : int
            Changes no number.

        Raises
        ------
        InputError
            If the estimator does not remember its pass, was fitted with another detector (naming
            what differs) or fewer repeats, or needs a training domain or a teacher and there is
            none.
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

    def estimate(
        self,
        observer: Observer,
        images: Images,
        *,
        watch: Callable[[Evidence], object] = lambda evidence: None,
        shards: Shards | None = None,
    ) -> tuple[Estimate, dict[str, Any]]:
        """Observe images and estimate the accuracy there, with what else the pass says.

        Parameters
        ----------
        observer : Observer
            From `observer`, or any other pass that differs from it in the number of repeats alone.
        images : path-like or sequence
            As in `predict`.
        watch : callable
            Called with the evidence of each image.
        shards : Shards, optional
            Which processes share the images; see `Observer.rows`.

        Returns
        -------
        estimate : Estimate
            Its guards also count the images that could not be read, and those given twice.
        row : dict
            What the pass says, such as ``n_unreadable`` and ``unreadable``; scores are means over
            the repeats.

        Raises
        ------
        InputError
            If the estimator was fitted with another detector or other settings, or no image can be
            read.
        """
        self.check_context(observer.context())
        samples, shards = UnlabelledSamples(list_images(images)), shards or Undivided()
        mine = len(shards.part(len(samples)))
        with observer.begin(samples, mine, disable=not shards.leads) as bar:
            rows = observer.rows(
                samples, advance=bar.update, watch=watch, shards=shards, resamples=RESAMPLES
            )
        table = pd.DataFrame(rows)
        estimate = self.predict_rows(table, backbone=observer.detector.backbone)
        if len(observer.task.categories) > 1 and not estimate.per_category:
            estimate = replace(estimate, per_category=self._per_category(table))
        lost = rows[0]["n_unreadable"]
        if lost:
            reason = f"{lost} of {len(samples)} images could not be read and were left out"
            estimate = replace(estimate, guards=(*estimate.guards, reason))
        estimate = replace(estimate, guards=(*estimate.guards, *copies_taken(samples.images)))
        row = {name: value for name, value in rows[0].items() if name != RESAMPLED}
        return estimate, row | table.select_dtypes("float").mean().to_dict()

    def predict_rows(self, rows: pd.DataFrame, *, backbone: str = "ResNet") -> Estimate:
        """Estimate from the scores of one set of images; see `Regression`."""
        return self._fitted.predict_rows(rows, backbone=backbone)

    def predict_left_out(self) -> np.ndarray:
        """Estimate each row of `table_` without its source; see `Regression`."""
        return self._fitted.predict_left_out()

    def check_detector(self, detector: ImageDetector) -> None:
        """Make sure that a detector is the one it was fitted with.

        Raises
        ------
        InputError
            Saying what differs.
        """
        refuse_differences(self.context_.get("detector", {}), detector.settings, "detector.")

    def check_context(self, context: Mapping[str, Any]) -> None:
        """Make sure that rows made with ``context`` may be given to `predict_rows`.

        Raises
        ------
        InputError
            Saying which settings differ from those the estimator was fitted with.
        """
        fitted: Mapping[str, Any] = self.context_
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
        settings = {"method": self.method, "target": self.target, "level": self.level}
        table = self._fitted.table_
        aid = {"labels": self.aid_.to_dict()} if self.aid_ else {}
        metadata = {"estimator": settings, "context": self.context_, **aid}
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
        refuse_predictions(metadata, path)
        settings = metadata["estimator"]
        estimator = cls(settings["method"], target=settings["target"], level=settings["level"])
        try:
            aid = LabelAid.from_dict(metadata["labels"]) if "labels" in metadata else None
            return estimator.fit_rows(table, context=metadata["context"], aid=aid)
        except InputError as error:
            raise InputError(f"{path} holds an estimator that cannot be used. {error}") from error

    @property
    def _fitted(self) -> Regression:
        if not hasattr(self, "regression_"):
            raise InputError(
                f"This estimator by '{self.method}' is not fitted: `fit_rows` of a score table, or "
                "`load` one."
            )
        return self.regression_

    def _per_category(self, rows: pd.DataFrame) -> dict[str, dict[str, float]]:
        categories = estimate_categories(
            self.table_, rows, method=self.method, target=self.target, level=self.level
        ).rename(columns={"estimate": "value"})
        return categories.set_index("category")[["value", "lower", "upper"]].to_dict("index")


def _by_files(context: Mapping[str, Any]) -> bool:
    """Whether there was a teacher's predictions, which are others for other images."""
    return str(context.get("pass", {}).get("teacher", "")).startswith(OF_FILES)


def _without(context: Mapping[str, Any], ignored: set[str]) -> dict[str, Any]:
    """Leave out some settings of the pass."""
    described = {k: v for k, v in context.get("pass", {}).items() if k not in ignored}
    return {**context, "pass": described} if "pass" in context else dict(context)
