"""A split on disk: ``original/``, ``occluded/`` and the items of ``metadata.json``."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from autoeval.counting.predictions import match_ids
from autoeval.errors import InputError
from autoeval.io.images import read_image
from autoeval.runtime.files import PathLike, atomic_path, read_json, write_text

METADATA = "metadata.json"
_POINT_SIDE = 2  # the released real metadata stores a point as a box of 2 x 2
ORIGINAL = "original"
OCCLUDED = "occluded"
INPAINTED = "inpainted"


@dataclass(frozen=True, eq=False)
class CaptureItem:
    """One pair of images and what is known of it.

    Parameters
    ----------
    image_file : str
        Name of both images, in the folders `ORIGINAL` and `OCCLUDED`.
    object_name : str
        A plural.
    ground_truth : int
        Number of all objects, hidden ones among them.
    box : ndarray of shape (4,), int64, optional
        The occluder, xyxy in pixels.
    points : ndarray of shape (N, 2), float, optional
        Centres of the objects, xy in pixels.
    hidden : ndarray of shape (N,), bool, optional
        Which of them lie behind the occluder.
    num_occluded : int, optional
        How many do.
    shape : str, optional
        Pattern of a synthetic item; None for a real one.
    record : mapping of str to Any
        Of the metadata file.
    """

    image_file: str
    object_name: str
    ground_truth: int
    box: np.ndarray | None = None
    points: np.ndarray | None = None
    hidden: np.ndarray | None = None
    num_occluded: int | None = None
    shape: str | None = None
    record: Mapping[str, Any] = field(default_factory=dict)

    @property
    def split(self) -> str:
        """Either ``"synthetic"`` or ``"real"``."""
        return "synthetic" if self.shape is not None else "real"

    @property
    def visible_points(self) -> np.ndarray | None:
        """Centres (M, 2) of the objects that are neither hidden nor outside the image."""
        if self.points is None or self.hidden is None:
            return None
        return self.points[~self.hidden & self._in_image()]

    @property
    def points_in_image(self) -> np.ndarray | None:
        """Centres (M, 2) of the objects that the original image shows."""
        return None if self.points is None else self.points[self._in_image()]

    def _in_image(self) -> np.ndarray:
        assert self.points is not None
        if "canvas_size" not in self.record:
            return np.ones(len(self.points), bool)
        return on_canvas(self.points, self.record["radius"], self.record["canvas_size"])


def read_records(path: PathLike) -> list[dict[str, Any]]:
    """Read the records of a metadata file.

    Parameters
    ----------
    path : path-like
        A JSON list of objects.

    Raises
    ------
    InputError
        If it is no such file, or two records have one ``image_file``.
    """
    records = read_json(path, "metadata file")
    if not isinstance(records, list) or not all(isinstance(r, dict) for r in records):
        raise InputError(f"Expected {path} to hold a list of records.")
    names = Counter(record.get("image_file") for record in records)
    twice = [str(name) for name, times in names.items() if times > 1]
    if twice:
        raise InputError(
            f"{path} names {len(twice)} images more than once: {', '.join(twice[:5])}."
        )
    return records


def to_items(records: Iterable[Mapping[str, Any]]) -> list[CaptureItem]:
    """Turn metadata records into items.

    Parameters
    ----------
    records : iterable of mapping
        See `read_records`.

    Raises
    ------
    InputError
        If a record lacks what all items need, or it is malformed.
    """
    return [_item(record) for record in records]


def read_items(path: PathLike) -> list[CaptureItem]:
    """Read the items of a split.

    Parameters
    ----------
    path : path-like
        A metadata file, or a folder that holds a ``metadata.json``.

    Raises
    ------
    InputError
        See `read_records` and `to_items`.
    """
    path = Path(path)
    return to_items(read_records(path / METADATA if path.is_dir() else path))


def annotated_points(record: Mapping[str, Any]) -> np.ndarray | None:
    """Return the object centres (N, 2) of a record, xy in pixels; None where it has none.

    The released real metadata lists them as boxes of 2 x 2 with the centre first, followed by
    exemplars, which are passed over.

    Parameters
    ----------
    record : mapping
        Of a metadata file.
    """
    if "positions" in record:
        return np.array(record["positions"], float).reshape(-1, 2)
    boxes = np.array(record.get("annotation_bboxes") or [], float).reshape(-1, 4)
    points = boxes[(boxes[:, 2:] == _POINT_SIDE).all(1), :2]
    return points if len(points) else None


def box_record(box: np.ndarray) -> dict[str, int]:
    """Return a box as a record has it.

    Parameters
    ----------
    box : ndarray of shape (4,)
        xyxy, pixels.
    """
    x0, y0, x1, y1 = (int(v) for v in box)
    return {"x": x0, "y": y0, "width": x1 - x0, "height": y1 - y0}


def box_of(record: Mapping[str, Any]) -> np.ndarray:
    """Return the occluder of a record as xyxy (4,), int64, in pixels.

    Parameters
    ----------
    record : mapping
        With ``bbox``, see `box_record`.
    """
    box = record["bbox"]
    x, y = int(box["x"]), int(box["y"])
    return np.array([x, y, x + int(box["width"]), y + int(box["height"])])


def _item(record: Mapping[str, Any]) -> CaptureItem:
    name = record.get("image_file", "(no image_file)")
    try:
        object_name = record["object"] if "object" in record else f"{record['dot_shape']}s"
        box = box_of(record) if record.get("bbox") else None
        points, hidden = annotated_points(record), None
        if "occluded" in record:
            hidden = np.array(record["occluded"], bool)
        elif points is not None and box is not None:
            hidden = np.all((points >= box[:2]) & (points <= box[2:]), axis=1)
        num_occluded = None if hidden is None else int(hidden.sum())
        if "num_occluded" in record:
            num_occluded = int(record["num_occluded"])
        return CaptureItem(
            image_file=str(record["image_file"]),
            object_name=object_name,
            ground_truth=int(record["ground_truth"]),
            box=box,
            points=points,
            hidden=hidden,
            num_occluded=num_occluded,
            shape=record.get("shape"),
            record=record,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"The record of {name} cannot be used: {error!r}.") from None


@dataclass(frozen=True, eq=False)
class CaptureSplit:
    """The items of a split, and where their images are.

    Parameters
    ----------
    folder : Path
        With the folders `ORIGINAL` and `OCCLUDED`.
    items : tuple of CaptureItem
        In the order of the metadata.
    warnings : tuple of str
        What was wrong as it was built.
    """

    folder: Path
    items: tuple[CaptureItem, ...]
    warnings: tuple[str, ...] = ()

    def first(self, n: int | None) -> CaptureSplit:
        """Return the split of its first items.

        Parameters
        ----------
        n : int, optional
            How many; None for all.
        """
        return CaptureSplit(self.folder, self.items[:n])

    def image_path(self, item: CaptureItem, variant: str) -> Path:
        """Return where an image of an item lies.

        Parameters
        ----------
        item : CaptureItem
            Of this split.
        variant : str
            `ORIGINAL` or `OCCLUDED`.
        """
        return self.folder / variant / item.image_file

    def read_image(self, item: CaptureItem, variant: str) -> np.ndarray:
        """Read an image (H, W, 3), uint8, BGR, of an item.

        Parameters
        ----------
        item : CaptureItem
            Of this split.
        variant : str
            `ORIGINAL` or `OCCLUDED`.

        Raises
        ------
        UnreadableImageError
            See `autoeval.io.images.read_image`.
        """
        return read_image(self.image_path(item, variant))


def open_split(folder: PathLike) -> CaptureSplit:
    """Open a folder that `write_synthetic` or `build_real` made.

    Parameters
    ----------
    folder : path-like
        With a ``metadata.json``; images are not looked for.

    Raises
    ------
    InputError
        If the metadata cannot be read.
    """
    return CaptureSplit(Path(folder), tuple(read_items(Path(folder))))


def with_found(split: CaptureSplit, path: PathLike) -> CaptureSplit:
    """Give items the points that another counter found in their occluded images.

    Parameters
    ----------
    split : CaptureSplit
        The items.
    path : path-like
        JSON of points by image, as `autoeval count run` writes it; images are joined by name.

    Raises
    ------
    InputError
        If it cannot be read, or names no image of the split.
    """
    from autoeval.counting.evaluation.localisation import read_point_predictions

    predictions = read_point_predictions(path)
    names = match_ids(predictions, [item.image_file for item in split.items])
    points = {
        names[i]: image.points.tolist() for i, image in predictions.items() if i in names and image
    }
    if not points:
        raise InputError(
            f"{path} has points of none of the {len(split.items)} images of {split.folder}: count "
            f"in {split.folder / OCCLUDED}."
        )
    items = tuple(
        replace(item, record={**item.record, "found_points": points.get(item.image_file)})
        for item in split.items
    )
    return replace(split, items=items)


def write_metadata(folder: PathLike, records: Iterable[Mapping[str, Any]]) -> None:
    """Write the metadata of a split, one record a line.

    Parameters
    ----------
    folder : path-like
        Of the split.
    records : iterable of mapping
        Fit for JSON.
    """
    lines = ",\n".join(json.dumps(record) for record in records)
    write_text(Path(folder) / METADATA, f"[\n{lines}\n]\n")


def write_contact_sheet(split: CaptureSplit, path: PathLike, *, pairs: int = 40) -> None:
    """Draw some items, spread evenly over the split, each original beside its occluded image.

    Parameters
    ----------
    split : CaptureSplit
        With at least one item.
    path : path-like
        Of the picture.
    pairs : int
        How many items, at most.

    Raises
    ------
    UnreadableImageError
        If an image cannot be read.
    """
    from autoeval.report.charts import picture_rows
    from autoeval.runtime.files import write_figure

    chosen = np.unique(np.linspace(0, len(split.items) - 1, pairs).round().astype(int))
    pictures = []
    for item in (split.items[k] for k in chosen):
        original = split.read_image(item, ORIGINAL)
        occluded = split.read_image(item, OCCLUDED)
        gap = np.full_like(original[:, : original.shape[1] // 20], 255)
        pictures.append((np.hstack([original, gap, occluded]), item.image_file))
    write_figure(path, picture_rows(pictures, f"{len(pictures)} of {len(split.items)} pairs"))


def write_image(path: PathLike, image: np.ndarray) -> None:
    """Write an image whole or not at all.

    Parameters
    ----------
    path : path-like
        Its suffix says in which format.
    image : ndarray of shape (H, W, 3), uint8, BGR
        The pixels.

    Raises
    ------
    OSError
        If OpenCV cannot write it.
    """
    with atomic_path(path) as temporary:
        if not cv2.imwrite(str(temporary), image):
            raise OSError(f"{path} could not be written")


def on_canvas(points: np.ndarray, radius: float, size: int | tuple[int, int]) -> np.ndarray:
    """Return which objects show on a canvas.

    Parameters
    ----------
    points : ndarray of shape (N, 2)
        Centres, xy in pixels.
    radius : float
        Half the width of an object, pixels.
    size : int or (int, int)
        Side of the canvas, or width and height.

    Returns
    -------
    ndarray of shape (N,), bool
    """
    return np.all((points > -radius) & (points < np.array(size) + radius), axis=1)
