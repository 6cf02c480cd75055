"""Images without labels: found however they are named, or handed over; files that are the same.

`list_images` is what a detector is run on, `find_images` finds what commands name (a folder, a
list, a pattern, a video). Images are `UnlabelledImage`: they know their names, and are decoded when
they are asked for (`autoeval.io.images`).
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from autoeval.errors import InputError
from autoeval.io.image_identity import SUFFIXES
from autoeval.io.image_lists import (
    STANDARD_INPUT,
    ImageFile,
    content_digest,
    is_pattern,
    listed_names,
    load_image_folder,
    refuse_archive,
    sorted_files,
    suffix_of,
)
from autoeval.io.video import VIDEOS, VideoFrame, video_frames
from autoeval.runtime.files import PathLike
from autoeval.words import Notice, listed, printable

LISTS = frozenset({".txt", ".lst"})
# Formats of photographs that OpenCV does not read, so that they are not taken for other files.
_UNREAD = frozenset({".arw", ".cr2", ".cr3", ".dng", ".heic", ".heif", ".jxl", ".nef", ".raf"})
VIDEOS_SKIPPED = "videos passed over"


def listed_paths(source: PathLike) -> list[Path]:
    """Read a list of paths.

    Parameters
    ----------
    source : path-like
        A text file with a path on each line (those that begin with # are comments), relative to the
        file's folder or else to the current one; ``-`` for the same on standard input; or a pattern
        such as ``site/**/*.jpg``.

    Raises
    ------
    InputError
        If there is none, or the list cannot be read, see `listed_names`.
    """
    paths = [Path(name) for name in listed_names(source)]
    if Path(source).is_file():
        relative = [Path(source).parent / path for path in paths]
        pairs = zip(paths, relative, strict=True)
        paths = [path if path.exists() and not near.exists() else near for path, near in pairs]
    if not paths:
        place = "on standard input" if os.fspath(source) == STANDARD_INPUT else f"in {source}"
        raise InputError(f"No path {place}: expected one image on each line, or a pattern.")
    return paths


@dataclass(frozen=True)
class FoundImages:
    """Images without labels, and what was passed over.

    Parameters
    ----------
    images : tuple of ImageFile or VideoFrame
        In natural order within a folder, else as they are listed.
    skipped : tuple of str
        One sentence for each kind of file that was passed over.
    """

    images: tuple[ImageFile | VideoFrame, ...]
    skipped: tuple[str, ...] = ()


def find_images(
    source: PathLike,
    img_dir: PathLike | None = None,
    *,
    every: str | None = None,
) -> FoundImages:
    """Find images; none is opened, but videos are.

    Parameters
    ----------
    source : path-like
        A folder, searched with its subfolders; a COCO JSON file; an image; a video; a text file
        with a path on each line (``.txt`` or ``.lst``), or ``-`` for one on standard input; or a
        pattern such as ``site/**/*.jpg``.
    img_dir : path-like, optional
        Folder of the images of a COCO file; see `load_image_folder`.
    every : str, optional
        Which frames of videos are taken: ``"2s"``, or ``"10"`` for every tenth; without it the
        videos of a folder are passed over.

    Raises
    ------
    InputError
        If nothing is found, a file that lists images or a video cannot be read, a video is named
        without `every`, `img_dir` is given without a COCO file or is no folder, or `every` is given
        without a video.
    """
    images, is_coco = _find(source, img_dir, every)
    if img_dir is not None and not is_coco:
        raise InputError(
            f"--img-dir says where the files of a COCO JSON lie, and {printable(source)} is none: "
            "leave it out."
        )
    if img_dir is not None and not Path(img_dir).is_dir():  # before a detector is run elsewhere
        raise InputError(f"No image folder {img_dir}: check `img_dir` (--img-dir).")
    if every is not None and all(isinstance(image, ImageFile) for image in images.images):
        raise InputError(
            f"--every names frames of videos, and {printable(source)} has none: leave it out."
        )
    return images


def _find(
    source: PathLike, img_dir: PathLike | None, every: str | None
) -> tuple[FoundImages, bool]:
    """Find images, and say whether a COCO file names them."""
    if os.fspath(source) == STANDARD_INPUT or is_pattern(source):
        return _of_paths(listed_paths(source), every), False
    path = Path(source)
    if path.is_dir():
        return _in_folder(path, every), False
    suffix = path.suffix.lower()
    if path.is_file() and suffix in LISTS:
        return _of_paths(listed_paths(path), every), False
    if path.is_file() and suffix in VIDEOS | SUFFIXES:
        return _of_paths([path], every), False
    refuse_archive(path)
    left_out = list[Notice]()
    images = load_image_folder(path, img_dir, left_out)
    return FoundImages(images, tuple(left_out)), True


def _in_folder(folder: Path, every: str | None) -> FoundImages:
    """Find the images of a folder, and of its videos where frames are named."""
    kept, hidden = sorted_files(folder)
    taken = SUFFIXES | VIDEOS if every else SUFFIXES
    images = [
        image
        for name in kept
        if suffix_of(name) in taken
        for image in _images(folder / name, printable(name), every)
    ]
    rest = [name for name in kept if suffix_of(name) not in taken]
    if not images:
        for name in rest:
            if suffix_of(name) in VIDEOS:
                video_frames(folder / name, every, printable(name))  # says that frames are named
        load_image_folder(folder)  # says what was expected
    return FoundImages(tuple(images), tuple(_skipped(rest, hidden)))


def _of_paths(paths: Sequence[Path], every: str | None) -> FoundImages:
    """Find images by paths; names are relative to the deepest folder that holds them all."""
    counts = Counter(paths)
    again = [printable(path) for path, n in counts.items() if n > 1]
    files = [path for path in counts if not path.is_dir()]
    root = os.path.commonpath([os.path.abspath(path.parent) for path in files] or ["/"])
    images: list[ImageFile | VideoFrame] = []
    rest = []
    for path in files:
        name = Path(os.path.abspath(path)).relative_to(root).as_posix()
        if suffix_of(name) in SUFFIXES | VIDEOS:
            images += _images(path, printable(name), every)
        else:
            rest.append(name)
    if not images:
        raise InputError(
            f"None of the {len(paths)} paths (such as {printable(paths[0])}) is an image or a "
            "video."
        )
    skipped = _skipped(rest, [])
    if again:
        skipped.append(f"paths listed more than once, taken once: {len(again)} ({listed(again)})")
    return FoundImages(tuple(images), tuple(skipped))


def _images(path: Path, name: str, every: str | None) -> Sequence[ImageFile | VideoFrame]:
    """Return the image of a file, or the frames of a video."""
    if suffix_of(name) in VIDEOS:
        return video_frames(path, every, name)
    return (ImageFile(name, path),)


def _skipped(rest: Iterable[str], hidden: Sequence[str]) -> list[str]:
    """Say what was passed over, one sentence for each kind; `hidden` begin with a dot."""
    videos: list[str] = []
    unread: list[str] = []
    other_files: list[str] = []
    kinds = {
        VIDEOS_SKIPPED: videos,
        "images in formats that OpenCV does not read, passed over": unread,
        "other files passed over": other_files,
        "hidden files passed over": [printable(name) for name in hidden],
    }
    for name in rest:
        suffix = suffix_of(name)
        kind = videos if suffix in VIDEOS else unread if suffix in _UNREAD else other_files
        kind.append(printable(name))
    return [
        f"{description}: {len(names)} ({listed(names)})"
        for description, names in kinds.items()
        if names
    ]


class UnlabelledImage(Protocol):
    """The pixels of an image that `LabelledImage` describes, decoded when they are read."""

    @property
    def image_id(self) -> str:
        """Its name within its set, from which dropout masks derive."""
        ...

    def read(self) -> np.ndarray:
        """Return (H, W, 3), uint8, BGR, or raise `UnreadableImageError`."""
        ...


def file_name_of(image: UnlabelledImage) -> str:
    """Return the file name of an image, by which labels and predictions may call it.

    Parameters
    ----------
    image : UnlabelledImage
        One of a COCO file has an id of its own; others are called by their file names.
    """
    return getattr(image, "file_name", "") or image.image_id


@dataclass(frozen=True, eq=False)
class ImageArray:
    """An image that is decoded already.

    Parameters
    ----------
    image_id : str
        Its name within its set.
    pixels : ndarray of shape (H, W, 3), uint8
        BGR.
    """

    image_id: str
    pixels: np.ndarray

    def read(self) -> np.ndarray:
        """Return the pixels."""
        return self.pixels


Images = PathLike | Sequence[PathLike | np.ndarray | UnlabelledImage]


def list_images(images: Images) -> tuple[UnlabelledImage, ...]:
    """List images that are given in any of several ways.

    Parameters
    ----------
    images : path-like or sequence
        What `find_images` takes, such as a folder; or a sequence of paths of files, of arrays (H,
        W, 3), uint8, BGR, or of images that know their names, such as `ImageFile` and the frames of
        a video (``find_images("video.mp4", every="2s").images``).

    Returns
    -------
    tuple of UnlabelledImage
        Paths are named relative to the deepest folder that holds them all, as those of a folder
        are; arrays by their positions. A Python warning names what `find_images` passed over.

    Raises
    ------
    InputError
        If there is no image, items are of several kinds or none of these, or `find_images` raises
        it.

    Examples
    --------
    >>> [image.image_id for image in list_images(["site/a/1.jpg", "site/b/1.jpg"])]
    ['a/1.jpg', 'b/1.jpg']
    """
    if isinstance(images, str | os.PathLike):
        in_folder = find_images(images)
        for passed_over in in_folder.skipped:
            warnings.warn(passed_over, stacklevel=3)
        return in_folder.images
    # a table and a mapping would give the names of their columns and keys
    one = isinstance(images, Mapping) or hasattr(images, "columns")
    items: list[Any] = list(images) if isinstance(images, Iterable) and not one else [images]
    if not items:
        raise InputError("Expected at least one image but got an empty sequence.")
    if all(isinstance(item, str | os.PathLike) for item in items):
        whole = [Path(os.path.abspath(path)) for path in items]
        root = os.path.commonpath([path.parent for path in whole])
        names = [path.relative_to(root).as_posix() for path in whole]
        return tuple(ImageFile(n, Path(path)) for n, path in zip(names, items, strict=True))
    if all(isinstance(item, np.ndarray) for item in items):
        return tuple(ImageArray(str(k), _checked(item, k)) for k, item in enumerate(items))
    if all(hasattr(item, "image_id") and hasattr(item, "read") for item in items):
        return tuple(items)
    kinds = ", ".join(sorted({type(item).__name__ for item in items}))
    raise InputError(
        "Expected images as a folder, a COCO JSON file, a sequence of paths, or of arrays (H, W, "
        '3) uint8 BGR, or of predictions also as a COCO dict ({"images": [...]}) or LabelledImage, '
        f"but got {kinds if one else 'a sequence of ' + kinds}."
    )


def _checked(image: np.ndarray, position: int) -> np.ndarray:
    """Return an image, or raise `InputError` if it is no array (H, W, 3) of uint8."""
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or not image.size:
        raise InputError(
            f"Expected images as arrays (H, W, 3) uint8 BGR, as `read_image` gives them, but "
            f"image {position} is {image.shape} {image.dtype}."
        )
    return image


def same_content(files: Iterable[Path], others: Iterable[Path]) -> list[Path]:
    """Return those files whose bytes equal those of some other file; empty ones are left out.

    Parameters
    ----------
    files, others : iterable of Path
        Only files of equal sizes are read; unreadable ones equal none.
    """
    files, others = list(files), list(others)
    sizes, theirs = [_size(path) for path in files], [_size(path) for path in others]
    shared = set(sizes) & set(theirs) - {-1, 0}
    digests = {
        content_digest(path) for path, size in zip(others, theirs, strict=True) if size in shared
    }
    same_size = (path for path, size in zip(files, sizes, strict=True) if size in shared)
    return [path for path in same_size if content_digest(path) in digests]


def _size(path: Path) -> int:
    """Return the bytes of a file; -1 of one that cannot be read."""
    try:
        return path.stat().st_size
    except OSError:
        return -1


def file_stamp(path: PathLike) -> str:
    """Return size and time of the last change: another one means other content.

    Parameters
    ----------
    path : path-like
        The file.

    Raises
    ------
    OSError
        If there is none.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     os.utime(file.name, ns=(0, 7))
    ...     file_stamp(file.name)
    '0-7'
    """
    status = os.stat(path)
    return f"{status.st_size}-{status.st_mtime_ns}"


def path_stamp(path: PathLike) -> str:
    """Return the absolute path of a file and its `file_stamp`, ``absent`` without such a file.

    Parameters
    ----------
    path : path-like
        The file, which need not be there.
    """
    try:
        return f"{os.path.abspath(path)} {file_stamp(path)}"
    except OSError:
        return f"{os.path.abspath(path)} absent"


def without_copies(
    images: Sequence[UnlabelledImage],
) -> tuple[tuple[UnlabelledImage, ...], tuple[Notice, ...]]:
    """Leave out files that are byte by byte an earlier one: a copy adds no information.

    Parameters
    ----------
    images : sequence of UnlabelledImage
        Frames of videos and arrays are all kept.

    Returns
    -------
    images : tuple of UnlabelledImage
        The others, in their order.
    notices : tuple of Notice
        A note that names the files that were left out; empty without any.
    """
    copies = copied(images)
    kept = tuple(image for k, image in enumerate(images) if k not in copies)
    return kept, tuple(
        Notice("copies-left-out", f"{named}, and were left out", severity="note")
        for named in _copies_named(images, copies)
    )


def copies_taken(images: Sequence[UnlabelledImage]) -> tuple[Notice, ...]:
    """Warn of files that are byte by byte an earlier one and count nevertheless.

    Parameters
    ----------
    images : sequence of UnlabelledImage
        Frames of videos and arrays are no copies.
    """
    named = _copies_named(images, copied(images))
    return tuple(
        Notice("copies-counted", f"{t}, and count as images of their own: leave them out")
        for t in named
    )


def copied(images: Sequence[UnlabelledImage]) -> list[int]:
    """Return the positions of the files that are byte by byte an earlier one.

    Parameters
    ----------
    images : sequence of UnlabelledImage
        Frames of videos and arrays are no copies, nor are files that are empty or cannot be read.
    """
    files = {k: image.path for k, image in enumerate(images) if isinstance(image, ImageFile)}
    sizes = {k: _size(path) for k, path in files.items()}
    times = Counter(sizes.values())
    same_size = (k for k, size in sizes.items() if size > 0 and times[size] > 1)
    first: dict[bytes, int] = {}
    return [k for k in same_size if first.setdefault(content_digest(files[k]), k) != k]


def _copies_named(images: Sequence[UnlabelledImage], copies: Sequence[int]) -> list[str]:
    """Return a text that names the images that are copies; empty where none is."""
    names = listed([images[k].image_id for k in copies])
    named = f"{len(copies)} of {len(images)} images are copies of another, byte by byte ({names})"
    return [named] if copies else []
