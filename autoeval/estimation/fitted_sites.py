"""The labelled sites of a fit: kept beside it, so that fits of one detector can be joined."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from autoeval.boxes import Boxes, LabelledImage
from autoeval.errors import InputError
from autoeval.notices import codes_of, notices_of
from autoeval.runtime.files import atomic_path
from autoeval.sites.file_looks import Looks
from autoeval.sites.site import Site

FORMAT = 2
SUFFIX = ".sites.npz"  # in place of that of the estimator's file
SITES = "sites"  # name of the JSON description among the arrays
OF_TRUTH = ("image", "label", "boxes", "crowd")
OF_BOXES = ("image", "label", "boxes", "scores")

Arrays = Mapping[str, np.ndarray]
Columns = TypeVar("Columns", bound=Boxes)


@dataclass(frozen=True)
class FittedSites:
    """The labelled sets of a fit, in memory or in the file that `write` made."""

    sets: tuple[Site, ...] = ()
    path: Path | None = None

    @classmethod
    def beside(cls, estimator: Path) -> FittedSites:
        """Return those whose file lies beside that of an estimator; none where there is no file."""
        path = estimator.with_suffix(SUFFIX)
        return cls(path=path if path.is_file() else None)

    def read(self) -> tuple[Site, ...]:
        """Return the labelled sets; empty where they are not known."""
        if self.sets or self.path is None:
            return self.sets
        try:
            with np.load(self.path, allow_pickle=False) as stored:
                arrays = dict(stored)
            described = json.loads(str(arrays.pop(SITES)))
            if described["format"] != FORMAT:
                raise InputError(
                    f"{self.path} was written by another version of autoeval: fit again."
                )
            return tuple(
                _read_set(values, _part(arrays, f"{k}/"))
                for k, values in enumerate(described["sets"])
            )
        except (OSError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
            raise InputError(
                f"The labelled sites of a fit in {self.path} cannot be read "
                f"({type(error).__name__}: {error}): fit again, or copy the folder again."
            ) from error

    def write(self, estimator: Path) -> None:
        """Write them beside the file of an estimator; nothing where they are not known."""
        sets, arrays, described = self.read(), dict[str, np.ndarray](), []
        if not sets:
            return
        for k, labelled in enumerate(sets):
            values, columns = _described(labelled)
            described.append(values)
            arrays |= {f"{k}/{name}": column for name, column in columns.items()}
        text = json.dumps({"format": FORMAT, "sets": described})
        with atomic_path(estimator.with_suffix(SUFFIX)) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, **{SITES: np.array(text)}, **arrays)  # type: ignore[arg-type]


def _described(labelled: Site) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return plain values and arrays of a labelled set."""
    found = labelled.boxes
    passes = {"boxes": found}
    if labelled.reference is not None:
        passes["reference"] = labelled.reference
    arrays = {f"truth/{name}": getattr(labelled.truth, name) for name in OF_TRUTH}
    for name, columns in passes.items():
        arrays |= {f"{name}/{column}": getattr(columns, column) for column in OF_BOXES}
    if labelled.blocks is not None:
        arrays["blocks"] = labelled.blocks
    images = [
        [image.image_id, image.file_name, image.size, image.taken and image.taken.isoformat()]
        for image in found.images
    ]
    return {
        "name": labelled.name,
        "group": labelled.group,
        "everywhere": labelled.everywhere,
        "trained_here": labelled.trained_here,
        "categories": list(found.categories),
        "passes": list(passes),
        "images": images,
        "statistics": labelled.looks.to_dict(),
        "left_out": codes_of(labelled.left_out),
    }, arrays


def _read_set(values: Mapping[str, Any], arrays: Arrays) -> Site:
    images = tuple(
        LabelledImage(
            image_id,
            file_name,
            tuple(size) if size else None,
            datetime.fromisoformat(taken) if taken else None,
        )
        for image_id, file_name, size, taken in values["images"]
    )
    categories = tuple(values["categories"])
    image, label, xyxy, crowd = (arrays[f"truth/{name}"] for name in OF_TRUTH)
    truth = Boxes(images, categories, image, label, xyxy, crowd=crowd)
    passes: dict[str, Boxes] = {}
    for name in values["passes"]:
        image, label, xyxy, scores = (arrays[f"{name}/{column}"] for column in OF_BOXES)
        passes[name] = Boxes(images, categories, image, label, xyxy, scores)
    return Site(
        passes["boxes"],
        truth=truth,
        reference=passes.get("reference"),
        statistics=Looks.from_dict(values["statistics"]),
        blocks=arrays.get("blocks"),
        name=values["name"],
        group=values["group"],
        everywhere=values["everywhere"],
        left_out=notices_of(values["left_out"]),
        trained_here=values["trained_here"],
    )


def _part(arrays: Arrays, prefix: str) -> dict[str, np.ndarray]:
    """Return the arrays whose names begin with `prefix`, without it."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def named_sets(sets: Sequence[Site], names: Mapping[str, str]) -> list[Site]:
    """Give labelled sets other names, and groups that bear their name."""
    return [
        labelled.changed(
            name=names.get(labelled.name, labelled.name),
            group=names.get(labelled.group, labelled.group),
        )
        for labelled in sets
    ]
