"""Which images of a pool are labelled: drawn by a plan, or found in a labelled set."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from autoeval.boxes import Boxes
from autoeval.errors import InputError
from autoeval.io.find_images import UnlabelledImage
from autoeval.io.image_identity import match_images
from autoeval.io.labels.content import LabelSet
from autoeval.io.labels.truth import ignoring_unchecked, labelled_boxes
from autoeval.io.video import time_blocks
from autoeval.io.wording import listed
from autoeval.notices import Notice

_NUMBER = re.compile(r"(\d+)(?=\D*$)")


def balanced_order(order: np.ndarray, *, seed: int) -> np.ndarray:
    """Put images into a random sequence whose every beginning is spread evenly over an order.

    The order, of images that are alike next to each other, is closed to a ring and turned by a
    random number of places, and halved again and again; the sequences of two halves are merged by
    the keys ``(position + u) / length``, with a random u for one half and u + 1/2 for the other. By
    the turn each image stands at each place equally often, so it is among the first n with
    probability n / N exactly; by the keys the first n hold as many of each half, quarter and eighth
    as its share asks for. That is a stratified draw with proportional strata for each n at once, in
    which a larger draw keeps a smaller one.

    Examples
    --------
    >>> drawn = balanced_order(np.arange(8), seed=0)
    >>> np.sort(drawn[:4] // 2)
    array([0, 1, 2, 3])
    """
    rng = np.random.default_rng(seed)
    return _merged(np.roll(order, rng.integers(len(order))), rng)


def _merged(order: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    n = len(order)
    if n < 2:
        return order
    halves = [_merged(part, rng) for part in np.array_split(order, 2)]
    start = rng.random()
    offsets = (start, (start + 0.5) % 1)
    keys = [
        (np.arange(len(part)) + at) / len(part) for part, at in zip(halves, offsets, strict=True)
    ]
    return np.concatenate(halves)[np.argsort(np.concatenate(keys), kind="stable")]


def unequal_order(order: np.ndarray, sizes: np.ndarray, *, seed: int) -> np.ndarray:
    """Put images into a random sequence whose every beginning holds some more often than others.

    An image with a number u, uniform in (0, 1), comes in the order of u over its size: sequential
    Poisson sampling (Ohlsson 1998). The first n then hold an image with a probability close to
    `inclusion_probabilities`, and a larger draw keeps a smaller one. The numbers are the places in
    `balanced_order`, so that images of one size are spread evenly over `order`.

    order (N,): as in `balanced_order`. sizes (N,): of each image, positive; twice as large is twice
    as often.
    """
    n = len(order)
    numbers = np.empty(n)
    rng = np.random.default_rng([seed, n])
    numbers[balanced_order(order, seed=seed)] = (np.arange(n) + rng.random(n)) / n
    return np.argsort(numbers / sizes, kind="stable")


def inclusion_probabilities(sizes: np.ndarray, n: int) -> np.ndarray:
    """Return the probability of each image to be among n, in proportion to its size, at most 1.

    Examples
    --------
    >>> inclusion_probabilities(np.array([1.0, 1, 2, 8]), 2)
    array([0.25, 0.25, 0.5 , 1.  ])
    """
    certain = np.zeros(len(sizes), bool)
    while True:
        rest = sizes[~certain].sum()
        drawn = (n - certain.sum()) * sizes / rest if rest > 0 else np.ones(len(sizes))
        more = ~certain & (drawn >= 1)
        if not more.any():
            return np.where(certain, 1.0, drawn)
        certain |= more


def inverse_probabilities(sizes: np.ndarray | None, images: np.ndarray) -> np.ndarray | None:
    """Return the weight of each of k images drawn with `unequal_order`, (k,).

    None where all have the same, without `sizes` or with all images.
    """
    if sizes is None or len(images) == len(sizes):
        return None
    return np.asarray(1 / inclusion_probabilities(sizes, len(images))[images])


def blocks_of(images: Sequence[UnlabelledImage], *, frames: int | None = None) -> np.ndarray:
    """Return the number of the block of time of each image, (M,), int.

    Frames of videos go by `time_blocks`. With `frames`, files whose names differ in their last
    number alone are frames in that order, too, and so many neighbours make a block; not by default,
    since unrelated photographs are numbered, too. Raises InputError if `frames` is under 1.
    """
    numbers = time_blocks(images)
    if frames is None:
        return numbers
    if frames < 1:
        raise InputError(f"Expected 1 frame a block or more (--frames) but got {frames}.")
    series: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for place, image in enumerate(images):
        number = _NUMBER.search(image.image_id)
        if number and getattr(image, "time_s", None) is None:
            name = image.image_id[: number.start()] + "\0" + image.image_id[number.end() :]
            series[name].append((int(number[1]), place))
    for members in series.values():
        first = int(numbers.max()) + 1
        for rank, (_, place) in enumerate(sorted(members)):
            numbers[place] = first + rank // frames
    return np.unique(numbers, return_inverse=True)[1]


@dataclass(frozen=True, eq=False)
class LabelledSubset:
    """Labelled images of a pool, and their labels in the same order."""

    images: np.ndarray  # index into the pool, (k,), int
    truth: Boxes  # of the categories of the pool
    warnings: tuple[str, ...]  # what was left out or is odd, one sentence each


def match_labels(
    labels: LabelSet, pool: Boxes, words: Mapping[str, str] | None = None
) -> LabelledSubset:
    """Find the images of label files in a pool.

    For how they are known see `match_images`. `words` has the category of the pool for
    each word of the labels that counts; by default equal words. Raises InputError if an image is
    labelled twice, no labelled image is in the pool, the labels have none of the categories, or no
    labelled image holds an object.
    """
    at = places_in_pool(labels, pool)
    in_pool = [k for k, place in enumerate(at) if place is not None]
    unknown = [labels.images[k].file_name for k, place in enumerate(at) if place is None]
    if not in_pool:
        raise InputError(
            f"None of the {len(labels.images)} labelled images of {labels.path} is in the pool "
            f"(labelled: {listed(unknown)}; pool: {listed([i.image_id for i in pool.images])}). "
            "Keep the file names as they were."
        )
    images = np.array([at[k] for k in in_pool])
    twice = [pool.images[k].image_id for k, n in Counter(images.tolist()).items() if n > 1]
    if twice:
        raise InputError(
            f"{labels.path}: images labelled twice: {listed(twice)}. Keep one entry of each."
        )
    kept = {labels.images[k].image_id for k in in_pool}
    of_pool = replace(
        labels,
        images=tuple(labels.images[k] for k in in_pool),
        boxes=tuple(box for box in labels.boxes if box.image_id in kept),
    )
    words = _words(labels, pool.categories, words)
    truth = labelled_boxes(of_pool, pool.categories, words)
    truth = ignoring_unchecked(truth, of_pool, pool.on_images(images), words)
    if not len(truth.where(~truth.crowd)):
        raise InputError(
            f"None of the {len(in_pool)} labelled images holds a "
            f"{' or '.join(pool.categories)}, so "
            "average precision is not defined. Are the labels finished? If so, label more images."
        )
    return LabelledSubset(
        images, truth, (*_warnings(labels, unknown, truth, len(in_pool)), *truth.left_out)
    )


def places_in_pool(labels: LabelSet, pool: Boxes) -> list[int | None]:
    """Return the index into the pool of each labelled image; None for one that is not there."""
    return match_images(labels.images, pool.images).places()


def _words(
    labels: LabelSet, categories: tuple[str, ...], words: Mapping[str, str] | None
) -> dict[str, str]:
    chosen = dict(words) if words else {name: name for name in categories}
    wrong = sorted(set(chosen.values()) - set(categories))
    used = {box.category for box in labels.boxes}
    if wrong and words:
        raise InputError(
            f"The words of labels are translated into {listed(wrong)}, and the categories of the "
            f"estimate are {listed(categories)}: name one of these for each word (--words "
            "WORD=CATEGORY)."
        )
    if wrong or (used and not used & set(chosen)):
        raise InputError(
            f"Expected labels of {listed(categories)} but got {listed(sorted(used))}. "
            "Translate them with --words WORD=CATEGORY."
        )
    return chosen


def _warnings(labels: LabelSet, unknown: list[str], truth: Boxes, k: int) -> list[str]:
    warnings = list(labels.warnings)
    if unknown:
        warnings.append(
            Notice(
                "images-not-in-pool",
                f"labelled images that are not in the pool, left out: {len(unknown)} "
                f"({listed(unknown)})",
            )
        )
    empty = k - len(np.unique(truth.image))
    if empty:
        warnings.append(
            Notice(
                "empty-labelled-images",
                f"{empty} of {k} labelled images hold no object: right if somebody looked at them, "
                "wrong if they are not labelled yet",
            )
        )
    return warnings
