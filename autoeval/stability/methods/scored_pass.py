"""The pass of a published method: every score of a table, with the repeats of the fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from autoeval.errors import InputError
from autoeval.estimation.observation.detector_identity import refuse_differences
from autoeval.estimation.observation.observing import ImageDetector, Observer
from autoeval.estimation.observation.reference_boxes import OF_FILES, Reference
from autoeval.estimation.observation.samples import ImageLoading
from autoeval.estimation.read_site import FittedPass
from autoeval.io.tasks.task import Task
from autoeval.stability.network.as_perturbable import as_perturbable
from autoeval.stability.passes.presets import BY_PRODUCTS, ScoredSettings, SourceDomain
from autoeval.stability.scores.registry import needs_of, of_domain

REMEMBERED = {"detector", "pass", "task"}
WANTS = (*BY_PRODUCTS, "views", "reweighted", "prototypes")


@dataclass(frozen=True, eq=False)
class ScoredPass(FittedPass):
    """The pass by which the score table of a published method was made.

    compared: scores with a range in the fit.
    of_others: evidence beside the clean boxes that other methods read at the same site.
    """

    compared: tuple[str, ...] = ()
    of_others: frozenset[str] = frozenset()

    @property
    def stages(self) -> tuple[str, ...]:
        """Modules of the backbone that were named as its stages; none by default."""
        return named_stages(self.loading)

    def needs(self, columns: Iterable[str]) -> frozenset[str]:
        """Return the evidence beside the clean boxes that scores are made of."""
        return needs_of(columns)

    def observer(
        self,
        detector: ImageDetector,
        *,
        repeats: int | None = None,
        domain: SourceDomain | None = None,
        reference: Reference | None = None,
        reading: ImageLoading | None = None,
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
        detector = as_perturbable(detector, self.stages)
        refuse_differences(context["detector"], detector.settings, "detector.")
        needed = of_domain(self.features)
        if needed and domain is None:
            raise InputError(
                f"This estimator uses {' and '.join(needed)}, which compare with the detector's "
                "training domain, and an estimator does not carry that. Pass `domain`, made by "
                "`autoeval.stability.fitting.kept_domain.observe_source_domain` from the "
                "seed set that --domain-source named when it was fitted."
            )
        self.check_reference(reference)
        needs, wanted = self.needs(self.features), 0
        if "perturbed" in needs or repeats:
            fitted = _fitted_repeats(self.table)
            wanted = fitted if repeats is None else repeats
            if not min(1, fitted) <= wanted <= fitted:
                raise InputError(
                    f"Expected {min(1, fitted)} to {fitted} `repeats`, the number this estimator "
                    f"was fitted with, but got {wanted}."
                )
        needed_by_any = needs | self.of_others
        wants = tuple(want for want in WANTS if want in BY_PRODUCTS or want in needed_by_any)
        try:
            saved, words = context["task"], detector.categories
            names = tuple(saved["categories"])
            lookup = zip(words, saved["lookup"], strict=True)
            task = Task(saved["name"], names, (), {word: names[k] for word, k in lookup if k >= 0})
            settings = ScoredSettings.from_dict(
                context["pass"],
                repeats=wanted,
                wants=wants,
                domain=domain,
                reference=reference,
                stages=self.stages,
            )
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise InputError(
                "What this estimator remembers of its pass is damaged "
                f"({type(error).__name__}: {error}): fit it again."
            ) from error
        return Observer(detector, task, settings, reading=reading)

    def check_context(self, context: Mapping[str, Any]) -> None:
        """Make sure that rows made with ``context`` may be given to `predict_rows`."""
        fitted: Mapping[str, Any] = {k: v for k, v in self.context.items() if k != "boxes"}
        ignored = {"measures"} - context.get("pass", {}).keys()  # they need labels
        if not of_domain(self.compared):
            ignored |= {"domain"}
        if "reference" not in needs_of(self.compared) or (_by_files(fitted) and _by_files(context)):
            ignored |= {"reference"}
        refuse_differences(_without(fitted, ignored), _without(context, ignored))


def named_stages(loading: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the stages that are kept with how a detector is loaded, see `with_stages`."""
    return tuple((loading.get("detector") or {}).get("stages", ()))


def with_stages(loading: Mapping[str, Any] | None, stages: Sequence[str]) -> Mapping[str, Any]:
    """Keep stages that were named with how a detector is loaded, where that is known."""
    if not loading or not stages:
        return loading or {}
    return {**loading, "detector": {**loading["detector"], "stages": list(stages)}}


def _fitted_repeats(table: pd.DataFrame) -> int:
    """Count the perturbed passes of a score table: none where no score of it needs any."""
    return int(table["repeat"].max()) + 1 if "perturbed" in needs_of(table.columns) else 0


def _by_files(context: Mapping[str, Any]) -> bool:
    """Whether a reference's predictions were read, which are others for other images."""
    return str(context.get("pass", {}).get("reference", "")).startswith(OF_FILES)


def _without(context: Mapping[str, Any], ignored: set[str]) -> dict[str, Any]:
    """Leave out some settings of the pass."""
    described = {k: v for k, v in context.get("pass", {}).items() if k not in ignored}
    return {**context, "pass": described} if "pass" in context else dict(context)
