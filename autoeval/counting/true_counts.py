"""True counts from whatever a data set comes with: points, boxes or plain numbers."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

import numpy as np
from scipy.io import loadmat

from autoeval.counting.counters.mmdet import find_category
from autoeval.counting.predictions import read_columns, true_counts
from autoeval.errors import InputError
from autoeval.io.coco import read_coco
from autoeval.io.json_file import read_json
from autoeval.io.wording import listed
from autoeval.runtime.files import PathLike

# Ways to call an image by its file: the whole name, without folders, without suffix too.
_NAMES = (str, lambda name: PurePath(name).name, lambda name: PurePath(name).stem)
POINT_NAMES = ("annPoints", "points", "gt")
FORMS = {2: ("id", "target"), 3: ("id", "target", "stratum")}


@dataclass(frozen=True, eq=False)
class ImageTruth:
    """The count of one image, its objects (count, 2) as xy in pixels, and its height and width."""

    count: float
    points: np.ndarray | None = None
    size: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False)
class GroundTruth:
    """The truth about a data set by image id, and the file names of images called otherwise."""

    images: Mapping[str, ImageTruth]
    notes: tuple[str, ...] = ()
    file_names: Mapping[str, str] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, float]:
        """True count of each image id."""
        return {image_id: truth.count for image_id, truth in self.images.items()}

    def named_as(self, ids: Collection[str]) -> GroundTruth:
        """Return the truth by ids or file names, with folders or without, as most of `ids` are."""
        wanted = set(ids)
        names = [{i: change(self.file_names.get(i, i)) for i in self.images} for change in _NAMES]
        forms = [{i: i for i in self.images}, *names]
        best = max(forms, key=lambda form: len(wanted & set(form.values())))
        if best is forms[0] or len(set(best.values())) < len(best):
            return self
        return GroundTruth({best[i]: truth for i, truth in self.images.items()}, self.notes)


def truth_of_points(points: object, size: tuple[int, int] | None = None) -> ImageTruth:
    """Make the truth of an image from points (N, 2 or more), xy first, or raise `ValueError`."""
    table = np.asarray(points, np.float64)
    if table.size == 0:
        table = np.zeros((0, 2))
    if table.ndim != 2 or table.shape[1] < 2 or not np.isfinite(table[:, :2]).all():
        raise ValueError(f"expected points [x, y], got an array of shape {table.shape}")
    return ImageTruth(float(len(table)), table[:, :2], size)


def read_mat(path: Path) -> ImageTruth:
    """Read the points of one image from a MATLAB file of version 5 or 7.

    It has ``image_info`` (ShanghaiTech: a struct with ``location`` and ``number``), ``annPoints``
    (UCF-QNRF, NWPU-Crowd), ``points``, ``gt``, or one table with x and y first.
    """
    if not path.is_file():
        raise InputError(f"No file {path}: check the path.")
    try:
        content = {k: v for k, v in loadmat(path).items() if not k.startswith("__")}
    except NotImplementedError:
        raise InputError(f"{path} is a version 7.3 file: save it as version 7.") from None
    except Exception as error:
        raise InputError(f"Cannot read {path} as a MATLAB file: {error}.") from None
    try:
        points, stated = _points(content)
        truth = truth_of_points(points)
    except (LookupError, TypeError, ValueError) as error:
        raise InputError(
            f"{path}: expected 'image_info' with 'location', or a table of points named "
            f"{' or '.join(POINT_NAMES)}; it holds {', '.join(content) or 'nothing'} ({error})."
        ) from None
    if stated is not None and stated != truth.count:
        raise InputError(f"{path}: says number = {stated} but has {truth.count:.0f} points.")
    return truth


def image_id_of(path: Path) -> str:
    """Return the id of the image that an annotation file is about."""
    return re.sub(r"^GT_|_ann$", "", path.stem)


def _points(content: dict[str, Any]) -> tuple[Any, int | None]:
    if "image_info" in content:
        info = content["image_info"][0, 0]
        return info["location"][0, 0], int(np.ravel(info["number"][0, 0])[0])
    for name in POINT_NAMES:
        if name in content:
            return content[name], None
    tables = [v for v in content.values() if np.ndim(v) == 2 and np.shape(v)[1] >= 2]
    if len(tables) != 1:
        raise LookupError(f"{len(tables)} tables of two or more columns")
    return tables[0], None


def truth_of_json(content: Any, path: Path) -> GroundTruth:
    """Read the points of one or many images from the content of the file `path`.

    It is an object, by image id, of lists of [x, y] or of objects with ``points`` (FSC-147); or
    NWPU-Crowd's object of one image, with ``img_id``, ``human_num`` and ``points``.
    """
    if isinstance(content, Mapping) and "points" in content:
        image_id = str(content.get("img_id", path.stem))
        return GroundTruth({image_id: _image(path, image_id, content)})
    if not isinstance(content, Mapping) or not content:
        raise InputError(f"{path}: expected an object with the points of each image by its id.")
    return GroundTruth({str(i): _image(path, str(i), entry) for i, entry in content.items()})


def _image(path: Path, image_id: str, entry: Any) -> ImageTruth:
    fields: Mapping[str, Any] = entry if isinstance(entry, Mapping) else {"points": entry}
    try:
        size = (int(fields["H"]), int(fields["W"])) if "H" in fields and "W" in fields else None
        truth = truth_of_points(fields["points"], size)
    except KeyError:
        raise InputError(f"{path}: image {image_id} has no field 'points'.") from None
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{path}: the points of image {image_id} are malformed: {error}."
        ) from None
    stated = fields.get("human_num", truth.count)
    if stated != truth.count:
        raise InputError(
            f"{path}: image {image_id} says human_num = {stated} but has {truth.count:.0f} points."
        )
    return truth


def _coco_counts(path: Path, category: str | None) -> GroundTruth:
    """Count the boxes of each image, of one category or all; their centres are the points."""
    content = read_coco(path)
    wanted = {*content.categories}
    if category is not None:
        try:
            wanted = {content.categories[find_category(category, content.categories)]}
        except InputError:
            raise InputError(
                f"{path} has no category '{category}', or several that it could mean: its "
                f"categories are {listed(content.categories, most=100) or 'none'}."
            ) from None
    centres: dict[str, list[tuple[float, float]]] = {im.image_id: [] for im in content.images}
    crowds: list[str] = []
    for box in content.boxes:
        if box.category in wanted and box.iscrowd:
            crowds.append(box.image_id)
        elif box.category in wanted:
            x, y, width, height = box.xywh
            centres[box.image_id].append((x + width / 2, y + height / 2))
    notes = list(content.warnings)
    if crowds:
        names = listed(list(dict.fromkeys(crowds)))
        notes.append(f"{len(crowds)} boxes that mark a crowd were not counted (image ids: {names})")
    images = {im.image_id: truth_of_points(centres[im.image_id], im.size) for im in content.images}
    file_names = {im.image_id: im.file_name for im in content.images}
    return GroundTruth(images, tuple(notes), file_names)


def read_truth(path: PathLike, category: str | None = None) -> GroundTruth:
    """Read true counts; the file's suffix and content show the format.

    It is CSV or Parquet of ``id,count[,stratum]``; JSON of points (by image id, FSC-147,
    NWPU-Crowd) or of COCO boxes; a ``.mat`` file (ShanghaiTech, UCF-QNRF, NWPU-Crowd); or a folder
    with one ``.mat``, ``.json`` or ``.txt`` (JHU-Crowd++: lines of ``x y w h o b``) an image.
    """
    path = Path(path)
    content = read_json(path) if path.suffix == ".json" and not path.is_dir() else None
    if _is_coco(content):
        return _coco_counts(path, category)
    if category is not None:
        raise InputError(
            f"A category ('{category}') can be chosen of COCO annotations only, and {path} holds "
            "none."
        )
    if path.is_dir():
        return _read_folder(path)
    if path.suffix == ".mat":
        return GroundTruth({image_id_of(path): read_mat(path)})
    if content is not None:
        return truth_of_json(content, path)
    frame = read_columns(path, FORMS)
    if "target" not in frame:
        raise InputError(f"{path} has no column 'count' or 'target'.")
    counts = true_counts(path, frame).tolist()
    return GroundTruth({i: ImageTruth(n) for i, n in zip(frame["id"], counts, strict=True)})


def has_categories(path: PathLike) -> bool:
    """Return whether a file of true counts is one of COCO's, so that a category can be chosen."""
    path = Path(path)
    return path.suffix == ".json" and path.is_file() and _is_coco(read_json(path))


def _is_coco(content: object) -> bool:
    return isinstance(content, dict) and "images" in content and "annotations" in content


def _read_folder(folder: Path) -> GroundTruth:
    by_suffix = (sorted(folder.glob(f"*{suffix}")) for suffix in (".mat", ".json", ".txt"))
    files = next(filter(None, by_suffix), [])
    if not files:
        raise InputError(f"{folder} holds no .mat, .json or .txt file of points.")
    images: dict[str, ImageTruth] = {}
    for file in files:
        for image_id, truth in _read_one(file).items():
            if image_id in images:
                raise InputError(
                    f"{folder}: image {image_id} appears twice (again in {file.name})."
                )
            images[image_id] = truth
    return GroundTruth(images)


def _read_one(file: Path) -> dict[str, ImageTruth]:
    if file.suffix == ".mat":
        return {image_id_of(file): read_mat(file)}
    if file.suffix == ".json":
        return dict(truth_of_json(read_json(file), file).images)
    try:
        lines = [line.split() for line in file.read_text(encoding="utf-8").splitlines()]
        return {file.stem: truth_of_points([[float(f) for f in line] for line in lines if line])}
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: expected lines of 'x y w h o b': {error}.") from None
