"""Which listed images a predictions file is about, and of which it says nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from autoeval.errors import InputError
from autoeval.io.image_identity import AMBIGUOUS, MISSING, ImageMatches, Named, match_images
from autoeval.io.labels.content import LabelledImage, split_of
from autoeval.io.wording import listed
from autoeval.notices import Notice

FEWEST_PLACED = 0.5
LOW_FLOOR = 0.05  # score from which on a detector finds something in nearly every image
SOME = 0.03  # of the images: so many more are empty than a detector leaves empty


@dataclass(frozen=True, eq=False)
class Placement:
    """Where the n images of a predictions file stand among m that are listed.

    index (n,), int64: position, -1 for an image that is not listed, or could be several.
    listed_there (m,): whether the file itself lists the image, with boxes or without; None where
        it has no list of its own.
    unplaced: names of the images of the file that are not listed, and of those that could be
        several.
    matches: as `match_images` returned them.
    """

    index: np.ndarray
    matches: ImageMatches
    unplaced: tuple[tuple[str, ...], tuple[str, ...]]
    listed_there: np.ndarray | None = None

    def sized(
        self, images: Sequence[LabelledImage], own: Sequence[LabelledImage]
    ) -> tuple[LabelledImage, ...]:
        """Give images of unknown size that of the file's own list, `own`."""
        sizes = {
            place: image.size
            for place, image in zip(self.matches.index.tolist(), own, strict=False)
            if image.size
        }
        return tuple(
            replace(image, size=sizes[k]) if image.size is None and k in sizes else image
            for k, image in enumerate(images)
        )


def place_images(
    named: Sequence[Named],
    images: Sequence[LabelledImage],
    where: str,
    *,
    own: Sequence[LabelledImage] | None = None,
) -> Placement:
    """Find each image of a predictions file among those that are listed; see `match_images`.

    Where the file has a list of its own images, `own`, its ids are numbers of that list: its file
    names say which images they are. `where` is what lists the known images, for messages. Raises
    `InputError` if the images could be several of those listed, or if not half of them are listed,
    nor half of the list is among them (predictions of a whole folder, labels of a part).

    Examples
    --------
    >>> names = {"139": "street/000139.jpg", "7": "street/b.jpg"}
    >>> known = [LabelledImage(number, name, None) for number, name in names.items()]
    >>> place_images([Named("b", None), Named("139", None)], known, "val.json").index
    array([1, 0])
    """
    names, listed_there = [image.text for image in named], None
    if own is None:
        matches = match_images(named, images)
        index = matches.index
    else:
        # A document without file names has nothing but its ids.
        own_names = [
            Named(None if _has_name(image) else image.image_id, image.file_name) for image in own
        ]
        matches = match_images(own_names, images)
        at = match_images(named, own).index
        strangers = [name for name, k in zip(names, at.tolist(), strict=True) if k < 0]
        if len(strangers) > FEWEST_PLACED * len(named):
            raise InputError(
                f"{len(strangers)} of {len(named)} images of the predictions are not in their own "
                f"list of images ({listed(strangers)}): expected boxes with an image_id of that "
                "list, or a file without one."
            )
        index = np.where(at >= 0, matches.index[at], at)
        names = [image.file_name for image in own]
        listed_there = np.zeros(len(images), bool)
        listed_there[matches.index[matches.found]] = True
        _check_sizes(own, images, matches, where)
    several = tuple(names[k] for k in np.flatnonzero(matches.index == AMBIGUOUS).tolist())
    lost = tuple(names[k] for k in np.flatnonzero(matches.index == MISSING).tolist())
    if len(several) > FEWEST_PLACED * len(names):
        raise InputError(
            f"{len(several)} of {len(names)} images of the predictions could each be several of "
            f"{where} ({listed(several)}): file names repeat in its folders. Write the path of the "
            "image as 'file_name', or give the labels of one split or folder alone."
        )
    placed = np.unique(matches.index[matches.found])
    covered = len(placed) >= FEWEST_PLACED * len(images)
    if not covered and len(lost) + len(several) > FEWEST_PLACED * len(names):
        there = listed([f"{image.image_id} ({image.file_name})" for image in images], 3)
        lost += several
        own_list = " (by its own list of images)" if own is not None else ""
        raise InputError(
            f"The predictions are of other images than {where}: {len(lost)} of their "
            f"{len(names)} images{own_list} are not there ({listed(lost)}), neither by file name, "
            "in any folder and with any suffix, nor by id, nor by the stem of a file name. There "
            f"are: {there}."
        )
    return Placement(np.maximum(index, -1), matches, (lost, several), listed_there)


def _has_name(image: LabelledImage) -> bool:
    return image.file_name != image.image_id


def _check_sizes(
    own: Sequence[LabelledImage],
    images: Sequence[LabelledImage],
    matches: ImageMatches,
    where: str,
) -> None:
    """Refuse boxes in pixels of images that are as large as others, by the sizes of both lists."""
    pairs = [(own[k], images[place]) for k, place in enumerate(matches.index) if place >= 0]
    sized = [(a.file_name, a.size, b.size) for a, b in pairs if a.size and b.size]
    other = [(name, a, b) for name, a, b in sized if a != b]
    if len(other) > FEWEST_PLACED * len(sized):
        name, (height, width), (other_height, other_width) = other[0]
        raise InputError(
            f"The predictions are of images of other sizes than {where}: {len(other)} of "
            f"{len(sized)} differ, such as {name}, {width} x {height} pixels there and "
            f"{other_width} x {other_height} here. Expected boxes in pixels of the same images."
        )


def uncovered_images(
    placement: Placement,
    images: Sequence[LabelledImage],
    n_boxes: np.ndarray,
    floor: float,
    where: str,
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the listed images of which the predictions say nothing, (k,) int64, and warnings.

    They are the images of whole splits (``train``, ``val``) that the predictions are not of; those
    that the predictions' own list of images lacks; and, where images of the predictions could not
    be placed, the ones without a box that these may be. A detector did not miss the objects there.
    They may be those without a box where at least as many of them are listed as could not be
    placed, or more than a detector leaves empty; see `unseen_images`.

    n_boxes (m,): of each listed image. floor: the lowest score.
    """
    outside, of_split = _other_splits(images, n_boxes)
    lost, several = placement.unplaced
    empty = (n_boxes == 0) & ~outside
    possible = np.zeros(len(images), bool)
    if placement.listed_there is not None:
        possible = ~placement.listed_there & ~outside
    elif lost or several:
        n = int((~outside).sum())
        excess = empty.sum() - 2 * np.count_nonzero(n_boxes == 1)
        many = floor <= np.float32(LOW_FLOOR) and excess > SOME * n
        if len(lost) + len(several) <= empty.sum() or many:
            possible = empty
        else:
            possible[list(placement.matches.possible)] = True
            possible &= empty
    uncovered = np.flatnonzero(outside | possible)
    kinds = {
        f"images of the predictions that are not in {where}": lost,
        f"images of the predictions that could be several of {where}": several,
    }
    reasons = [f"{kind}: {len(names)} ({listed(names)})" for kind, names in kinds.items() if names]
    if possible.any():
        out = [images[k].file_name for k in np.flatnonzero(possible).tolist()]
        why = (
            "the list of images in the predictions does not have them"
            if placement.listed_there is not None
            else "they have no box, and may be images of the predictions that were not placed"
        )
        reasons = [
            f"{len(out)} of {len(images)} images of {where} are left out with their labels "
            f"({listed(out)}): {why}",
            *reasons,
        ]
    notices = of_split
    if reasons:
        notices += (Notice("images-not-placed", "; ".join(reasons)),)
    return uncovered, (*notices, *placement.matches.by_rules(where))


def _other_splits(
    images: Sequence[LabelledImage], n_boxes: np.ndarray
) -> tuple[np.ndarray, tuple[Notice, ...]]:
    """Mask the images of splits without any box, where another split has some."""
    splits = np.array([split_of(image) for image in images])
    covered = sorted(set(splits[n_boxes > 0].tolist()))
    left = sorted(set(splits.tolist()) - set(covered))
    if not left or not covered:
        return np.zeros(len(images), bool), ()
    outside = np.isin(splits, left)
    others = listed(
        [f"{name or 'no split'} ({np.count_nonzero(splits == name)} images)" for name in left]
    )
    note = Notice(
        "splits-left-out",
        f"the predictions are of the split {listed(covered)} ({np.count_nonzero(~outside)} images)"
        f", and only its images and labels are used; not of {others}",
    )
    return outside, (note,)
