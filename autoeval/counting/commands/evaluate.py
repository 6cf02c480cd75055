"""Measure how well counts agree with the truth: by bin of the true count, pooled, and overall."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from autoeval.counting import mode_line
from autoeval.errors import InputError, refuse_given

if TYPE_CHECKING:
    from autoeval.counting.binning import CountBins
    from autoeval.counting.predictions import CountPredictions
    from autoeval.runtime.files import PathLike


def evaluate(
    predictions: Sequence[PathLike],
    *,
    truth: PathLike | None = None,
    bins: PathLike | None = None,
    bins_name: str | None = None,
    fit_bins: Sequence[PathLike] | None = None,
    binning: Literal["released", "paper", "poisson", "blocks"] = "released",
    gamma: float | str = 0.6,
    mode: Literal["paper", "released"] = "paper",
    category: str | None = None,
    images: PathLike | None = None,
    match_distance: Sequence[float] = (4.0, 8.0),
    rescale: bool = False,
    separate: bool = False,
    n_resamples: int = 1000,
    seed: int = 0,
    json: bool = False,
    work_dir: PathLike = "count_evaluation",
) -> None:
    """Measure how well counts agree with the truth: by bin of the true count, pooled, and overall.

    Several files make a comparison on the images that all of them answered, unless they are
    --separate. Images are joined by name, with or without folders and suffix. Prints the table and
    writes CSV, JSON, figures and report.html into the folder --work-dir.

    Parameters
    ----------
    predictions : sequence of path-like
        CSV or Parquet with id,target,pred (or id,target-pred,target,pred without a header; or
        id,pred where --truth is given), JSON of predicted points by image id, or a folder of
        density maps IMAGE.npy; places are measured as well where the truth has points.
    truth : path-like, optional
        True counts, points or boxes.
    bins : path-like, optional
        JSON with the edges of the bins, or published ones: nwpu, ucf, sta, stb, jhu.
    bins_name : str, optional
        Which of several lists in the file of --bins.
    fit_bins : sequence of path-like, optional
        Training counts to bin, all files together: id,count, points or COCO boxes.
    binning : str
        How to bin.
    gamma : float or str
        Prior of the binning, in (0, 1), or cv for cross-validation.
    mode : str
        Measure by the formulas as printed, or as the authors' code does; true counts outside the
        bins have bins of their own, or are dropped.
    category : str, optional
        Which category of COCO boxes to count (default: all).
    images : path-like, optional
        Folder of the images, whose sizes GAME needs.
    match_distance : sequence of float
        Largest distance of a predicted point from a true one, in pixels.
    rescale : bool
        Bring predicted points from images of another size into the truth's pixels.
    separate : bool
        The files are of different data sets: side by side instead of image by image.
    n_resamples : int
        Of the bootstrap.
    seed : int
        Of the draws.
    json : bool
        Print the result as JSON.
    work_dir : path-like
        Where to write.
    """
    import numpy as np

    from autoeval.counting.evaluation.compare import compare_models
    from autoeval.counting.evaluation.evaluation_report import CountReport
    from autoeval.counting.evaluation.inputs import check_category, choose_bins, read_inputs
    from autoeval.counting.evaluation.model_measures import evaluate_counts
    from autoeval.counting.filed_page import PAGE

    if bins is None:
        refuse_given({"bins_name": bins_name}, "goes with --bins: give that, too.")
    elif fit_bins:
        raise InputError("Expected either --bins or --fit-bins: leave one out.")
    wrong = [distance for distance in match_distance if not 0 < distance < math.inf]
    if wrong:
        raise InputError(f"Expected --match-distance above 0 pixels but got {wrong[0]:g}.")
    prior = _gamma(gamma)
    trained = [Path(path) for path in fit_bins] if fit_bins else None
    true = None if truth is None else Path(truth)
    check_category(category, [*([true] if true else []), *(trained or [])])
    paths = [Path(path) for path in predictions]
    inputs = read_inputs(paths, true, category=category, separate=separate)
    compared = len(inputs.models) > 1 and not separate
    counted = np.all([m.answered for m in inputs.models], axis=0) if compared else None
    draws = {"n_resamples": n_resamples, "seed": seed}

    def bins_of(model: CountPredictions) -> CountBins:
        return choose_bins(
            model,
            bins=None if bins is None else str(bins),
            bins_name=bins_name,
            fit_on=trained,
            category=category,
            binning=binning,
            gamma=prior,
        )

    # data sets that are separate have bins of their own true counts, where none are given
    own = separate and bins is None and trained is None
    bins_of_each = [bins_of(model) for model in (inputs.models if own else inputs.models[:1])]
    evaluations = [
        evaluate_counts(model, model_bins, mode=mode, counted=counted, **draws)
        for model, model_bins in zip(
            inputs.models, bins_of_each if own else bins_of_each * len(inputs.models), strict=True
        )
    ]
    comparison = compare_models(evaluations, **draws) if compared else None
    folder = None if images is None else Path(images)
    places = inputs.places(distances=list(match_distance), images=folder, rescale=rescale)
    notes = list(inputs.notes)
    if counted is not None and not counted.all():
        notes.append(
            f"{(~counted).sum()} images that a model skipped enter no measure but its sMAPE"
        )
    if bins is None and trained is None:
        notes.append(
            "The bins were fitted on the true counts that are evaluated here: bins of the training "
            "counts (--fit-bins) or published ones (--bins) make results comparable"
        )
    report = CountReport(evaluations, comparison, notes, places)
    report.write(Path(work_dir))
    if json:
        print(report.to_json())
    else:
        print(f"{report.text()}\n\n{mode_line(mode)}\nReport: {Path(work_dir) / PAGE}")


def _gamma(given: float | str) -> float | None:
    try:
        return None if given == "cv" else float(given)
    except ValueError:
        raise InputError(f"Expected --gamma as a number or cv but got '{given}'.") from None
