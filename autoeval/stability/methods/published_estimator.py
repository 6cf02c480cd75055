"""The estimator of a published method: a regressor on a score table, as in scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pandas as pd
from typing_extensions import Self

from autoeval.boxes import Categories
from autoeval.detections import Evidence
from autoeval.errors import InputError
from autoeval.estimation.estimate import Estimate
from autoeval.estimation.fit_file import read_artefact, write_artefact
from autoeval.estimation.given import GivenBoxes, Predictions, given_boxes
from autoeval.estimation.observation.detector_identity import identity_warnings
from autoeval.estimation.observation.kept_observer import Keeping, with_keeping
from autoeval.estimation.observation.observing import ImageDetector
from autoeval.estimation.protocol import FitResult, HeldOutErrors
from autoeval.estimation.run_detector import Detector, check_detector, fitted_reference, load_fitted
from autoeval.io.find_images import Images, list_images
from autoeval.model.regression import DEFAULT_METHOD
from autoeval.runtime.files import PathLike
from autoeval.sites.file_looks import Looks
from autoeval.sites.site import Site
from autoeval.stability.methods.categories import estimate_categories, has_categories
from autoeval.stability.methods.scored_pass import ScoredPass, scored_site
from autoeval.stability.methods.source_regression import PublishedEstimate, SourceRegression
from autoeval.stability.passes.presets import SourceDomain
from autoeval.stability.scores.base import needs_of, of_domain


class PublishedEstimator:
    """Estimates the accuracy of a detector on images without labels by a published method.

    `autoeval.stability.fitting.fit_task.fit_task` makes one from the sample sets of labelled
    sources.

    Parameters
    ----------
    method : str
        Name in `autoeval.stability.methods.methods`, other than that of the default.
    target : str
        Column to estimate: a name in `autoeval.accuracy.measures.TARGETS`.
    level : float
        Nominal coverage of the interval.

    Attributes
    ----------
    regression_ : SourceRegression
        One regressor a dropout repeat, with the errors on left-out sources.
    context_ : dict
        What the scores were made with; see `autoeval.estimation.estimator.AccuracyEstimator`.
    loading_ : dict
        How its detector is loaded, where that is known.
    held_out_ : HeldOutErrors or None
        Errors of estimates of what was left out, where it was evaluated.
    fit_result_ : FitResult or None
        What else is known of its fit; not saved.
    detector_ : ImageDetector or None
        The detector, where it was fitted with it in this process; not saved.
    """

    def __init__(self, method: str = "fused", *, target: str = "mAP", level: float = 0.9) -> None:
        self.method = method
        self.target = target
        self.level = level

    def __repr__(self) -> str:
        fitted = getattr(self, "regression_", None)
        state = f"fitted on {len(fitted.sites_)} sources" if fitted else "not fitted"
        return (
            f"<PublishedEstimator of {self.target} by '{self.method}', level {self.level}, {state}>"
        )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the constructor, as scikit-learn does.

        Parameters
        ----------
        deep : bool
            Without effect: no parameter is an estimator.
        """
        return {"method": self.method, "target": self.target, "level": self.level}

    def fit(
        self,
        table: pd.DataFrame,
        *,
        context: Mapping[str, Any] | None = None,
        loading: Mapping[str, Any] | None = None,
        held_out: HeldOutErrors | None = None,
        detector: ImageDetector | None = None,
    ) -> Self:
        """Fit on a score table; see `autoeval.estimation.category_scores`.

        Parameters
        ----------
        table : DataFrame
        context : mapping, optional
            What the rows were made with, compared before new images are estimated; saved along.
        loading : mapping, optional
            How the detector is loaded; saved along.
        held_out : HeldOutErrors, optional
            How it was evaluated; saved along.
        detector : ImageDetector, optional
            What `predict` runs by default.

        Raises
        ------
        InputError
            If there is no such method or target, the level is not over 0 and under 1, or the table
            lacks what the method reads.
        """
        if self.method == DEFAULT_METHOD:
            raise InputError(
                f"The method '{DEFAULT_METHOD}' is that of `autoeval.AccuracyEstimator`: fit that."
            )
        self.regression_ = SourceRegression(self.method, target=self.target, level=self.level).fit(
            table
        )
        self.context_ = dict(context or {})
        self.loading_ = dict(loading or {})
        self.held_out_ = held_out
        self.fit_result_: FitResult | None = None
        self.detector_ = detector
        return self

    @property
    def _fitted(self) -> SourceRegression:
        if not hasattr(self, "regression_"):
            raise InputError(
                f"This estimator by '{self.method}' is not fitted: `fit` it on a score table, or "
                "`load` one."
            )
        return self.regression_

    @property
    def table_(self) -> pd.DataFrame:
        """The score table that it was fitted on."""
        return self._fitted.table_

    @property
    def pass_(self) -> ScoredPass:
        """The pass over the images of the fit, which those of a new site get, too."""
        fitted = self._fitted
        ranged = tuple(fitted.training_range_)
        return ScoredPass(
            self.context_,
            self.loading_,
            fitted.features_,
            fitted.table_,
            compared=ranged,
            of_others=needs_of(self._features_of_others),
        )

    @property
    def _features_of_others(self) -> tuple[str, ...]:
        """Columns that methods read which were fitted along with this one."""
        compared_fits = self.fit_result_.compared.values() if self.fit_result_ else ()
        return tuple(name for fit in compared_fits for name in fit.regression_.features_)

    @property
    def reads_domain(self) -> bool:
        """Whether it, or a method fitted along, compares with the detector's training domain."""
        return bool(of_domain([*self._fitted.training_range_, *self._features_of_others]))

    @property
    def looks_(self) -> Looks | None:
        """How the boxes look on the sources' own images, where categories are labelled there."""
        return Looks.from_dict(self.context_["boxes"]) if "boxes" in self.context_ else None

    def check_detector(self, detector: ImageDetector) -> None:
        """Make sure that a detector is the one it was fitted with, or name what differs.

        Parameters
        ----------
        detector : ImageDetector
            The one to use.

        Raises
        ------
        InputError
            If it is another one.
        """
        check_detector(self.context_, detector)

    def load_detector(self) -> ImageDetector:
        """Load the detector that it was fitted with, where it knows how."""
        return self.detector_ or load_fitted(self.context_, self.loading_)

    def predict(
        self,
        predictions: GivenBoxes | None = None,
        *,
        images: Images | None = None,
        categories: Categories | None = None,
        repeats: int | None = None,
        domain: SourceDomain | None = None,
        keep: Keeping | None = None,
        watch: Callable[[Evidence], object] = lambda evidence: None,
    ) -> PublishedEstimate:
        """Run the detector on new images and estimate its accuracy there.

        Parameters
        ----------
        predictions : Detector or ImageDetector, optional
            By default the one that it was fitted with.
        images : path-like or sequence, optional
            See `autoeval.estimation.estimator.AccuracyEstimator.predict`.
        categories : mapping, optional
            Not for these methods, which estimate the categories of their task: refused.
        repeats : int, optional
            Perturbed passes; by default as many as it was fitted with.
        domain : SourceDomain, optional
            The training domain, for methods that compare with it.
        keep : Keeping, optional
            Where to keep what is observed, and who observes.
        watch : callable
            Called with the evidence of each image.

        Returns
        -------
        PublishedEstimate
            Its `site` holds the boxes.

        Raises
        ------
        InputError
            If predictions are given, the detector is another one, or something given is not read.
        """
        fitted_pass = self.pass_
        box_source = None if predictions is None else given_boxes(predictions)
        if isinstance(box_source, Predictions):
            raise InputError(
                f"The method '{self.method}' reads scores that need the detector itself: fit by "
                f"'{DEFAULT_METHOD}' to estimate from predictions."
            )
        if images is None:
            raise InputError("Expected images to run the detector on.")
        if categories:
            raise InputError(
                f"The method '{self.method}' estimates the categories of its task: leave out "
                f"`categories` (--category), or fit by '{DEFAULT_METHOD}'."
            )
        if domain is not None and not self.reads_domain:
            raise InputError(
                f"No score of this estimator by '{self.method}' compares with a training domain: "
                "leave out `domain` (--domain-source)."
            )
        pictures = list_images(images)
        run = box_source or Detector(self.load_detector())
        reference = run.loaded_reference or fitted_reference(self.loading_)
        fitted_pass.check_reference(reference is not None)
        observer = fitted_pass.observer(
            run.loaded,
            repeats=repeats,
            domain=domain,
            reference=reference,
            reading=run.reading,
        )
        fitted_pass.check_context(observer.context())
        site = scored_site(with_keeping(observer, keep or run.keeping(None)), pictures, watch=watch)
        repeated = self.looks_.warnings if self.looks_ else ()
        warnings = (
            *site.warnings,
            *repeated,
            *identity_warnings(run.loaded),
            *identity_warnings(getattr(reference, "detector", None)),
        )
        return self.predict_site(replace(site, warnings=warnings))

    def predict_site(self, site: Site) -> PublishedEstimate:
        """Estimate from the scores of `scored_site`.

        Parameters
        ----------
        site : Site
            What `scored_site` returned.
        """
        estimate = self.predict_rows(pd.DataFrame(site.row["rows"]), backbone=site.backbone)
        return replace(estimate, warnings=(*site.warnings, *estimate.warnings), site=site)

    def predict_others(self, site: Site) -> dict[str, Estimate]:
        """Estimate a site of `predict` by the other methods that were fitted along with this one.

        Parameters
        ----------
        site : Site
            What `scored_site` returned.

        Returns
        -------
        dict of str to Estimate
            By method; empty for a saved estimator, which carries its own method alone.
        """
        compared_fits = self.fit_result_.compared if self.fit_result_ else {}
        return {
            name: compared_fit.predict_site(site) for name, compared_fit in compared_fits.items()
        }

    def predict_rows(self, rows: pd.DataFrame, *, backbone: str = "ResNet") -> PublishedEstimate:
        """Estimate from the scores of one set of images, and each category that has its own.

        Parameters
        ----------
        rows : DataFrame
            Columns of the score table, one row a repeat; those of a category are
            ``score/CATEGORY``.
        backbone : str
            Class name of the detector's backbone, for a warning.
        """
        fitted = self._fitted
        estimate = fitted.predict_rows(rows, backbone=backbone)
        alone = not any("/" in str(name) for name in rows)
        if alone or not has_categories(fitted.table_, self.method, self.target):
            return estimate
        categories = estimate_categories(
            fitted.table_, rows, method=self.method, target=self.target, level=self.level
        ).rename(columns={"estimate": "value"})
        table = categories.set_index("category")[["value", "lower", "upper"]]
        return replace(estimate, per_category=table.to_dict("index"))

    def predict_left_out(self) -> np.ndarray:
        """Estimate each row of `table_` without its source; see `SourceRegression`."""
        return self._fitted.predict_left_out()

    def save(self, path: PathLike) -> None:
        """Write its score table and its settings to one Parquet file.

        Parameters
        ----------
        path : path-like
            The file.
        """
        table = self.table_  # refused where it is not fitted
        metadata = {"estimator": self.get_params(), "context": self.context_}
        metadata |= {
            "loading": self.loading_,
            "held_out": self.held_out_ and asdict(self.held_out_),
        }
        write_artefact(path, [table], metadata)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read what `save` wrote, or the work dir of a fit, and fit again on its table.

        Parameters
        ----------
        path : path-like
            A file, or a work dir.

        Raises
        ------
        InputError
            If the file is missing or is not a saved estimator of a published method.
        """
        table, metadata = read_artefact(path)
        settings, held_out = metadata["estimator"], metadata.get("held_out")
        try:
            return cls(
                str(settings.get("method", DEFAULT_METHOD)),
                target=settings["target"],
                level=settings["level"],
            ).fit(
                pd.DataFrame(table),
                context=metadata["context"],
                loading=metadata.get("loading"),
                held_out=HeldOutErrors(**held_out) if held_out else None,
            )
        except InputError as error:
            raise InputError(f"{path} holds an estimator that cannot be used. {error}") from error
