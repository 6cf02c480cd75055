"""Counting data sets as PrACo needs them, read from COCO, FSC-147 or MUCCA."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from autoeval.counting.true_counts import (
    ANNOTATIONS,
    SPLITS,
    GroundTruth,
    odd_points,
    truth_of_json,
)
from autoeval.errors import InputError
from autoeval.io.coco import read_coco
from autoeval.io.image_lists import image_path
from autoeval.io.labels.content import LabelSet
from autoeval.io.tasks.task import find_data_root
from autoeval.runtime.files import PathLike, read_config, read_json
from autoeval.words import listed, refuse_unknown

NO_OBJECT = "no object: its true count is 0"
NOT_ASKED = "no object of a class that is asked for"
ON_THE_LIST = "on the exclusion list"
IMAGE_CLASSES = "ImageClasses_FSC147.txt"
SPLIT_CLASSES = "Split_Classes_FSC147.json"
IMAGE_FOLDERS = ("images_384_VarV2", "images")
COUNTS = "multiclass_class_counts_per_image.json"
POINTS = "annotations.json"
CLASSES = "multiclass_split_classes.json"
IMAGES = "multiclass_split_images.json"
NAMES = "class_mapping.json"
SET_KEYS = ("name", "data_root", "parts", "prompt_only", "exclude")  # of a config file
HEIGHT = 384  # of the frame that the points are in, whatever the size of the image


@dataclass(frozen=True, eq=False)
class CountedImage:
    """One image and the centres of its objects, by class.

    Parameters
    ----------
    image_id : str
    path : Path
        File of the image.
    points : mapping of str to ndarray of shape (N, 2)
        Centres of the objects of each class, as xy, pixels of the frame.
    size : tuple of int, optional
        Height and width of the frame that the points are in; by default that of the image.
    """

    image_id: str
    path: Path
    points: Mapping[str, np.ndarray]
    size: tuple[int, int] | None = None

    @property
    def category(self) -> str:
        """The class of an image that has only one."""
        [category] = self.points
        return category

    @property
    def count(self) -> int:
        """Number of objects, of all classes."""
        return sum(map(len, self.points.values()))


@dataclass(frozen=True)
class MosaicPool:
    """The two halves of the draws, in their order.

    Images that are not measured take part, or their absence would change all later draws; FSC-147's
    class file holds images of no split, which the authors' code draws all the same.

    Parameters
    ----------
    upper, lower : mapping of str to str
        The class of each image by its id, of those that may be above and below.
    paths : mapping of str to Path
        File of each image, by its id, as far as `CountingSet.images` does not have it.
    """

    upper: Mapping[str, str]
    lower: Mapping[str, str]
    paths: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class CountingSet:
    """Images and the classes to be counted, in the order of prediction files.

    Parameters
    ----------
    name : str
        Of the split or data set.
    classes : tuple of str
        The prompts; one without images is named in the negative-label test only.
    images : tuple of CountedImage
    excluded : mapping of str to str
        Why an image is in no measure, by its id.
    warnings : tuple of str
        What was left out or is odd.
    mosaic_pool : MosaicPool, optional
        What mosaics draw from, where that is more than `images`.
    """

    name: str
    classes: tuple[str, ...]
    images: tuple[CountedImage, ...]
    excluded: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    mosaic_pool: MosaicPool | None = None

    @property
    def kept(self) -> tuple[CountedImage, ...]:
        """The images that are measured."""
        return tuple(image for image in self.images if image.image_id not in self.excluded)

    @property
    def by_id(self) -> dict[str, CountedImage]:
        """All images by their id."""
        return {image.image_id: image for image in self.images}

    @property
    def pool(self) -> MosaicPool:
        """What mosaics draw from: `mosaic_pool`, or else all images."""
        if self.mosaic_pool is not None:
            return self.mosaic_pool
        categories = {image.image_id: image.category for image in self.images}
        return MosaicPool(categories, categories)

    @property
    def paths(self) -> dict[str, Path]:
        """File of every image that may be in a mosaic, by its id."""
        return {**self.pool.paths, **{image.image_id: image.path for image in self.images}}

    def truth(self) -> pd.DataFrame:
        """Return ``category`` and ``count`` of the measured images, indexed by ``image_id``."""
        rows = [(image.image_id, image.category, image.count) for image in self.kept]
        table = pd.DataFrame(rows, columns=["image_id", "category", "count"])
        return table.set_index("image_id")

    def class_counts(self) -> pd.DataFrame:
        """Return the true counts of the measured images (rows) by class (columns)."""
        rows = [[len(image.points.get(name, ())) for name in self.classes] for image in self.kept]
        ids = pd.Index([image.image_id for image in self.kept], name="image_id")
        return pd.DataFrame(rows, index=ids, columns=list(self.classes), dtype=np.int64)

    def first(self, n: int | None) -> CountingSet:
        """Measure the first of the measured images alone; what mosaics draw from stays.

        Parameters
        ----------
        n : int or None
            How many; None for all.
        """
        beyond = [image.image_id for image in self.kept[n:]] if n is not None else []
        return self.exclude(beyond, f"beyond the limit of {n}") if beyond else self

    def exclude(self, image_ids: Iterable[str], reason: str = ON_THE_LIST) -> CountingSet:
        """Take images out of all measures; what is no image of the set is noted in the warnings.

        Parameters
        ----------
        image_ids : iterable of str
            Whole, or without folder and suffix; what so names several images names none.
        reason : str
            For `excluded`.
        """
        times = Counter(Path(name).stem for name in self.by_id)
        named = {Path(name).stem: name for name in self.by_id if times[Path(name).stem] == 1}
        named |= {name: name for name in self.by_id}
        wanted = list(image_ids)
        unknown = [name for name in wanted if name not in named]
        several = [name for name in unknown if name in times]
        reasons = {
            "excluded images that the set does not have": [n for n in unknown if n not in times],
            "names of several images, of which none was excluded": several,
        }
        notes = left_out(reasons)
        excluded = {**self.excluded, **{named[w]: reason for w in wanted if w in named}}
        return replace(self, excluded=excluded, warnings=(*self.warnings, *notes))


def left_out(reasons: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Say for each reason how many images it is true of, and which.

    Parameters
    ----------
    reasons : mapping of str to sequence of str
        Ids of images by reason.

    Returns
    -------
    tuple of str
        One a reason that is true of an image.
    """
    return tuple(f"{reason}: {len(ids)} ({listed(ids)})" for reason, ids in reasons.items() if ids)


def single_class(counting_set: CountingSet) -> CountingSet:
    """Keep the images of one class that is asked for; those without objects are excluded by name.

    Parameters
    ----------
    counting_set : CountingSet

    Raises
    ------
    InputError
        If no image is left, or there are fewer than two classes.
    """
    images = tuple(image for image in counting_set.images if len(image.points) == 1)
    unfit = {
        "images of several classes, left out": [
            image.image_id for image in counting_set.images if len(image.points) > 1
        ],
        "images without objects, left out": [
            image.image_id for image in counting_set.images if not image.points
        ],
    }
    warnings = (*counting_set.warnings, *left_out(unfit))
    single = replace(counting_set, images=images, warnings=warnings)
    single = single.exclude([i.image_id for i in images if not i.count], NO_OBJECT)
    unasked = [i.image_id for i in images if i.count and i.category not in single.classes]
    single = single.exclude(unasked, NOT_ASKED)
    if len(single.classes) < 2 or not single.kept:
        raise InputError(
            f"PrACo needs images of one class each and at least two classes to ask for, but "
            f"{counting_set.name} has {len(single.kept)} such images and the classes "
            f"{listed(single.classes) or 'none'}."
        )
    return single


def read_exclusions(path: PathLike) -> list[str]:
    """Read a list of image ids.

    Parameters
    ----------
    path : path-like
        One id a line; ``#`` at its beginning or behind a space starts a comment.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"Cannot read the exclusion list {path}: {error}.") from error
    return [name for line in lines if (name := re.split(r"(?:^|\s)#", line)[0].strip())]


def load_counting_set(
    path: PathLike,
    *,
    split: str = "test",
    data_root: PathLike | None = None,
    exclude: Sequence[PathLike] = (),
    need_images: bool = True,
) -> CountingSet:
    """Read a data set for PrACo.

    Parameters
    ----------
    path : path-like
        A folder in FSC-147's layout, or with MUCCA's files; a COCO file, or a folder with
        ``annotations.json`` and ``images``; or a config file that puts COCO files together.
    split : str
        Of FSC-147 and MUCCA.
    data_root : path-like, optional
        Folder that the files of a config are relative to.
    exclude : sequence of path-like
        Lists of image ids; see `read_exclusions`.
    need_images : bool
        Whether an image without a file is left out; predictions made elsewhere need none.

    Raises
    ------
    InputError
        If it is none of these, a file is malformed, or no image is left.
    """
    path = Path(path)
    if path.is_dir() and is_mucca(path):
        counting_set = load_mucca(path, split, need_images=need_images)
    elif path.is_dir() and is_fsc147(path):
        counting_set = load_fsc147(path, split, need_images=need_images)
    elif path.is_dir() and (path / "annotations.json").is_file():
        part = CocoPart(path / "annotations.json", path / "images")
        counting_set = load_coco_classes([part], name=path.name, need_images=need_images)
    elif path.suffix == ".json" and path.is_file():
        image_folder = path.parent / "images"
        part = CocoPart(path, image_folder if image_folder.is_dir() else path.parent)
        counting_set = load_coco_classes([part], name=path.stem, need_images=need_images)
    elif path.suffix == ".py":
        counting_set = _of_config(path, data_root, need_images)
    else:
        raise InputError(
            f"Data set {path} is not recognised: expected a folder in FSC-147's layout or with "
            "MUCCA's files, a folder with annotations.json and images/, a COCO JSON file, or a "
            "config file (.py)."
        )
    for file in exclude:
        counting_set = counting_set.exclude(read_exclusions(file))
    return counting_set


def _of_config(path: Path, data_root: PathLike | None, need_images: bool) -> CountingSet:
    config = read_config(path, SET_KEYS)
    try:
        name = config["name"]
        root = find_data_root(path, name, config.get("data_root"), data_root)
        parts = []
        for entry in config["parts"]:
            refuse_unknown(entry, [field.name for field in fields(CocoPart)], f"A part of {path}")
            files = {name: root / entry[name] for name in ("ann_file", "img_dir")}
            parts.append(CocoPart(**(dict(entry) | files)))
    except (KeyError, TypeError) as error:
        raise InputError(
            f"{path} is malformed ({error!r}). Expected `name` and `parts`, each with ann_file and "
            "img_dir and, where needed, name, mapping and keep."
        ) from error
    prompt_only = config.get("prompt_only", ())
    counting_set = load_coco_classes(
        parts, name=name, prompt_only=prompt_only, need_images=need_images
    )
    return counting_set.exclude(config.get("exclude", ()))


@dataclass(frozen=True)
class CocoPart:
    """One annotation file that contributes images.

    Parameters
    ----------
    ann_file : path-like
        COCO JSON.
    img_dir : path-like
        Folder that file names are relative to.
    name : str
        Put before file names in image ids.
    mapping : mapping of str to str, optional
        Class of each prompted category; boxes of other categories are objects all the
        same, of a class of that name. By default each category is its own class.
    keep : sequence of str, optional
        File names to use; by default all.
    """

    ann_file: PathLike
    img_dir: PathLike
    name: str = ""
    mapping: Mapping[str, str] | None = None
    keep: Sequence[str] | None = None


def load_coco_classes(
    parts: Sequence[CocoPart],
    *,
    name: str = "all",
    prompt_only: Sequence[str] = (),
    need_images: bool = True,
) -> CountingSet:
    """Read images with the centres of their boxes, by class.

    Images with a crowd box, whose count is not known, those of LVIS in which not every class was
    looked for, and missing ones are left out and named in the warnings.

    Parameters
    ----------
    parts : sequence of CocoPart
    name : str
        Of the set.
    prompt_only : sequence of str
        Further classes that are prompted.
    need_images : bool
        See `load_counting_set`.

    Returns
    -------
    CountingSet
        Ids of images are ``part/file name``, or the file name where a part has no name.

    Raises
    ------
    InputError
        If a file is malformed, a category of a mapping or an image to keep is not in it, no image
        is left, or two have one id.
    """
    images: list[CountedImage] = []
    warnings: list[str] = []
    classes: list[str] = []
    for part in parts:
        content = read_coco(part.ann_file)
        mapping = {name: name for name in content.categories}
        if part.mapping is not None:
            mapping = dict(part.mapping)
            if absent := [category for category in mapping if category not in content.categories]:
                raise InputError(
                    f"The mapping of {part.ann_file} names {listed(absent)}, but the file has "
                    f"{listed(content.categories, most=100) or 'no category'}."
                )
        part_images, unfit = _images(part, content, mapping, need_images)
        images += part_images
        warnings += [*content.warnings, *left_out(unfit)]
        classes += mapping.values()
    if not images:
        raise InputError(f"No image is left of {listed([str(p.ann_file) for p in parts])}.")
    times = Counter(image.image_id for image in images)
    if twice := [image_id for image_id, n in times.items() if n > 1]:
        raise InputError(
            f"{len(twice)} images of {listed([str(p.ann_file) for p in parts])} have the name of "
            f"another ({listed(twice)}): give the parts of the config different names."
        )
    ordered = tuple(dict.fromkeys([*classes, *prompt_only]))
    return CountingSet(name, ordered, tuple(images), warnings=tuple(warnings))


def _images(
    part: CocoPart, content: LabelSet, mapping: Mapping[str, str], need_images: bool
) -> tuple[list[CountedImage], dict[str, list[str]]]:
    """Return the images of a part, and the file names of those that are left out by reason."""
    names = {image.file_name for image in content.images}
    keep = names if part.keep is None else set(part.keep)
    if keep - names:
        unknown = [name for name in part.keep or () if name not in names]
        raise InputError(f"{part.ann_file} has no images {listed(unknown)}, which are to be kept.")
    centres: dict[str, dict[str, list]] = {image.image_id: {} for image in content.images}
    for box in content.boxes:
        x, y, width, height = box.xywh
        category = mapping.get(box.category, box.category)
        centres[box.image_id].setdefault(category, []).append((x + width / 2, y + height / 2))
    crowded = {box.image_id for box in content.boxes if box.iscrowd}
    folder, prefix = Path(part.img_dir), f"{part.name}/" if part.name else ""
    images, missing, crowds, unchecked = [], [], [], []
    for im in content.images:
        path = image_path(folder, im.file_name)
        if im.file_name not in keep:
            continue
        is_missing = need_images and not path.is_file()
        missing += [im.file_name] * is_missing
        crowds += [im.file_name] * (im.image_id in crowded)
        is_unchecked = bool(content.unchecked(im.image_id, mapping))
        unchecked += [im.file_name] * is_unchecked
        if not is_missing and im.image_id not in crowded and not is_unchecked:
            points = {k: np.array(v, np.float64) for k, v in centres[im.image_id].items()}
            images.append(CountedImage(prefix + im.file_name, path, points, im.size))
    reasons = {
        f"images missing in {folder}": missing,
        "images with a crowd box": crowds,
        "images in which not every class was looked for": unchecked,
    }
    return images, {f"{reason}, left out": unfit for reason, unfit in reasons.items()}


def is_fsc147(root: PathLike) -> bool:
    """Return whether a folder has FSC-147's class file or split file.

    Parameters
    ----------
    root : path-like
    """
    return any((Path(root) / name).is_file() for name in (SPLITS, IMAGE_CLASSES))


def load_fsc147(root: PathLike, split: str = "test", *, need_images: bool = True) -> CountingSet:
    """Read one split of FSC-147, or of a data set in its layout.

    Parameters
    ----------
    root : path-like
        Folder with the files. ``Split_Classes_FSC147.json`` gives the order of the classes, else
        the class file.
    split : str
        A name in the file of splits.
    need_images : bool
        See `load_counting_set`.

    Returns
    -------
    CountingSet
        Points are in pixels of the images of height 384, also where the files are larger and the
        annotations state `H` and `W`. Incomplete images of the split are left
        out and named in the warnings. The pool holds every image of the class file that has a class
        of the split, whatever split it belongs to.

    Raises
    ------
    InputError
        If a file is missing or malformed, there is no such split, or no image is complete.
    """
    root = Path(root)
    names = _of_split(root / SPLITS, split)
    class_of = read_classes(root / IMAGE_CLASSES)
    annotation = next((root / name for name in ANNOTATIONS if (root / name).exists()), None)
    if annotation is None:
        raise InputError(f"No annotation file in {root}: expected {' or '.join(ANNOTATIONS)}.")
    truth = truth_of_json(read_json(annotation), annotation)
    chosen = {name: truth.images[name] for name in names if name in truth.images}
    odd = odd_points(chosen)
    folder = next((root / name for name in IMAGE_FOLDERS if (root / name).is_dir()), None)
    if folder is None and need_images:
        raise InputError(f"No image folder in {root}: expected {' or '.join(IMAGE_FOLDERS)}.")
    folder = folder or root / IMAGE_FOLDERS[0]
    kept, warnings = _complete(names, truth, class_of, folder if need_images else None)
    warnings += tuple(odd)
    images = tuple(
        CountedImage(name, folder / name, {class_of[name]: image.points}, image.size)
        for name, image in ((name, truth.images[name]) for name in kept)
        if image.points is not None
    )
    members = set(names)
    kinds_of_images = dict.fromkeys(kind for name, kind in class_of.items() if name in members)
    classes = tuple(_of_split(root / SPLIT_CLASSES, split, [*kinds_of_images]))
    if unknown := sorted(kinds_of_images.keys() - set(classes)):
        raise InputError(
            f"Images of the split '{split}' have classes that {root / SPLIT_CLASSES} does not list "
            f"for it: {listed(unknown)}."
        )
    upper = {name: class_of[name] for name in names if name in class_of}
    lower = {name: kind for name, kind in class_of.items() if kind in classes}
    pool = MosaicPool(upper, lower, {name: folder / name for name in lower})
    return CountingSet(split, classes, images, warnings=warnings, mosaic_pool=pool)


def _of_split(path: Path, split: str, default: list[str] | None = None) -> list[str]:
    """Read what a file lists for a split; `default` where there is no file."""
    if default is not None and not path.is_file():
        return default
    content = read_json(path)
    if not isinstance(content, Mapping) or split not in content:
        has = listed(content, most=20) if isinstance(content, Mapping) else type(content).__name__
        raise InputError(f"{path} has no split '{split}': it has {has}.")
    entries = content[split]
    if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
        raise InputError(f"{path}: expected a list of names for the split '{split}'.")
    twice = sorted(name for name, times in Counter(entries).items() if times > 1)
    if twice:
        raise InputError(f"{path}: the split '{split}' names {listed(twice)} more than once.")
    return entries


def read_classes(path: Path) -> dict[str, str]:
    """Read the class of every image from FSC-147's class file.

    Parameters
    ----------
    path : Path
        Lines of image name, tab, class.

    Returns
    -------
    dict of str to str
        Class of each image, in the order of the file.

    Raises
    ------
    InputError
        If the file cannot be read, a line is none of these, or an image has two classes.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError:
        raise InputError(f"No class file {path}: check the path.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"Cannot read the class file {path}: {error}.") from None
    rows = [
        (number, line.strip().split("\t")) for number, line in enumerate(lines, 1) if line.strip()
    ]
    wrong = [number for number, fields in rows if len(fields) != 2]
    if wrong or not rows:
        raise InputError(
            f"{path}: expected lines of image name, tab, class; "
            f"{f'not so: lines {listed(wrong)}' if wrong else 'the file is empty'}."
        )
    named: dict[str, set[str]] = {}
    for _, (name, category) in rows:
        named.setdefault(name, set()).add(category)
    if several := [name for name, kinds in named.items() if len(kinds) > 1]:
        first = several[0]
        raise InputError(
            f"{path} gives {len(several)} images two classes ({listed(several)}; {first}: "
            f"{' and '.join(sorted(named[first]))}): leave one line for each."
        )
    return {name: category for _, (name, category) in rows}


def _complete(
    names: list[str], truth: GroundTruth, class_of: Mapping[str, str], folder: Path | None
) -> tuple[list[str], tuple[str, ...]]:
    """Split names into those with points, class and file, and sentences about the others."""
    lacking: dict[str, list[str]] = {
        "images of the split without annotation": [n for n in names if n not in truth.images],
        "images of the split without class": [n for n in names if n not in class_of],
    }
    if folder is not None:
        lacking[f"images missing in {folder}"] = [n for n in names if not (folder / n).is_file()]
    incomplete = set().union(*lacking.values())
    kept = [name for name in names if name not in incomplete]
    if not kept:
        raise InputError(
            f"No image of the split is complete: of {len(names)}, "
            + ", ".join(
                f"{len(images_lacking)} are {description}"
                for description, images_lacking in lacking.items()
            )
            + "."
        )
    return kept, left_out(lacking)


def is_mucca(root: PathLike) -> bool:
    """Return whether a folder has the file of counts by image and class.

    Parameters
    ----------
    root : path-like
    """
    return (Path(root) / COUNTS).is_file()


def load_mucca(root: PathLike, split: str = "test", *, need_images: bool) -> CountingSet:
    """Read MUCCA's released files.

    Parameters
    ----------
    root : path-like
        Folder with the files. ``class_mapping.json`` names the classes of the points, which
        otherwise are those of the counts in their order.
    split : str
        The two ``multiclass_split`` files choose its images and classes; without a file, or where
        its list is empty, all.
    need_images : bool
        See `load_counting_set`.

    Returns
    -------
    CountingSet
        Points are xy in pixels of the image at height 384. Incomplete images are left out and named
        in the warnings.

    Raises
    ------
    InputError
        If a file is missing or malformed, counts and points differ, or no image is complete.
    """
    root = Path(root)
    counts, points = _objects(root / COUNTS), _objects(root / POINTS)
    listed_classes = list(
        dict.fromkeys(name for image_counts in counts.values() for name in image_counts)
    )
    classes = _of_split(root / CLASSES, split, listed_classes) or listed_classes
    names: Mapping[str, Any] = {str(k): name for k, name in enumerate(listed_classes)}
    if (root / NAMES).is_file():
        names = read_json(root / NAMES)
        if not isinstance(names, dict):
            raise InputError(f"{root / NAMES}: expected an object with a name for each number.")
    chosen = _of_split(root / IMAGES, split, list(counts)) or list(counts)
    unknown = [name for name in chosen if name not in counts or name not in points]
    missing = [n for n in chosen if need_images and not (root / "images" / n).is_file()]
    incomplete = {*unknown, *missing}
    images = tuple(
        _image(root, name, points[name], counts[name], names)
        for name in chosen
        if name not in incomplete
    )
    if not images:
        raise InputError(
            f"No image of {root} is complete: of {len(chosen)}, {len(unknown)} have no points or "
            f"counts and {len(missing)} no file in images/."
        )
    lacking = {"images without points or counts": unknown, "images missing in images/": missing}
    return CountingSet(split, tuple(classes), images, warnings=left_out(lacking))


def _image(
    root: Path,
    name: str,
    entry: Mapping[str, Any],
    counts: Mapping[str, int],
    names: Mapping[str, str],
) -> CountedImage:
    try:
        points = np.array(entry["points"], np.float64).reshape(-1, 2)
        kinds = np.array([str(names[str(k)]) for k in entry["classes"]], object)
        size = (HEIGHT, max(1, round(HEIGHT * entry["W"] / entry["H"])))
        if len(points) != len(kinds):
            raise ValueError(f"{len(points)} points and {len(kinds)} classes")
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise InputError(f"{root / POINTS}: {name} is malformed: {error!r}.") from None
    by_class = {kind: points[kinds == kind] for kind in dict.fromkeys(kinds)}
    nonzero = {kind: n for kind, n in counts.items() if n}
    annotated = {kind: len(positions) for kind, positions in by_class.items()}
    if nonzero != annotated:
        raise InputError(
            f"{root / COUNTS} says {nonzero} for {name}, but {POINTS} has {annotated}."
        )
    return CountedImage(name, root / "images" / name, by_class, size)


def _objects(path: Path) -> dict[str, dict[str, Any]]:
    content = read_json(path)
    if not isinstance(content, dict) or not all(isinstance(v, dict) for v in content.values()):
        raise InputError(f"{path}: expected an object with an object for each image.")
    return content
