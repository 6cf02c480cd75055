"""What an evaluation starts from: predictions of several models, the truth, the bins."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from autoeval.counting.binning import CountBins, find_bins, fit_bins
from autoeval.counting.binning.bins import rounded_counts
from autoeval.counting.evaluation.localisation import (
    ImagePoints,
    Localisation,
    counts_of_maps,
    counts_of_points,
    evaluate_maps,
    evaluate_points,
    find_maps,
    read_point_predictions,
)
from autoeval.counting.predictions import (
    CountPredictions,
    align,
    match_ids,
    predicted_ids,
    read_predictions,
)
from autoeval.counting.true_counts import GroundTruth, has_categories, read_truth
from autoeval.errors import InputError
from autoeval.io.image_identity import normal_name, splits_of
from autoeval.words import listed

Entry = TypeVar("Entry")
OF_RUNS = ("predictions", "points")  # what `autoeval count run` calls its files


@dataclass(frozen=True, eq=False)
class Inputs:
    """Predictions of several models, and the truth.

    Parameters
    ----------
    models : list of CountPredictions
        Counts.
    points : mapping of str to mapping of str to ImagePoints or None
        By model and image id, of models that predicted points; None for a skipped image.
    maps : mapping of str to mapping of str to Path
        Files of density maps by model and image id.
    truth : GroundTruth, optional
        None where the files of predictions have true counts themselves.
    """

    models: list[CountPredictions]
    points: Mapping[str, Mapping[str, ImagePoints | None]]
    maps: Mapping[str, Mapping[str, Path]]
    truth: GroundTruth | None

    @property
    def notes(self) -> tuple[str, ...]:
        """What is odd about the truth."""
        return self.truth.notes if self.truth else ()

    def places(
        self, *, distances: Sequence[float], images: Path | None, rescale: bool = False
    ) -> list[Localisation]:
        """Compare places where both sides have them.

        Parameters
        ----------
        distances : sequence of float
            See `evaluate_points`.
        images : Path, optional
            Folder of the images, which have their sizes.
        rescale : bool
            See `evaluate_points`.

        Returns
        -------
        list of Localisation
            One for each model that predicted points or density maps; empty without true points.
        """
        truth = self.truth
        if truth is None or all(t.points is None for t in truth.images.values()):
            return []
        options: dict[str, Any] = {"distances": distances, "images": images, "rescale": rescale}
        of_points = [
            evaluate_points(name, points, truth, **options) for name, points in self.points.items()
        ]
        of_maps = [evaluate_maps(n, maps, truth, images=images) for n, maps in self.maps.items()]
        return [*of_points, *of_maps]


def read_inputs(
    paths: Sequence[Path],
    truth_path: Path | None,
    *,
    category: str | None,
    separate: bool,
) -> Inputs:
    """Read the predictions of several models, and the truth.

    Parameters
    ----------
    paths : sequence of Path
        Tables of counts, JSON of points, or folders of density maps ``IMAGE.npy``; a model has the
        name of its file.
    truth_path : Path or None
        See `read_truth`.
    category : str or None
        Chosen of a COCO file of the truth.
    separate : bool
        Whether the files are of different data sets; else models are restricted to common images,
        and points and maps to those that all of them answered.

    Raises
    ------
    InputError
        If a file is given twice, cannot be read, or needs a truth that is not given.
    """
    truth = read_truth(truth_path, category_of_file(category, truth_path)) if truth_path else None
    if len(set(paths)) < len(paths):
        raise InputError(f"The same prediction file was given twice: {', '.join(map(str, paths))}.")
    # Named by the files, or by the folders that `autoeval count run` wrote them into.
    short = [p.parent.name if p.stem in OF_RUNS and p.parent.name else p.stem for p in paths]
    if len(set(short)) < len(short):
        short = [str(path.with_suffix("")) for path in paths]
    if len(set(short)) < len(short):  # files that differ in their suffix alone
        short = [str(path) for path in paths]
    names = dict(zip(paths, short, strict=True))
    points = {names[p]: read_point_predictions(p) for p in paths if p.suffix == ".json"}
    maps = {names[p]: find_maps(p) for p in paths if p.is_dir()}
    if (points or maps) and truth is None:
        raise InputError(
            "Predicted points and density maps need true points, or true counts: give --truth FILE."
        )
    called: dict[str, dict[str, str]] = {}
    if truth is not None:
        whole = truth
        ids_of = {
            name: points.get(name) or maps.get(name) or predicted_ids(path)
            for path, name in names.items()
        }
        # Data sets that are separate may be several splits of one truth.
        every_split = replace(whole, splits={}) if separate else whole
        truth = every_split.named_as(ids_of[names[paths[0]]])
        known = {image: image_id for image_id, image in truth.images.items()}
        files = {image: whole.file_names.get(i, i) for i, image in whole.images.items()}
        # Each file may name images in its own way: by their ids, or by their files.
        for name, ids in ids_of.items():
            own_truth = whole.named_as(ids)
            own = own_truth.images.items()
            called[name] = {own_id: known[image] for own_id, image in own if image in known}
            if moved := _in_other_splits((own_id, files[image]) for own_id, image in own):
                note = (
                    f"{name}: {len(moved)} images are of another split than the true ones that "
                    f"they were joined with ({listed(moved, most=3)}): if they are other images, "
                    "every number is wrong"
                )
                truth = replace(truth, notes=(*truth.notes, note))
            if separate:
                splits = (f"{name}: {note}" for note in own_truth.notes[len(whole.notes) :])
                truth = replace(truth, notes=(*truth.notes, *splits))
        points = {name: _renamed(predicted, called[name]) for name, predicted in points.items()}
        maps = {name: _renamed(predicted, called[name]) for name, predicted in maps.items()}
    counts = truth.counts if truth else {}
    models = []
    for path, name in names.items():
        of_split = {i: counts[i] for i in called[name].values()} if separate and truth else counts
        if name in points:
            models.append(counts_of_points(name, points[name], of_split))
        elif name in maps:
            models.append(counts_of_maps(name, maps[name], of_split))
        elif truth is None:
            models.append(read_predictions(path, name=name))
        else:
            own_counts = {own_id: counts[image_id] for own_id, image_id in called[name].items()}
            model = read_predictions(path, own_counts, name)
            models.append(replace(model, ids=tuple(called[name][i] for i in model.ids)))
    if not separate and len(models) > 1:
        models = align(models)
        answered = np.all([model.answered for model in models], axis=0)
        compared = set(models[0].select(answered).ids)
        points = {name: _among(predicted, compared) for name, predicted in points.items()}
        maps = {name: _among(predicted, compared) for name, predicted in maps.items()}
    return Inputs(models, points, maps, truth)


def _in_other_splits(joined: Iterable[tuple[str, str]]) -> list[str]:
    """Name the pairs of images whose folders name a split each, such as ``val``, but not one."""
    splits = ((pair, *map(splits_of, map(normal_name, pair))) for pair in joined)
    return [" with ".join(pair) for pair, own, true in splits if own and true and not own & true]


def _renamed(predicted: Mapping[str, Entry], called: Mapping[str, str]) -> dict[str, Entry]:
    """Return what was predicted by the truth's image ids.

    What is of no true image keeps its name, unless that is another image's.
    """
    names = match_ids(predicted, called)
    others = set(called.values())
    return {
        called[names[i]] if i in names else i: entry
        for i, entry in predicted.items()
        if i in names or i not in others
    }


def _among(predicted: Mapping[str, Entry], image_ids: Collection[str]) -> dict[str, Entry]:
    return {image_id: entry for image_id, entry in predicted.items() if image_id in image_ids}


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
    """Return bins: those that are named, else fitted on files, else on the model's true counts.

    Parameters
    ----------
    model : CountPredictions
        With true counts.
    bins : str, optional
        A published name or a file, see `find_bins`.
    bins_name : str, optional
        Of the bins in a file with several.
    fit_on : sequence of Path, optional
        Files of true counts, see `read_truth`; of one with a split ``train`` its images alone.
    category : str, optional
        Chosen of those of them that are COCO's.
    binning : str
        See `fit_bins`.
    gamma : float, optional
        See `fit_bins`.

    Raises
    ------
    InputError
        If there are no such bins, a file cannot be read, or all true counts are equal.
    """
    if bins is not None:
        return find_bins(bins, bins_name)
    if fit_on:
        truths = [read_truth(path, category_of_file(category, path)) for path in fit_on]
        counts = []
        for truth in truths:  # of FSC-147's folder the training images alone
            training = set(truth.splits.get("train", truth.counts))
            counts += [n for image_id, n in truth.counts.items() if image_id in training]
        return fit_bins(rounded_counts(counts), binning, gamma)
    target = rounded_counts(model.target)
    if target.min() == target.max():
        raise InputError(
            f"All true counts of {model.name} are {target[0]:g}, which makes no bins: give --bins "
            "or --fit-bins."
        )
    return fit_bins(target, binning, gamma)


def check_category(category: str | None, files: Sequence[Path]) -> None:
    """Refuse a category where no file has any.

    Parameters
    ----------
    category : str, optional
        The category that was chosen.
    files : sequence of Path
        Of true counts.

    Raises
    ------
    InputError
        If a category is chosen and none of the files is COCO's.
    """
    if category is not None and not any(map(has_categories, files)):
        raise InputError(
            f"--category {category} chooses among COCO boxes, but neither --truth nor --fit-bins "
            "is a COCO file."
        )


def category_of_file(category: str | None, path: Path) -> str | None:
    """Return the category for a file that has categories, None for others.

    Parameters
    ----------
    category : str, optional
        The category that was chosen.
    path : Path
        A file of true counts.
    """
    return category if category is not None and has_categories(path) else None
