"""Which image a predictions file means: by its file name, by its id, or by the stem of its file."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import NamedTuple

import numpy as np

from autoeval.data.former_names import former_name, stored_name
from autoeval.data.labels.content import LabelledImage
from autoeval.data.wording import listed
from autoeval.errors import InputError

FEWEST_PLACED = 0.5
MISSING, AMBIGUOUS = -1, -2
PLAIN = re.compile(r"[^./\\][^/\\]*(/[^./\\][^/\\]*)*").fullmatch
"""Says of a path whether it is in the form that `PurePath` would give it; for many, faster."""


class Named(NamedTuple):
    """An image as a predictions file names it."""

    image_id: str | None
    file_name: str | None

    @property
    def text(self) -> str:
        """A name for messages."""
        return str(self.file_name if self.image_id is None else self.image_id)


def place_images(
    found: Sequence[Named], known: Sequence[LabelledImage], where: str
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Find each image of a predictions file among those that are known.

    The convention is one for the whole file: the one that places most of its images, the first of
    them being file names, image ids, and stems of file names, which Ultralytics writes as
    ``image_id`` (as a number where they are one).

    Parameters
    ----------
    found : sequence of Named
    known : sequence of LabelledImage
    where : str
        What lists the known images, for messages.

    Returns
    -------
    index : ndarray of shape (len(found),), int64
        Into `known`, -1 for an image that is not there.
    problems : tuple of str
        Which those are.

    Raises
    ------
    InputError
        If not even half of the images are among those known, or they could be several of them.

    Examples
    --------
    >>> names = {"139": "street/000139.jpg", "7": "street/b.jpg"}
    >>> known = [LabelledImage(number, name, None) for number, name in names.items()]
    >>> place_images([Named("b", None), Named("139", None)], known, "val.json")[0]
    array([1, 0])
    """
    index = np.full(len(found), MISSING)
    shared = np.zeros(len(found), bool)
    for way in WAYS:
        placed = _place(found, known, *way)
        shared |= placed == AMBIGUOUS
        if np.count_nonzero(placed >= 0) > np.count_nonzero(index >= 0):
            index = placed
        if (index >= 0).all():
            break
    several = [found[k].text for k in np.flatnonzero(shared & (index < 0)).tolist()]
    lost = [found[k].text for k in np.flatnonzero(~shared & (index < 0)).tolist()]
    index = np.maximum(index, MISSING)
    if len(several) > FEWEST_PLACED * len(found):
        raise InputError(
            f"{len(several)} of {len(found)} images of the predictions could each be several of "
            f"{where} ({listed(several)}): file names repeat in its folders. Write the path of the "
            "image as 'file_name', or give the labels of one split or folder alone."
        )
    if len(lost) + len(several) > FEWEST_PLACED * len(found):
        there = listed([f"{image.image_id} ({image.file_name})" for image in known], 3)
        lost += several
        raise InputError(
            f"The predictions are of other images than {where}: {len(lost)} of their {len(found)} "
            f"images are not there ({listed(lost)}), neither by file name nor by id nor by the "
            f"stem of a file name. There are: {there}."
        )
    kinds = {
        f"images of the predictions that are not in {where}": lost,
        f"images of the predictions that could be several of {where}, left out": several,
    }
    return index, tuple(f"{kind}: {len(of)} ({listed(of)})" for kind, of in kinds.items() if of)


def _path(name: str | None) -> str | None:
    return name if name is None or PLAIN(name) else PurePath(name).as_posix()


def _base(name: str | None) -> str | None:
    if name is None:
        return None
    return name.rpartition("/")[2] if PLAIN(name) else PurePath(name).name


def _stem(name: str) -> str:
    return PurePath(_base(name) or "").stem


def _stored(name: str | None) -> str | None:
    return name if name is None else stored_name(name)


def _former_stem(name: str) -> str:
    return PurePath(former_name(name)).stem


def _number(name: str | None) -> str | None:
    """Drop leading zeros, as a stem loses them that is written as a number."""
    return str(int(name)) if name and name.isdecimal() else name


WAYS: tuple[tuple[Callable[[Named], str | None], Callable[[LabelledImage], str | None]], ...] = (
    (lambda image: _path(image.file_name), lambda image: _path(image.file_name)),
    (lambda image: _base(image.file_name), lambda image: _base(image.file_name)),
    (lambda image: image.image_id, lambda image: image.image_id),
    (lambda image: _number(image.image_id), lambda image: _number(_stem(image.file_name))),
    (lambda image: _base(image.image_id), lambda image: _base(image.file_name)),
    (lambda image: _stored(image.file_name), lambda image: former_name(image.file_name)),
    (lambda image: _number(image.image_id), lambda image: _number(_former_stem(image.file_name))),
)
"""For each convention the key of an image as found and as known."""


def _place(
    found: Sequence[Named],
    known: Sequence[LabelledImage],
    key_found: Callable[[Named], str | None],
    key_known: Callable[[LabelledImage], str | None],
) -> np.ndarray:
    """Place images by a key; one that several known images share is `AMBIGUOUS`."""
    keys = [key_found(image) for image in found]
    if all(key is None for key in keys):
        return np.full(len(found), MISSING)
    places: dict[str | None, int] = {}
    for k, image in enumerate(known):
        key = key_known(image)
        places[key] = AMBIGUOUS if key in places else k
    places[None] = MISSING
    return np.array([places.get(key, MISSING) for key in keys], np.int64)
