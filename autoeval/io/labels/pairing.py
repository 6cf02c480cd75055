"""Label files that lie one beside each image: which belongs to which, and what has none.

Readers of YOLO and VOC labels (`autoeval.io.labels.yolo`, `autoeval.io.labels.voc`) and of layouts
like these pair images and label files by `pair_up`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from autoeval.boxes import LabelledImage
from autoeval.errors import InputError
from autoeval.io.image_identity import Named, match_images
from autoeval.io.image_lists import load_image_folder, walk
from autoeval.words import Notice, listed, printable

_SWAPPED = {"labels": "images", "Annotations": "JPEGImages"}
_BESIDE = (*_SWAPPED.values(), "data")  # FiftyOne's name


@dataclass(frozen=True)
class LabelPairs:
    """Images, by names relative to `img_dir`, and their label files.

    Parameters
    ----------
    img_dir : Path
        Folder of the images.
    labelled : dict of str to Path
        Label file of each image that has one.
    unlabelled : tuple of str
        Images that have no label file: nobody has looked at them, which is not the same as
        empty.
    warnings : tuple of Notice
        Label files without an image, and images that share one.
    """

    img_dir: Path
    labelled: dict[str, Path]
    unlabelled: tuple[str, ...]
    warnings: tuple[Notice, ...]


def pair_up(labels: Path, img_dir: Path, suffix: str, *, other_files: frozenset[str]) -> LabelPairs:
    """Find the label file of each image of a folder.

    A label file has the image's path with another suffix, either as it is or with the last folder
    called ``images`` (or ``JPEGImages``) left out or replaced by ``labels`` (or ``Annotations``).
    Where there is none, tools may have stored the image under another name; see `match_images`.

    Parameters
    ----------
    labels, img_dir : Path
        Folders of the label files and of the images; they may be the same.
    suffix : str
        Of label files, such as ``.txt``.
    other_files : frozenset of str
        Names of files with that suffix that are no labels, such as ``classes.txt``.

    Raises
    ------
    InputError
        If no image has a label file, or there is no image.
    """
    names = [name for name in walk(labels) if name.lower().endswith(suffix)]
    files = {name[: -len(suffix)]: labels / name for name in names}
    images = [image.path.relative_to(img_dir).as_posix() for image in load_image_folder(img_dir)]
    labelled = {}
    for image in images:
        label_file = next((files[key] for key in _keys(image) if key in files), None)
        if label_file is not None:
            labelled[image] = label_file
    if len(labelled) < len(images):
        labelled |= _renamed(images, files, labelled)
    if not labelled:
        raise InputError(
            f"None of the {len(images)} images in {img_dir} (such as {images[0]}) has a label file "
            f"*{suffix} in {labels}: check both folders."
        )
    unlabelled = tuple(image for image in images if image not in labelled)
    spare = [files[key] for key in files if files[key].name not in other_files]
    warnings = tuple(label_file_warnings(labels, labelled, spare))
    return LabelPairs(img_dir, labelled, unlabelled, warnings)


def folder_of_images(labels: Path) -> Path:
    """Find the images of a folder of labels.

    Looked at are the same path with ``images`` or ``JPEGImages`` in place of ``labels`` or
    ``Annotations``, the folder itself, and ``images``, ``JPEGImages`` and ``data`` beside it.

    Parameters
    ----------
    labels : Path
        The folder.

    Raises
    ------
    InputError
        If none of these holds an image.
    """
    parts = labels.parts
    swapped = [
        Path(*parts[:k], _SWAPPED[part], *parts[k + 1 :])
        for k, part in reversed(list(enumerate(parts)))
        if part in _SWAPPED
    ]
    siblings = [labels.parent / name for name in _BESIDE]
    for place in (*swapped, labels, *siblings):
        if place.is_dir() and holds_images(place):
            return place
    raise InputError(
        f"Where are the images of {labels}? Name their folder: `img_dir`, in a command "
        "--img-dir FOLDER."
    )


def without_size(images: list[str]) -> list[Notice]:
    """Warn of labelled images that are left out, as their size cannot be read; empty without any.

    Parameters
    ----------
    images : list of str
        Their names.
    """
    named = Notice(
        "images-unreadable",
        f"labelled images whose size cannot be read, left out: {len(images)} ({listed(images)})",
    )
    return [named] if images else []


def holds_images(folder: Path) -> bool:
    """Return whether a folder or one of its subfolders holds an image.

    Parameters
    ----------
    folder : Path
        A folder; False where it cannot be read.
    """
    try:
        return bool(load_image_folder(folder))
    except InputError:
        return False


def _keys(image: str) -> Iterator[str]:
    """Yield the paths, without suffix, that the label file of an image may have."""
    path = PurePosixPath(image).with_suffix("")
    yield str(path)
    for labels, images in _SWAPPED.items():
        if images in path.parts:
            last = len(path.parts) - 1 - path.parts[::-1].index(images)
            for instead in ((labels,), ()):
                yield str(PurePosixPath(*path.parts[:last], *instead, *path.parts[last + 1 :]))


def _renamed(
    images: list[str], files: Mapping[str, Path], labelled: Mapping[str, Path]
) -> dict[str, Path]:
    """Find the label files whose names tools made of those of images; see `match_images`."""
    used = set(labelled.values())
    candidates = [LabelledImage(image, image, None) for image in images]
    places = match_images([Named(None, key) for key in files], candidates).index.tolist()
    return {
        images[place]: file
        for file, place in zip(files.values(), places, strict=True)
        if place >= 0 and file not in used and images[place] not in labelled
    }


def label_file_warnings(
    labels: Path, labelled: Mapping[str, Path], files: Sequence[Path]
) -> Iterator[Notice]:
    """Warn of label files that several images share, and of those without an image.

    Parameters
    ----------
    labels : Path
        Folder to which their names are relative.
    labelled : mapping of str to Path
        Label file of each image.
    files : sequence of Path
        Those that an image should have.
    """
    shared = {file: n for file, n in Counter(labelled.values()).items() if n > 1}
    if shared:
        names = [printable(os.path.relpath(file, labels)) for file in shared]
        yield Notice(
            "label-files-shared",
            f"label files of more than one image: {len(names)} ({listed(names)})",
        )
    used = set(labelled.values())
    spare = [printable(os.path.relpath(file, labels)) for file in files if file not in used]
    if spare:
        yield Notice(
            "label-files-without-image",
            f"label files without an image: {len(spare)} ({listed(spare)})",
        )
