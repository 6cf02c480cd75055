"""True counts from whatever a data set comes with: points, boxes or plain numbers."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import loadmat

from autoeval.counting.predictions import match_ids, read_columns, true_counts
from autoeval.errors import InputError
from autoeval.io.coco import read_coco
from autoeval.runtime.files import PathLike, read_json
from autoeval.words import listed

POINT_NAMES = ("annPoints", "points", "gt")
FORMS = {
    2: ("id", "target"),
    3: ("id", "target", "stratum"),
    5: ("id", "target", "scene", "weather", "distractor"),  # image_labels.txt of JHU-Crowd++
}
# Of FSC-147.
ANNOTATIONS = (
    "annotation_FSC147_384.json",
    "annotations_FSC147_384.json",
    "annotation_FSC147.json",
)
SPLITS = "Train_Test_Val_FSC_147.json"
FRAME_HEIGHT = 384  # of FSC-147's images and points, whatever its H and W say
# Where data sets keep one file of points an image: ShanghaiTech, JHU-Crowd++, NWPU-Crowd.
POINT_FOLDERS = ("ground-truth", "ground_truth", "gt", "jsons", "mats")
JHU_COUNTS = "image_labels.txt"
NO_POINTS = (JHU_COUNTS, "classes.txt")  # the latter has the names of YOLO's classes
MOST_SHARE = 1.5  # of an image: beyond it numbers are pixels, a little beyond 1 is rounding
IRREGULAR = {  # plurals, and the endings of others, of categories that are named
    "people": "person",
    "persons": "person",
    "men": "man",
    "women": "woman",
    "children": "child",
    "mice": "mouse",
    "geese": "goose",
    "teeth": "tooth",
    "feet": "foot",
    "oxen": "ox",
}
ENDINGS = (("ies", "y"), ("ves", "f"), ("ves", "fe"), ("es", ""), ("s", ""))


@dataclass(frozen=True, eq=False)
class ImageTruth:
    """The true count of one image, and where its objects are.

    Parameters
    ----------
    count : float
        Number of objects.
    points : ndarray of shape (N, 2), float64, optional
        Of each object, xy in pixels, where they are known.
    size : (int, int), optional
        Height and width of the frame that the points are in, pixels.
    """

    count: float
    points: np.ndarray | None = None
    size: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False)
class GroundTruth:
    """The truth about a data set.

    Parameters
    ----------
    images : mapping of str to ImageTruth
        By image id.
    notes : tuple of str
        What is odd about it, one sentence each.
    file_names : mapping of str to str
        File name by image id, of images that are called otherwise.
    splits : mapping of str to collection of str
        Image ids of the parts of the data set, where it has such.
    """

    images: Mapping[str, ImageTruth]
    notes: tuple[str, ...] = ()
    file_names: Mapping[str, str] = field(default_factory=dict)
    splits: Mapping[str, Collection[str]] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, float]:
        """True count of each image id."""
        return {image_id: truth.count for image_id, truth in self.images.items()}

    def named_as(self, ids: Collection[str]) -> GroundTruth:
        """Return the truth by other names of its images.

        Images are joined by their ids, or by their file names, whichever joins more (`match_ids`);
        of as many, the way that joins more of them with their suffix: ``1.jpg`` is the file of this
        name before it is the image of the id 1. If one split has all images that are joined, the
        truth is that of the split, and a note says so.

        Parameters
        ----------
        ids : collection of str
            Names of images; a true image that none of them names keeps its id or, where they are
            names of files, has that of its file.
        """
        by_id = match_ids(ids, self.images)
        files = {self.file_names.get(i, i): i for i in self.images}
        by_file = match_ids(ids, files)
        names = {i: name for name, i in by_id.items()}
        joined = set(names)
        if _how_well(by_file) > _how_well(by_id) and len(files) == len(self.images):
            names = {i: file for file, i in files.items()}
            names |= {files[file]: name for name, file in by_file.items()}
            joined = {files[file] for file in by_file.values()}
        kept, notes = set(self.images), self.notes
        for split, members in self.splits.items():
            if joined and joined <= set(members):
                kept &= set(members)
                notes += (f"The truth is that of the split '{split}', which has all predictions",)
                break
        images = {names.get(i, i): truth for i, truth in self.images.items() if i in kept}
        return GroundTruth(images, notes)


def _how_well(joined: Mapping[str, str]) -> tuple[int, int]:
    """Return how many names of images are joined, and how many of them with their suffix."""
    return len(joined), sum(Path(a).name == Path(b).name for a, b in joined.items())


def truth_of_points(points: object, size: tuple[int, int] | None = None) -> ImageTruth:
    """Make the truth of an image from its points.

    Parameters
    ----------
    points : array-like of shape (N, 2 or more)
        x and y first; empty for no object.
    size : (int, int), optional
        Height and width of their frame, pixels.

    Raises
    ------
    ValueError
        If it has another shape, or x or y is not finite.
    """
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

    Parameters
    ----------
    path : Path
        The file.

    Raises
    ------
    InputError
        If it is missing, of version 7.3, or no such file, has none of these tables, or states
        another number than it has points.
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
    """Return the id of the image that an annotation file is about.

    Parameters
    ----------
    path : Path
        Its stem without ``GT_`` and ``_ann`` is the id: ``IMG_1`` for ``GT_IMG_1.mat``.
    """
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
    """Read the points of one or many images from the content of a JSON file.

    It is an object, by image id, of lists of [x, y] or of objects with ``points`` (FSC-147); or
    NWPU-Crowd's object of one image, with ``img_id``, ``human_num`` and ``points``.

    Parameters
    ----------
    content : object
        Of the file.
    path : Path
        The file, for messages; FSC-147's are known by their name, too.

    Raises
    ------
    InputError
        If it is none of these, or the points of an image are malformed, or not as many as it
        states.
    """
    if isinstance(content, Mapping) and "points" in content:
        image_id = str(content.get("img_id", path.stem))
        return GroundTruth({image_id: _image(path, image_id, content)})
    if not isinstance(content, Mapping) or not content:
        raise InputError(f"{path}: expected an object with the points of each image by its id.")
    images = {str(i): _image(path, str(i), entry) for i, entry in content.items()}
    if path.name in ANNOTATIONS or any(map(_is_of_fsc147, content.values())):
        images = {i: _in_fsc_frame(image, content[i]) for i, image in images.items()}
    return GroundTruth(images)


def _is_of_fsc147(entry: Any) -> bool:
    return isinstance(entry, Mapping) and bool({"box_examples_coordinates", "ratio_h"} & {*entry})


def _in_fsc_frame(image: ImageTruth, entry: Mapping[str, Any]) -> ImageTruth:
    """Give an image of FSC-147 the size of the frame that its points are in, 384 high.

    Its `H` and `W` are of the original image, and ``ratio_h`` and ``ratio_w`` lead to the frame.
    """
    if image.size is None or image.size[0] == FRAME_HEIGHT:
        return image
    height, width = image.size
    ratio_h = float(entry.get("ratio_h", FRAME_HEIGHT / height))
    size = (round(height * ratio_h), round(width * float(entry.get("ratio_w", ratio_h))))
    return replace(image, size=size)


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
    notes: list[str] = list(content.warnings)
    if crowds:
        names = listed(list(dict.fromkeys(crowds)))
        notes.append(f"{len(crowds)} boxes that mark a crowd were not counted (image ids: {names})")
    unknown = {im.image_id for im in content.images if content.unchecked(im.image_id, wanted)}
    left_out = (
        f"{len(unknown)} images in which not all of what is counted was looked for were left out "
        f"(image ids: {listed(sorted(unknown))})"
    )
    if unknown and len(unknown) == len(content.images):
        raise InputError(f"{path}: {left_out}: choose a category (--category).")
    notes += [left_out] * bool(unknown)
    images = {
        im.image_id: truth_of_points(centres[im.image_id], im.size)
        for im in content.images
        if im.image_id not in unknown
    }
    file_names = {im.image_id: im.file_name for im in content.images}
    return GroundTruth(images, tuple(notes), file_names)


def read_truth(path: PathLike, category: str | None = None) -> GroundTruth:
    """Read true counts; the file's suffix and content show the format.

    Points that are given twice or lie outside their image are named in the notes.

    Parameters
    ----------
    path : path-like
        CSV or Parquet of ``id,count[,stratum]`` (JHU-Crowd++'s ``image_labels.txt``, too); JSON of
        points (by image id, FSC-147, NWPU-Crowd) or of COCO boxes; a ``.mat`` file (ShanghaiTech,
        UCF-QNRF, NWPU-Crowd); or a folder with one ``.mat``, ``.json`` or ``.txt`` (JHU-Crowd++:
        lines of ``x y w h o b``; of YOLO's labels the boxes are counted, and their places passed
        over) an image, or with a folder of them, or FSC-147's.
    category : str, optional
        Counts the boxes of one category of a COCO file; by default those of all. Images in which
        nobody looked for them, as LVIS says, are left out.

    Raises
    ------
    InputError
        If it cannot be read, or a category is chosen that it does not have.
    """
    truth = _read_truth(Path(path), category)
    return replace(truth, notes=(*truth.notes, *odd_points(truth.images)))


def odd_points(images: Mapping[str, ImageTruth]) -> list[str]:
    """State how many true points are given twice, or lie outside of their image.

    Parameters
    ----------
    images : mapping of str to ImageTruth
        By image id; those without points or size are passed over.
    """
    twice, outside = dict[str, int](), dict[str, int]()
    for image_id, image in images.items():
        if image.points is None or not len(image.points):
            continue
        if again := len(image.points) - len(np.unique(image.points, axis=0)):
            twice[image_id] = again
        if image.size is not None and (n := int(beyond(image.points, image.size).sum())):
            outside[image_id] = n
    return [
        f"{sum(n_by_image.values())} true points {fault}, in {len(n_by_image)} images: "
        f"{listed(list(n_by_image))}"
        for n_by_image, fault in ((twice, "are given twice"), (outside, "lie outside their image"))
        if n_by_image
    ]


def beyond(points: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Return which points lie more than a pixel outside of a frame.

    Parameters
    ----------
    points : ndarray of shape (N, 2)
        xy, pixels.
    size : (int, int)
        Height and width of the frame.

    Returns
    -------
    ndarray of shape (N,), bool
    """
    height, width = size
    outside = (points < -1) | (points > [width + 1, height + 1])
    return np.asarray(outside.any(axis=1))


def _read_truth(path: Path, category: str | None) -> GroundTruth:
    content = read_json(path) if path.suffix == ".json" and not path.is_dir() else None
    if _is_coco(content):
        return _coco_counts(path, category)
    if category is not None:
        raise InputError(
            f"A category ('{category}') can be chosen of COCO annotations only, and {path} holds "
            "none."
        )
    if path.is_dir():
        return _read_fsc147(path) or _read_folder(path)
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
    """Return whether a file of true counts is one of COCO's, so that a category can be chosen.

    Parameters
    ----------
    path : path-like
        A file or folder that `read_truth` reads.
    """
    path = Path(path)
    return path.suffix == ".json" and path.is_file() and _is_coco(read_json(path))


def _is_coco(content: object) -> bool:
    return isinstance(content, dict) and "images" in content and "annotations" in content


def _read_fsc147(folder: Path) -> GroundTruth | None:
    """Read FSC-147's annotations of a folder that has them, with the images of each split."""
    path = next((folder / name for name in ANNOTATIONS if (folder / name).is_file()), None)
    if path is None:
        return None
    truth = truth_of_json(read_json(path), path)
    if not (folder / SPLITS).is_file():
        return truth
    return replace(truth, splits=read_json(folder / SPLITS))


def _read_folder(folder: Path) -> GroundTruth:
    files = _point_files(folder)
    within = [folder / name for name in POINT_FOLDERS if (folder / name).is_dir()]
    if not files and within:
        return _read_folder(within[0])
    if not files and (folder / JHU_COUNTS).is_file():
        return _read_truth(folder / JHU_COUNTS, None)
    if not files:
        raise InputError(
            f"{folder} holds no .mat, .json or .txt file of points, nor a folder of them named "
            f"{' or '.join(POINT_FOLDERS)}."
        )
    if files[0].suffix == ".txt":
        return _read_texts(folder, files)
    images: dict[str, ImageTruth] = {}
    for file in files:
        for image_id, truth in _read_one(file).items():
            if image_id in images:
                raise InputError(
                    f"{folder}: image {image_id} appears twice (again in {file.name})."
                )
            images[image_id] = truth
    return GroundTruth(images)


def _point_files(folder: Path) -> list[Path]:
    by_suffix = (sorted(folder.glob(f"*{suffix}")) for suffix in (".mat", ".json", ".txt"))
    file_lists = ([file for file in files if file.name not in NO_POINTS] for files in by_suffix)
    return next(filter(None, file_lists), [])


def _read_texts(folder: Path, files: Sequence[Path]) -> GroundTruth:
    """Read JHU-Crowd++'s points; of YOLO's labels, whose places are shares, the numbers alone."""
    tables: dict[str, list[list[float]]] = {}
    images: dict[str, ImageTruth] = {}
    for file in files:
        try:
            lines = [line.split() for line in file.read_text(encoding="utf-8-sig").splitlines()]
            tables[file.stem] = [[float(field) for field in line] for line in lines if line]
            images[file.stem] = truth_of_points([line[:2] for line in tables[file.stem]])
        except (OSError, ValueError) as error:
            raise InputError(f"{file}: expected lines of 'x y w h o b': {error}.") from None
    if not _are_of_yolo([line for table in tables.values() for line in table]):
        return GroundTruth(images)
    note = (
        f"{folder} holds labels in YOLO's format: they are counted, and their places, which are "
        "shares of the images, are not compared. `autoeval convert-labels` makes a COCO file of "
        "them, with places and categories"
    )
    return GroundTruth({i: ImageTruth(image.count) for i, image in images.items()}, (note,))


def _are_of_yolo(lines: Sequence[Sequence[float]]) -> bool:
    """Whether all lines are a class and four shares of the image, as no point's are.

    More of them are a polygon, or keypoints with how visible each is.
    """
    return bool(lines) and all(
        len(line) >= 5
        and line[0] >= 0
        and line[0] % 1 == 0
        and max(map(abs, line[1:5])) <= MOST_SHARE
        for line in lines
    )


def _read_one(file: Path) -> dict[str, ImageTruth]:
    if file.suffix == ".mat":
        return {image_id_of(file): read_mat(file)}
    return dict(truth_of_json(read_json(file), file).images)


def find_category(prompt: str, categories: Sequence[str]) -> int:
    """Return the index of the category that a prompt names.

    Parameters
    ----------
    prompt : str
        In singular or plural, any case; ``_`` and ``-`` stand for spaces.
    categories : sequence of str

    Raises
    ------
    InputError
        If it names none of them, or could mean several.
    """
    if prompt in categories:  # there may be a "Helmet", too
        return categories.index(prompt)
    names, wanted = [_plain(name) for name in categories], _plain(prompt)
    fitting = [i for i, name in enumerate(names) if name == wanted]
    fitting = fitting or [i for i, name in enumerate(names) if _forms(name) & _forms(wanted)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        several = ", ".join(categories[i] for i in fitting)
        raise InputError(f"The prompt '{prompt}' could mean {several}: say which.")
    raise InputError(
        f"The detector has no category for the prompt '{prompt}'. It knows: {', '.join(categories)}"
    )


def _plain(name: str) -> str:
    return " ".join(name.lower().replace("_", " ").replace("-", " ").split())


def _forms(name: str) -> set[str]:
    *rest, last = name.split() or [""]
    singular = {last, IRREGULAR.get(last, last)}
    singular |= {
        last[: -len(ending)] + instead
        for ending, instead in ENDINGS
        if last.endswith(ending) and len(last) > len(ending) + 1
    }
    return {" ".join([*rest, form]) for form in singular}
