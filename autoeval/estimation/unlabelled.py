"""A saved estimator on new images: the pass is set up as the estimator remembers it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from autoeval.data.unlabelled import Images, list_images
from autoeval.detectors.detector import Detector
from autoeval.errors import InputError
from autoeval.estimation.estimate import Estimate
from autoeval.estimation.estimator import MapEstimator
from autoeval.estimation.fitting import estimate_images
from autoeval.estimation.presets import BY_PRODUCTS, PassSettings
from autoeval.estimation.source_domain import SourceDomain
from autoeval.metasets.task import Task
from autoeval.runtime.shards import Shards
from autoeval.scores.registry import needs_of, of_domain

REMEMBERED = {"detector", "pass", "task"}
COSTLY = {"half_size", "views"}  # further passes, made where they are needed


def estimate_unlabelled(
    estimator: MapEstimator,
    images: Images,
    detector: Detector,
    *,
    repeats: int | None = None,
    domain: SourceDomain | None = None,
    batch_size: int = 4,
    shards: Shards | None = None,
) -> Estimate:
    """Estimate the accuracy of a detector on images without labels.

    Parameters
    ----------
    estimator : MapEstimator
        Fitted with the context of its rows, as `fit_task` and ``autoeval estimate-map`` do.
    images : path-like or sequence
        See `list_images`.
    detector : Detector
    repeats : int, optional
        Perturbed passes; by default as many as it was fitted with.
    domain : SourceDomain, optional
        The detector's training domain, where the estimator uses scores that compare with it.
    batch_size : int
        Changes no number.
    shards : Shards, optional
        Which processes share the images.

    Raises
    ------
    InputError
        As `saved_pass`, and if no image can be read.

    Warns
    -----
    UserWarning
        Naming the images that could not be read.
    """
    task, settings = saved_pass(estimator, detector, repeats=repeats, domain=domain)
    estimate, row = estimate_images(
        detector,
        estimator,
        task,
        list_images(images),
        settings=settings,
        batch_size=batch_size,
        shards=shards,
    )
    if row["unreadable"]:
        warnings.warn(f"not read: {row['unreadable']}", stacklevel=3)
    return estimate


def saved_pass(
    estimator: MapEstimator,
    detector: Detector,
    *,
    repeats: int | None = None,
    domain: SourceDomain | None = None,
) -> tuple[Task, PassSettings]:
    """Say what an estimator's scores were made with, so that new ones are made alike.

    Parameters
    ----------
    estimator, detector, repeats, domain
        As in `estimate_unlabelled`.

    Returns
    -------
    task : Task
        With its categories and the detector's words for them, without labelled data.
    settings : PassSettings
        Asking for no more evidence than the estimator needs.

    Raises
    ------
    InputError
        If the estimator does not remember its pass, was fitted with another detector or fewer
        repeats, or needs a training domain and there is none.
    """
    saved = getattr(estimator, "context_", {})
    if not saved.keys() >= REMEMBERED:
        raise InputError(
            "This estimator does not know how its scores were made: it was not fitted, or without "
            "`context`. Load one that `autoeval estimate-map` or `fit_task` wrote, or hand it rows "
            "that you made yourself (`predict_rows`)."
        )
    estimator.check_context({**saved, "detector": detector.settings})
    _check_domain(estimator, domain)
    costly = sorted(needs_of(estimator.features_) & COSTLY)
    settings = PassSettings.from_dict(
        saved["pass"],
        repeats=_repeats(estimator, repeats),
        wants=(*BY_PRODUCTS, *costly),
        domain=domain,
    )
    return _task(saved["task"], detector.categories), settings


def _task(saved: Mapping[str, Any], words: Sequence[str]) -> Task:
    """Restore a task's name, categories and mapping from the lookup made of them."""
    names = tuple(saved["categories"])
    mapping = {word: names[k] for word, k in zip(words, saved["lookup"], strict=True) if k >= 0}
    return Task(saved["name"], names, (), mapping)


def _repeats(estimator: MapEstimator, asked: int | None) -> int:
    fitted = int(estimator.table_["repeat"].max()) + 1
    if asked is None:
        return fitted
    if not 1 <= asked <= fitted:
        raise InputError(
            f"Expected 1 to {fitted} `repeats`, the number this estimator was fitted with, "
            f"but got {asked}."
        )
    return asked


def _check_domain(estimator: MapEstimator, domain: SourceDomain | None) -> None:
    needed = of_domain(estimator.features_)
    if needed and domain is None:
        raise InputError(
            f"This estimator uses {' and '.join(needed)}, which compare with the detector's "
            "training domain, and an estimator does not carry that. Pass `domain`, made by "
            "`autoeval.estimation.source_domain.observe_source_domain` from the seed set that "
            "--reference named when it was fitted."
        )
