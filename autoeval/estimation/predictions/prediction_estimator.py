"""An estimator for a detector of which there are only predictions."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence

import pandas as pd
from typing_extensions import Self

from autoeval.errors import InputError
from autoeval.estimation.advice import advice
from autoeval.estimation.artefact import read_artefact, write_artefact
from autoeval.estimation.estimate import Estimate
from autoeval.estimation.guards import guards
from autoeval.estimation.intervals import Interval, widened
from autoeval.estimation.pairs.pair_estimator import PairEstimator
from autoeval.estimation.pairs.tightness import tightness
from autoeval.estimation.predictions.doubts.unseen_range import told as unseen_told
from autoeval.estimation.predictions.image_spread import sampling_std
from autoeval.estimation.predictions.memory import Memory
from autoeval.estimation.predictions.prediction_pairs import Pair
from autoeval.estimation.regression import Told
from autoeval.targets import find_target

METHOD = "pairs"
TARGETS = ("mAP", "mAP50", "mAP75")
BACKBONE = "black box"
PLAN = "autoeval label plan, which needs the detector itself"
FROM_FILES = (20, 17)  # half-widths, see docs/results/transfer.md


class PredictionsEstimator:
    """Estimates the accuracy of a detector from what it has found, by `PairEstimator`.

    Parameters
    ----------
    target : {"mAP", "mAP50", "mAP75"}
    level : float
        Nominal coverage of the intervals.

    Attributes
    ----------
    pairs_ : PairEstimator
    memory_ : Memory
        How the predictions of the fit looked.
    beside_ : dict of str to PairEstimator
        Those of the other targets.
    """

    def __init__(self, *, target: str = "mAP", level: float = 0.9) -> None:
        self.target = target
        self.level = level

    def fit(self, table: pd.DataFrame, memory: Memory) -> Self:
        """Fit on a pair table; see `labelled_pairs`.

        Raises
        ------
        InputError
            If no pair has a finite accuracy.
        """
        self.pairs_ = PairEstimator(target=self.target, level=self.level).fit(table)
        others = [name for name in TARGETS if name != self.target and name in table]
        self.beside_ = {n: PairEstimator(target=n, level=self.level).fit(table) for n in others}
        self.memory_ = memory
        return self

    def estimate(
        self, pairs: Sequence[Pair], *, doubts: Sequence[str] = (), unseen: float = 0.0
    ) -> Estimate:
        """Estimate the mean accuracy over the categories of a new place, and that of each.

        Parameters
        ----------
        pairs : sequence of Pair
        doubts : sequence of str
            Reasons for doubt that are known already.
        unseen : float
            How much of what scores read is missing in these predictions, see `unseen_share`; what
            was missing in the fit counts, too.

        Raises
        ------
        InputError
            If there is no pair.
        """
        if not pairs:
            raise InputError(
                "Nothing to estimate from: no category has a box over .3 in these predictions. "
                "Name those to be expected with --category."
            )
        rows = pd.DataFrame([pair.row() for pair in pairs])
        unseen = max(unseen, self.memory_.unseen)
        told, n_images = self.pairs_.predict_mean(rows, unseen=unseen), pairs[0].n_images
        features = {name: float(rows[name].mean()) for name in self.pairs_.features_}
        spread = sampling_std(self.pairs_, pairs, rows)
        found = Interval(told.lower, told.upper, _method(told))
        interval = widened(found, told.value, spread, n_images=n_images, level=self.level)
        target = find_target(self.target)
        doubted = guards(
            float(target.clip(told.raw)),
            features,
            self._training_range(),
            n_images=n_images,
            skipped_share=0.0,
            backbone=BACKBONE,
            doubtful=target.doubtful,
        )
        others = self.beside_.items()
        beside = {n: _bounds(of.predict_mean(rows, unseen=unseen)) for n, of in others}
        values = {self.target: told.value, **{name: of["value"] for name, of in beside.items()}}
        tight = tightness(self.pairs_.rows_, values)
        return Estimate(
            value=told.value,
            std=math.nan,
            lower=float(target.clip(interval.lower)),
            upper=float(target.clip(interval.upper)),
            level=self.level,
            interval_method=interval.method,
            target=self.target,
            method=METHOD,
            n_images=n_images,
            features=features,
            guards=(*doubts, *unseen_told(unseen), *_outside(told), *doubted, *tight),
            sampling_std=spread,
            source_lower=told.lower,
            source_upper=told.upper,
            per_category=self._each(rows, unseen) if len(pairs) > 1 else {},
            raw=told.raw,
            beside=beside,
            advice=advice(told, plan=PLAN, measured=FROM_FILES),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one Parquet file: the pair table and what is remembered."""
        settings = {"method": METHOD, "target": self.target, "level": self.level}
        context = {"predictions": self.memory_.to_dict()}
        write_artefact(path, self.pairs_.rows_, {"estimator": settings, "context": context})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read an estimator and fit it again on the table it carries.

        Raises
        ------
        InputError
            If the file is missing, is no saved estimator, or one of a detector that is at hand.
        """
        table, metadata = read_artefact(path)
        memory = metadata.get("context", {}).get("predictions")
        if memory is None:
            raise InputError(
                f"{path} was fitted with a detector, not with predictions: estimate from images."
            )
        settings = metadata["estimator"]
        estimator = cls(target=settings["target"], level=settings["level"])
        return estimator.fit(table, Memory.from_dict(memory))

    def _each(self, rows: pd.DataFrame, unseen: float) -> dict[str, dict[str, float]]:
        told = self.pairs_.predict(rows, unseen=unseen)
        return {name: _bounds(t) for name, t in zip(rows["category"], told, strict=True)}

    def _training_range(self) -> dict[str, tuple[float, float]]:
        rows = self.pairs_.rows_
        return {n: (float(rows[n].min()), float(rows[n].max())) for n in self.pairs_.features_}


def _bounds(told: Told) -> dict[str, float]:
    return {"value": told.value, "lower": told.lower, "upper": told.upper}


def _method(told: Told) -> str:
    if told.refused:
        return f"none: it would reach {100 * told.reach:.0f} points to each side"
    return "Bayesian"


def _outside(told: Told) -> list[str]:
    if not told.outside:
        return []
    return [f"the scores point {told.outside} what the sources can tell ({100 * told.raw:.1f})"]
