"""The pass of a saved estimator, set up again from what it remembers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from autoeval.errors import InputError
from autoeval.estimation.artefact import refuse_differences
from autoeval.estimation.observation.observing import ImageDetector
from autoeval.estimation.observation.presets import BY_PRODUCTS, PassSettings
from autoeval.estimation.observation.source_domain import SourceDomain
from autoeval.estimation.observation.teacher_boxes import Teacher
from autoeval.metasets.task import Task
from autoeval.scores.registry import needs_of, of_domain

REMEMBERED = {"detector", "pass", "task"}
WANTS = (*BY_PRODUCTS, "half_size", "views")


def recall_pass(
    context: Mapping[str, Any],
    detector: ImageDetector,
    *,
    features: Sequence[str],
    fitted_repeats: int,
    repeats: int | None = None,
    domain: SourceDomain | None = None,
    teacher: Teacher | None = None,
) -> tuple[Task, PassSettings]:
    """Say what scores were made with, so that new ones are made alike.

    Parameters
    ----------
    context : mapping
        From `Observer.context`, when the scores were made.
    detector : ImageDetector
    features : sequence of str
        Scores that are wanted for.
    fitted_repeats : int
        Repeats that there are regressors for.
    repeats, domain, teacher
        As in `AccuracyEstimator.observer`.

    Returns
    -------
    task : Task
        With its categories and the detector's words for them, without labelled data.
    settings : PassSettings
        Asking for no more evidence than the scores need.

    Raises
    ------
    InputError
        See `AccuracyEstimator.observer`.
    """
    if not context.keys() >= REMEMBERED:
        raise InputError(
            "This estimator does not know how its scores were made: it was not fitted, or without "
            "`context`. Load one that `autoeval estimate-map` or `fit_task` wrote, or hand it rows "
            "that you made yourself (`predict_rows`)."
        )
    refuse_differences(context["detector"], detector.settings, "detector.")
    _check_domain(features, domain)
    needs = needs_of(features)
    check_teacher(features, teacher)
    wanted = _repeats(fitted_repeats, repeats) if "perturbed" in needs or repeats else 0
    wants = [want for want in WANTS if want in BY_PRODUCTS or want in needs]
    try:
        task = _task(context["task"], detector.categories)
        settings = PassSettings.from_dict(
            context["pass"], repeats=wanted, wants=tuple(wants), domain=domain, teacher=teacher
        )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise InputError(
            "What this estimator remembers of its pass is damaged "
            f"({type(error).__name__}: {error}): fit it again."
        ) from error
    return task, settings


def _task(saved: Mapping[str, Any], words: Sequence[str]) -> Task:
    """Restore a task's name, categories and mapping from the lookup made of them."""
    names = tuple(saved["categories"])
    mapping = {word: names[k] for word, k in zip(words, saved["lookup"], strict=True) if k >= 0}
    return Task(saved["name"], names, (), mapping)


def fitted_repeats(table: pd.DataFrame) -> int:
    """Count the perturbed passes of a score table: none where no score of it needs any."""
    return int(table["repeat"].max()) + 1 if "perturbed" in needs_of(table.columns) else 0


def _repeats(fitted: int, wanted: int | None) -> int:
    if wanted is None:
        return fitted
    if not min(1, fitted) <= wanted <= fitted:
        raise InputError(
            f"Expected {min(1, fitted)} to {fitted} `repeats`, the number this estimator was "
            f"fitted with, but got {wanted}."
        )
    return wanted


def check_teacher(features: Sequence[str], teacher: Teacher | None) -> None:
    """Make sure that there is a teacher where a score compares with one.

    Raises
    ------
    InputError
        If there is none.
    """
    if teacher is None and "teacher" in needs_of(features):
        raise InputError(
            "This estimator was fitted with a teacher: give the same one for these images "
            "(--teacher), as a detector or by its predictions."
        )


def _check_domain(features: Sequence[str], domain: SourceDomain | None) -> None:
    needed = of_domain(features)
    if needed and domain is None:
        raise InputError(
            f"This estimator uses {' and '.join(needed)}, which compare with the detector's "
            "training domain, and an estimator does not carry that. Pass `domain`, made by "
            "`autoeval.estimation.observation.observing_domain.observe_source_domain` from the "
            "seed set that --reference named when it was fitted."
        )
