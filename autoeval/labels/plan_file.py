"""Plans as files: JSON for people and programs, and arrays in a second file."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.boxes import Boxes, LabelledImage
from autoeval.errors import InputError
from autoeval.io.json_file import read_json
from autoeval.labels.assistance import MixingWeights
from autoeval.labels.by_image import ByImage
from autoeval.labels.compact_arrays import compact, restored
from autoeval.labels.plan import LabelPlan
from autoeval.labels.value_with_error import ValueWithError
from autoeval.notices import codes_of, notices_of
from autoeval.runtime.files import PathLike, atomic_path, write_json

PLAN, ARRAYS, FORMAT = "plan.json", "pool.npz", 6
COLUMNS = ("image", "label", "boxes", "scores")
PLAIN = (
    *("n", "seed", "order", "small_sample_bias", "target", "level", "detector"),
    *("score_thr", "iou", "named", "known", "group", "nothing_found"),
)


def save_plan(plan: LabelPlan, folder: PathLike) -> list[Path]:
    """Write a plan into a folder; return the files."""
    folder = Path(folder)
    arrays = {f"found_{name}": getattr(plan.found, name) for name in COLUMNS}
    if plan.rest is not None:
        arrays |= {f"rest_{name}": getattr(plan.rest, name) for name in COLUMNS}
    for name in ("sequence", "blocks", "probabilities", "holding", "sizes"):
        if getattr(plan, name) is not None:
            arrays[name] = getattr(plan, name)
    arrays |= plan.influence.to_arrays("influence")
    if plan.objects is not None:
        arrays |= plan.objects.to_arrays("objects")
    stored = {name: compact(array) for name, array in arrays.items()}
    contents: dict[str, Any] = {name: content for name, (content, _) in stored.items()}
    with atomic_path(folder / ARRAYS) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **contents)
    ids = plan.found.images
    document = {
        "format": FORMAT,
        **{name: getattr(plan, name) for name in PLAIN},
        "n_pool": plan.n_pool,
        **drawn_with(plan),
        "drawn": [ids[k].image_id for k in plan.drawn],
        "categories": list(plan.found.categories),
        "unlikely_categories": list(plan.rest.categories) if plan.rest is not None else None,
        "arrays": {name: how for name, (_, how) in stored.items()},
        "images": [[i.image_id, i.file_name, i.size] for i in ids],
        "warnings": list(plan.warnings),
        "warning_codes": codes_of(plan.warnings),
        "mixing": asdict(plan.mixing),
        "points": {name: asdict(mixing) for name, mixing in plan.points.items()},
        "priors": {name: _finite(asdict(prior)) for name, prior in plan.priors.items()},
        "printed": {name: _finite(interval) for name, interval in plan.printed.items()},
    }
    return [write_json(folder / PLAN, document, indent=1), folder / ARRAYS]


def drawn_with(plan: LabelPlan) -> dict[str, Any]:
    """Return the probability with which images were drawn, or that of each image drawn."""
    weights = plan.weights(plan.drawn)
    if weights is None:
        return {"probability": plan.n / plan.n_pool}
    return {"probabilities": (1 / weights).round(6).tolist()}


def load_plan(folder: PathLike) -> LabelPlan:
    """Read what `save_plan` wrote; InputError if it is not there or cannot be read."""
    folder = Path(folder)
    folder = folder.parent if folder.name == PLAN else folder
    if not (folder / PLAN).is_file():
        raise InputError(f"No plan in {folder}: expected {PLAN}, made by `autoeval label plan`.")
    document = read_json(folder / PLAN, "plan")
    if document.get("format") != FORMAT:
        raise InputError(
            f"The plan in {folder} was written by another version of autoeval: plan again into "
            "another folder."
        )
    try:
        with np.load(folder / ARRAYS, allow_pickle=False) as stored:
            arrays = dict(stored)
        for name, how in document["arrays"].items():
            arrays[name] = restored(arrays[name], how)
        return _plan(document, arrays)
    except (OSError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(
            f"The plan in {folder} cannot be read ({type(error).__name__}: {error}). Plan again "
            "into another folder."
        ) from error


def _plan(document: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> LabelPlan:
    images = tuple(
        LabelledImage(image_id, file_name, tuple(size) if size else None)
        for image_id, file_name, size in document["images"]
    )
    boxes = _boxes("found", images, document["categories"], arrays)
    unlikely = document["unlikely_categories"]
    priors = {name: _measured(values) for name, values in document["priors"].items()}
    return LabelPlan(
        found=boxes,
        influence=ByImage.of_arrays("influence", arrays, len(images)),
        sequence=arrays["sequence"],
        blocks=arrays["blocks"],
        mixing=MixingWeights.from_dict(document["mixing"]),
        priors=priors,
        warnings=notices_of(document["warning_codes"]),
        points={
            name: MixingWeights.from_dict(weights) for name, weights in document["points"].items()
        },
        probabilities=arrays.get("probabilities"),
        objects=_objects(arrays, len(images)),
        holding=arrays.get("holding"),
        sizes=arrays.get("sizes"),
        printed={
            name: {end: math.nan if v is None else v for end, v in interval.items()}
            for name, interval in document["printed"].items()
        },
        rest=None if unlikely is None else _boxes("rest", images, unlikely, arrays),
        **{name: document[name] for name in PLAIN},
    )


def _objects(arrays: Mapping[str, np.ndarray], n: int) -> ByImage | None:
    return ByImage.of_arrays("objects", arrays, n) if "objects_usual" in arrays else None


def _boxes(
    part: str,
    images: tuple[LabelledImage, ...],
    categories: Sequence[str],
    arrays: Mapping[str, np.ndarray],
) -> Boxes:
    image, label, boxes, scores = (arrays[f"{part}_{name}"] for name in COLUMNS)
    return Boxes(images, tuple(categories), image, label, boxes, scores)


def _finite(values: Mapping[str, float]) -> dict[str, float | None]:
    return {name: value if np.isfinite(value) else None for name, value in values.items()}


def _measured(values: Mapping[str, Any]) -> ValueWithError:
    dof = values["dof"]
    return ValueWithError(values["value"], values["error"], float("inf") if dof is None else dof)
