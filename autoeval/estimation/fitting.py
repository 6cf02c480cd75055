"""From labelled data and a detector, or its predictions, to a fitted estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from autoeval.errors import InputError
from autoeval.estimation.calibrating import (
    CalibratedSets,
    ConfidenceCheck,
    fits_above,
    reference_calibration,
    share_above,
    with_calibrated_reference,
)
from autoeval.estimation.checks import reference_of_fit
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.fitted_sites import FittedSites
from autoeval.estimation.given_boxes import Detector, Predictions
from autoeval.estimation.label_planning import assistance_of
from autoeval.estimation.labelled_files import (
    GivenLabels,
    check_some_right,
    labels_with_files,
    task_with_files,
)
from autoeval.estimation.observed_sets import observed_labels, observed_sources
from autoeval.estimation.protocol import (
    FitResult,
    evaluate_pairs,
    has_groups,
    worse_than_constant,
)
from autoeval.estimation.read_site import Categories, words_of
from autoeval.estimation.reference_choice import read_with_strongest
from autoeval.estimation.score_table import with_pairs
from autoeval.io.predictions.reading import files_by_place
from autoeval.io.tasks.task import Task
from autoeval.io.wording import listed
from autoeval.model.calibration import FOUND
from autoeval.model.pair_table import CONFIDENCE
from autoeval.notices import prefixed
from autoeval.runtime.blas_threads import one_blas_thread
from autoeval.runtime.files import PathLike
from autoeval.sites.file_looks import (
    Looks,
    different_floors,
    joined_statistics,
)
from autoeval.sites.site import Site


def fit_files(
    files: Predictions,
    *,
    labels: GivenLabels | None = None,
    task: Task | None = None,
    img_dir: PathLike | None = None,
    group: str | None = None,
    categories: Categories | None = None,
    **options: Any,
) -> AccuracyEstimator:
    """Fit on prediction files: of one labelled set, or of the sources of a task.

    labels: one labelled set, every category of which is a source; with `categories` these are.
    task: instead: its categories are to be expected in all images of its sources.
    **options: of `fit_sets`.
    """
    if labels is not None:
        words = words_of(categories or {})
        sets, chosen = read_with_strongest(
            files,
            lambda predictions: [
                labels_with_files(labels, predictions, img_dir=img_dir, group=group, words=words)
            ],
        )
        named = {
            name: list(words_of_category or [name])
            for name, words_of_category in (categories or {}).items()
        }
        given = {"task": {"name": sets[0].name, "words": named}} if named else {}
        return fit_sets(sets, context={**given, **chosen}, **options)
    assert task is not None
    folder = files.name
    if not folder.is_dir():
        raise InputError(
            f"No folder {folder}: with --task, --predictions is a folder with NAME.json for each "
            "source."
        )
    places = files_by_place(folder)
    sets, chosen = read_with_strongest(
        files,
        lambda predictions: task_with_files(
            task, {k: predictions.of_source(path) for k, path in places.items()}
        ),
    )
    expected: dict[str, list[str]] = {name: [name] for name in task.categories}
    for word, name in task.detector_mapping.items():
        expected[name].append(word)
    context = {"task": {"name": task.name, "words": expected}, **chosen}
    return fit_sets(sets, context=context, **options)


def fit_labelled(
    run: Detector,
    labels: PathLike,
    *,
    img_dir: PathLike | None = None,
    group: str | None = None,
    folder: Path | None = None,
    categories: Categories | None = None,
    **options: Any,
) -> AccuracyEstimator:
    """Run a detector once over a labelled set and fit on its categories.

    labels, img_dir, group, folder, categories: see `observed_labels`.
    **options: of `fit_sets`.
    """
    made, context = observed_labels(
        run, labels, img_dir=img_dir, group=group, folder=folder, categories=categories
    )
    return fit_sets([made], context=context, loading=run.loading, detector=run.loaded, **options)


def fit_sources(
    run: Detector, task: Task, *, folder: Path | None = None, **options: Any
) -> AccuracyEstimator:
    """Run a detector once over the sources of a task and fit on the task's categories.

    folder: see `observed_sources`.
    **options: of `fit_sets`.
    """
    sets, context = observed_sources(run, task, folder=folder)
    return fit_sets(sets, context=context, loading=run.loading, detector=run.loaded, **options)


@one_blas_thread
def fit_sets(
    sets: Sequence[Site],
    *,
    context: Mapping[str, Any],
    trained_here: bool = False,
    scored: pd.DataFrame | None = None,
    **options: Any,
) -> AccuracyEstimator:
    """Fit on labelled sets whose boxes are known, and evaluate by leaving groups out.

    scored: score table of the same sources, with sample sets and other scores, that the estimator
        carries in place of the pairs alone.
    trained_here: whether the detector was trained on other images of all these sites.
    **options: ``target`` and ``level`` of `AccuracyEstimator`; ``loading`` and ``detector`` of its
        `fit_rows`.
    """
    check_some_right(sets)
    sets = (
        [labelled_set.changed(trained_here=True) for labelled_set in sets] if trained_here else sets
    )
    sites = FittedSites(tuple(sets))
    sets = with_calibrated_reference(sets)
    calibrated = CalibratedSets.of(sets)
    warnings, together = checked_sets(sets, calibrated.check)
    floors = fits_above(sets, calibrated)
    shares = tuple((floor, share_above(sets, floor)) for floor in floors)
    together = replace(together, floors=shares)
    assistance, why = assistance_of(sets)
    estimator = fit_table(
        calibrated.rows,
        context={**context, "boxes": together.to_dict()},
        calibration=calibrated.calibration,
        reference_calibration=reference_calibration(sets),
        label_assistance=assistance,
        warnings=(*warnings, *together.warnings, *why),
        bins=calibrated.bins,
        floors=floors,
        sites=sites,
        scored=scored,
        **options,
    )
    assert estimator.fit_result_ is not None
    described = pd.DataFrame(map(_described, sets))
    estimator.fit_result_ = replace(estimator.fit_result_, labelled_sets=described)
    return estimator


def _described(labelled: Site) -> dict[str, Any]:
    """Return a row of `FitResult.labelled_sets`."""
    counts = [bool(ranking.n_true.any()) for ranking in labelled.rankings]
    return {
        "source": labelled.name,
        "n_images": len(labelled),
        "n_categories": sum(counts),
        "n_fitted": sum(np.logical_and(counts, labelled.enough)),
        **labelled.coco_accuracy,
    }


def checked_sets(sets: Sequence[Site], check: ConfidenceCheck) -> tuple[list[str], Looks]:
    """Return the warnings of a fit on some sets, and how their boxes look together.

    The warnings of the statistics are those that every estimate repeats.
    """
    statistics = [labelled_set.looks for labelled_set in sets]
    warnings = [
        warning
        for labelled_set in sets
        for warning in prefixed(labelled_set.name, labelled_set.left_out)
    ]
    warnings += different_floors(statistics, [labelled_set.name for labelled_set in sets])
    repeated = (*(warning for part in statistics for warning in part.warnings), *check.warnings)
    together = replace(joined_statistics(statistics), widening=check.widening)
    return warnings, together.warning(*repeated)


def fit_table(
    table: pd.DataFrame,
    *,
    target: str = "mAP",
    level: float = 0.9,
    warnings: tuple[str, ...],
    bins: pd.DataFrame | None = None,
    scored: pd.DataFrame | None = None,
    **saved: Any,
) -> AccuracyEstimator:
    """Fit and evaluate; a warning of the evaluation is repeated by every estimate."""
    if CONFIDENCE in table and table[CONFIDENCE].isna().all():
        raise InputError(
            f"On the labelled images no box of {listed(table['category'].unique(), 10)} is right "
            f"with a probability over {FOUND:g}, by the calibration on their labels, so nothing "
            "can be learned from them. Are the predictions of these images, are their categories "
            "those of the labels, and are boxes as [left, top, width, height]?"
        )
    rows = table.dropna(axis=1, how="all")
    rows = rows if scored is None else with_pairs(scored, rows)
    estimator = AccuracyEstimator(target=target, level=level).fit_rows(rows, **saved)
    regression = estimator.regression_
    pairs, unread = regression.pairs_, reference_of_fit(table, regression)
    results = evaluate_pairs(pairs, target=target, level=level, floor=regression.floor)
    useless = worse_than_constant(results, by_category=not has_groups(pairs))
    estimator.context_["boxes"] = estimator.statistics_.warning(*useless).to_dict()
    estimator.fit_result_ = FitResult(
        estimator.table_,
        results,
        (*warnings, *unread),
        by_category=not has_groups(pairs),
        reliability=bins,
    )
    return estimator
