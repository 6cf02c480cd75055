"""What an evaluation starts from: predictions of several models, the truth, the bins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from autoeval.counting.binning import CountBins, find_bins, fit_bins
from autoeval.counting.binning.bins import rounded_counts
from autoeval.counting.evaluation.localisation import (
    ImagePoints,
    Localisation,
    counts_of_points,
    evaluate_points,
    read_point_predictions,
)
from autoeval.counting.predictions import CountPredictions, align, predicted_ids, read_predictions
from autoeval.counting.true_counts import GroundTruth, has_categories, read_truth
from autoeval.errors import InputError

OF_RUNS = ("predictions", "points")  # what `autoeval count run` calls its files


@dataclass(frozen=True, eq=False)
class Inputs:
    """Predictions beside the truth; `points` are by model and image id."""

    models: list[CountPredictions]
    points: Mapping[str, Mapping[str, ImagePoints | None]]
    truth: GroundTruth | None

    @property
    def notes(self) -> tuple[str, ...]:
        """What is odd about the truth."""
        return self.truth.notes if self.truth else ()

    def places(self, *, distances: Sequence[float], images: Path | None) -> list[Localisation]:
        """Compare points where both sides have them; see `evaluate_points`."""
        truth = self.truth
        if truth is None or all(t.points is None for t in truth.images.values()):
            return []
        return [
            evaluate_points(name, points, truth, distances=distances, images=images)
            for name, points in self.points.items()
        ]


def read_inputs(
    paths: Sequence[Path],
    truth_path: Path | None = None,
    *,
    category: str | None = None,
    separate: bool = False,
) -> Inputs:
    """Read the predictions of several models, tables of counts or JSON of points, and the truth.

    `category` chooses among COCO boxes; files of different data sets are `separate`.
    """
    truth = read_truth(truth_path, usable(category, truth_path)) if truth_path else None
    if len(set(paths)) < len(paths):
        raise InputError(f"The same prediction file was given twice: {', '.join(map(str, paths))}.")
    # Named by the files, or by the folders that `autoeval count run` wrote them into.
    short = [p.parent.name if p.stem in OF_RUNS and p.parent.name else p.stem for p in paths]
    if len(set(short)) < len(short):
        short = [str(path.with_suffix("")) for path in paths]
    names = dict(zip(paths, short, strict=True))
    points = {names[p]: read_point_predictions(p) for p in paths if p.suffix == ".json"}
    if points and truth is None:
        raise InputError("Predicted points need true ones, or true counts: give --truth FILE.")
    if truth is not None:
        ids = [*next(iter(points.values()))] if points else predicted_ids(paths[0])
        truth = truth.named_as(ids)
    counts = truth.counts if truth else None
    models = [
        counts_of_points(name, points[name], counts or {})
        if name in points
        else read_predictions(path, counts, name)
        for path, name in names.items()
    ]
    return Inputs(models if separate else align(models), points, truth)


def choose_bins(
    model: CountPredictions,
    *,
    bins: str | None,
    bins_name: str | None,
    fit_on: Sequence[Path] | None,
    category: str | None,
    binning: str,
    gamma: float | None,
) -> CountBins:
    """Return the bins that are given or published, else fit them, at last on the model's truth."""
    if bins is not None:
        return find_bins(bins, bins_name)
    if fit_on:
        truths = [read_truth(path, usable(category, path)) for path in fit_on]
        counts = [count for truth in truths for count in truth.counts.values()]
        return fit_bins(rounded_counts(counts), binning, gamma)
    target = rounded_counts(model.target)
    if target.min() == target.max():
        raise InputError(
            f"All true counts of {model.name} are {target[0]:g}, which makes no bins: give --bins "
            "or --fit-bins."
        )
    return fit_bins(target, binning, gamma)


def check_category(category: str | None, files: Sequence[Path]) -> None:
    """Raise `InputError` where a category is chosen and no file has any."""
    if category is not None and not any(map(has_categories, files)):
        raise InputError(
            f"--category {category} chooses among COCO boxes, but neither --truth nor --fit-bins "
            "is a COCO file."
        )


def usable(category: str | None, path: Path) -> str | None:
    """Return the category for a file that has categories, None for others."""
    return category if category is not None and has_categories(path) else None
