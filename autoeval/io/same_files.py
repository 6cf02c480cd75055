"""Images that are the same: by the bytes of their files, or by the boxes found on them."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from autoeval.boxes import Boxes, LabelledImage
from autoeval.io.find_images import UnlabelledImage
from autoeval.io.image_folder import ImageFile, natural_order
from autoeval.io.image_identity import match_images, without_suffix
from autoeval.io.labels.content import LabelSet
from autoeval.notices import Notice
from autoeval.runtime.files import PathLike
from autoeval.words import listed

AT_ONCE = 1_000_000  # boxes
ODD, SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)  # of 2**64 by the golden ratio
_LAST_NUMBER = re.compile(r"\d+(?=\D*$)")


def same_content(files: Iterable[Path], others: Iterable[Path]) -> list[Path]:
    """Return those of ``files`` whose bytes are those of one of ``others``; none unreadable."""
    files, others = list(files), list(others)
    sizes, theirs = [_size(path) for path in files], [_size(path) for path in others]
    shared = set(sizes) & set(theirs) - {-1, 0}
    digests = {
        content_digest(path) for path, size in zip(others, theirs, strict=True) if size in shared
    }
    alike = (path for path, size in zip(files, sizes, strict=True) if size in shared)
    return [path for path in alike if content_digest(path) in digests]


def later_copies(files: Sequence[Path]) -> list[int]:
    """Return the numbers of the files whose content is, byte by byte, that of an earlier one."""
    sizes = [_size(path) for path in files]
    times = Counter(sizes)
    alike = (k for k, size in enumerate(sizes) if size > 0 and times[size] > 1)
    first: dict[bytes, int] = {}
    return [k for k in alike if first.setdefault(content_digest(files[k]), k) != k]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


def content_digest(path: Path) -> bytes:
    """Return a hash of the bytes of a file; of its path where it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).digest()
    except OSError:
        return str(path).encode("utf-8", "replace")


def file_stamp(path: PathLike) -> str:
    """Return size and time of the last change: another one means other content.

    Raises OSError without such a file.

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
    """Return where a file lies and its stamp, such as of images that several folders name alike."""
    try:
        return f"{os.path.abspath(path)} {file_stamp(path)}"
    except OSError:
        return f"{os.path.abspath(path)} absent"


def without_copies(
    images: Sequence[UnlabelledImage],
) -> tuple[tuple[UnlabelledImage, ...], tuple[str, ...]]:
    """Leave out files that are byte by byte an earlier one: a copy adds no information.

    Frames of videos and arrays are all kept; a warning names the files that were left out.
    """
    copies = copied(images)
    kept = tuple(image for k, image in enumerate(images) if k not in copies)
    return kept, tuple(
        Notice("copies-left-out", f"{named}, and were left out", severity="note")
        for named in _copies_named(images, copies)
    )


def copies_taken(images: Sequence[UnlabelledImage]) -> tuple[str, ...]:
    """Warn where files are counted that are byte by byte an earlier one; see above."""
    named = _copies_named(images, copied(images))
    return tuple(
        Notice("copies-counted", f"{t}, and count as images of their own: leave them out")
        for t in named
    )


def copied(images: Sequence[UnlabelledImage]) -> list[int]:
    """Return the numbers of the files that are byte by byte an earlier one."""
    files = [(k, image.path) for k, image in enumerate(images) if isinstance(image, ImageFile)]
    return [files[n][0] for n in later_copies([path for _, path in files])]


def _copies_named(images: Sequence[UnlabelledImage], copies: Sequence[int]) -> list[str]:
    names = listed([images[k].image_id for k in copies])
    named = f"{len(copies)} of {len(images)} images are copies of another, byte by byte ({names})"
    return [named] if copies else []


# Images that are in a set twice: the same boxes, and nothing that tells them apart.


def copies(
    read: Boxes,
    labels: Mapping[int, object] | None = None,
    files: Mapping[str, Path] | None = None,
) -> np.ndarray:
    """Return the images (n,) that are copies of an earlier one, int64 in rising order.

    A copy has the boxes, words and scores of the other image, and neither its size nor its time,
    its labels, the bytes of its file (where both have them) or its name tell them apart. Names do
    that for neighbouring frames, such as those of a still camera: files whose names differ in a
    number alone, with none between them. Images without a box are no copies: nothing distinguishes
    them.

    labels: of each labelled image, by its position; equal ones are equal labels. See
        `labels_of_truth` and `labels_of_images`.
    files: of images by their ids, as far as they are at hand.
    """
    # The sum of a hash over the boxes of an image occurs twice for copies, and hardly for others.
    total = np.zeros(len(read.images), np.uint64)
    for start in range(0, len(read), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        hashed = read.label[part].astype(np.uint64)
        for column in (*read.boxes[part].T, read.scores[part]):
            hashed = (hashed ^ column.astype(np.float64).view(np.uint64)) * ODD
            hashed ^= hashed >> SHIFT
        np.add.at(total, read.image[part], hashed * ODD)
    has_twin = np.zeros(len(total), bool)
    has_twin[read.image] = True
    _, place, times = np.unique(total[has_twin], return_inverse=True, return_counts=True)
    has_twin[has_twin] = times[place] > 1
    if not has_twin.any():
        return np.zeros(0, np.int64)
    alike = read.where(has_twin[read.image])
    columns = (alike.scores[:, None], alike.label[:, None], alike.boxes)
    rows = np.concatenate([np.float64(column) for column in columns], axis=1)
    groups: dict[tuple, list[int]] = {}
    for k, content in _of_images(alike, rows).items():
        image = read.images[k]
        groups.setdefault((content, image.size, image.taken), []).append(k)
    several = [group for group in groups.values() if len(group) > 1]
    if not several:
        return np.zeros(0, np.int64)
    if files:
        several = [part for group in several for part in _by_bytes(group, read.images, files)]
    ranks = _ranks(read.images)
    later = [k for group in several for k in _later(group, read.images, ranks, labels or {})]
    return np.array(sorted(later), np.int64)


def copies_left_out(n: int) -> tuple[str, ...]:
    """Say how many images were left out as copies."""
    text = f"images with exactly the boxes of another, left out: {n}"
    return (Notice("copies-left-out", text, severity="note"),) if n else ()


def labels_of_truth(truth: Boxes) -> dict[int, object]:
    """Return the labels of each image as `copies` compares them."""
    columns = (truth.label[:, None], truth.crowd[:, None], truth.boxes)
    rows = np.concatenate([np.float64(column) for column in columns], axis=1)
    return {**dict.fromkeys(range(len(truth.images)), b""), **_of_images(truth, rows)}


def labels_of_images(content: LabelSet, images: Sequence[LabelledImage]) -> dict[int, object]:
    """Return what a label file says of each of some images that it labels, as above."""
    places = match_images(content.images, images).places()
    place_of = {
        image.image_id: place
        for image, place in zip(content.images, places, strict=True)
        if place is not None
    }
    boxes: dict[int, list] = {place: [] for place in place_of.values()}
    for box in content.boxes:
        if box.image_id in place_of:
            boxes[place_of[box.image_id]].append((box.category, box.xywh, box.iscrowd))
    return {place: tuple(sorted(of_image)) for place, of_image in boxes.items()}


def _of_images(boxes: Boxes, rows: np.ndarray) -> dict[int, bytes]:
    """Return the sorted rows of the boxes of each image that has any, as bytes."""
    order = np.lexsort((*rows.T, boxes.image))
    image, rows = boxes.image[order], rows[order]
    starts = np.flatnonzero(np.append(True, np.diff(image) > 0)[: len(image)])
    parts = np.split(rows, starts[1:]) if len(starts) else []
    return {k: part.tobytes() for k, part in zip(image[starts].tolist(), parts, strict=True)}


def _by_bytes(
    group: Sequence[int], images: Sequence[LabelledImage], files: Mapping[str, Path]
) -> list[list[int]]:
    """Divide images by the content of their files; those without one stay together."""
    parts: dict[bytes, list[int]] = {}
    for k in group:
        file = files.get(images[k].image_id)
        parts.setdefault(b"" if file is None else content_digest(file), []).append(k)
    return [part for part in parts.values() if len(part) > 1]


def _ranks(images: Sequence[LabelledImage]) -> dict[int, int]:
    """Return the place of each image in the natural order of file names; ids have none."""
    names = [image.file_name for image in images]
    named = [k for k, name in enumerate(names) if without_suffix(name) != name]
    named.sort(key=lambda k: natural_order(images[k].file_name))
    return {k: rank for rank, k in enumerate(named)}


def _later(
    group: Sequence[int],
    images: Sequence[LabelledImage],
    ranks: Mapping[int, int],
    label_of: Mapping[int, object],
) -> list[int]:
    """Return the copies among images with the same boxes."""
    frames = _frames_with(group[0], group, images, ranks)
    rest = [k for k in group if k not in frames]
    # A labelled image is kept rather than an unlabelled one.
    kept_labels = {label_of[k] for k in frames if k in label_of}
    later = []
    for k in sorted(rest, key=lambda k: (k not in label_of, k)):
        if k in label_of and label_of[k] not in kept_labels:
            kept_labels.add(label_of[k])
        else:
            later.append(k)
    if label_of and len(frames) == 1 and group[0] not in label_of and kept_labels:
        later.append(group[0])
    return later


def _frames_with(
    first: int, group: Sequence[int], images: Sequence[LabelledImage], ranks: Mapping[int, int]
) -> set[int]:
    """Return the images of a group that are frames next to each other, the first among them."""
    frames = {first}
    if first not in ranks:
        return frames
    of_rank = {ranks[k]: k for k in group if k in ranks}
    series = _LAST_NUMBER.sub("", images[first].file_name)
    for step in (1, -1):
        rank = ranks[first] + step
        while rank in of_rank and _LAST_NUMBER.sub("", images[of_rank[rank]].file_name) == series:
            frames.add(of_rank[rank])
            rank += step
    return frames
