"""Any callable as a detector of which nothing but its boxes is known."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.detections import Detections, Evidence
from autoeval.detectors.settings import fingerprint
from autoeval.errors import FailedOnImagesError, InputError
from autoeval.runtime.files import PathLike
from autoeval.words import listed

Find = Callable[[Sequence[np.ndarray]], Any]
ROUNDING = 1.0  # pixels by which edges may cross, as those that a network scales and clips


def read_found(
    answers: Any,
    sizes: Sequence[tuple[int, int]],
    image_ids: Sequence[str],
    categories: Sequence[str],
) -> list[Detections]:
    """Turn the three lists of a `BlackBoxDetector` into detections, clipped to their images.

    Boxes without area in their image are left out.

    Parameters
    ----------
    answers : Any
        What the callable returned: boxes, scores and labels, each a list with one array for each
        image.
    sizes : sequence of (int, int)
        Height and width of each image, pixels.
    image_ids : sequence of str
        Of the images, for messages.
    categories : sequence of str
        What the labels index, or are out of.

    Returns
    -------
    list of Detections
        Of each image; boxes xyxy in pixels.

    Raises
    ------
    InputError
        If there are no three lists of this length, or boxes are no xyxy in pixels, not finite,
        scores are not in [0, 1], or labels are none of the categories.
    """
    if not isinstance(answers, list | tuple) or len(answers) != 3:
        raise InputError(
            "Expected three lists, of boxes, scores and labels, with one array for each image, "
            f"but got {type(answers).__name__}."
        )
    boxes, scores, labels = answers
    lengths = [len(part) for part in answers]
    if set(lengths) != {len(sizes)}:
        raise InputError(
            f"Expected boxes, scores and labels of {len(sizes)} images, one array each, "
            f"but got {lengths[0]}, {lengths[1]} and {lengths[2]}."
        )
    detections = [
        _one(*image, categories) for image in zip(boxes, scores, labels, image_ids, strict=True)
    ]
    return [_clip(*image) for image in zip(detections, sizes, image_ids, strict=True)]


def _one(
    boxes: Any, scores: Any, labels: Any, image_id: str, categories: Sequence[str]
) -> Detections:
    """Read one image; see `read_found`."""
    try:
        boxes = np.asarray(boxes)
        columns = boxes.shape[-1] if boxes.ndim > 1 and boxes.size else 4
        detections = Detections(
            boxes.reshape(-1, columns),  # of shape (4, N) they are refused
            np.asarray(scores).reshape(-1),
            _numbers(labels, categories),
        )
    except (TypeError, ValueError, KeyError, RuntimeError) as error:  # torch's own are the last
        raise InputError(f"The answer for image '{image_id}' is malformed: {error}") from error
    if not np.isfinite(detections.boxes).all():
        raise InputError(f"Expected finite boxes but image '{image_id}' has NaN or infinite ones.")
    turned = (detections.boxes[:, 2:] < detections.boxes[:, :2] - ROUNDING).any(axis=1)
    if turned.any():
        raise InputError(
            "Expected boxes as left, top, right and bottom edge (xyxy) but image "
            f"'{image_id}' has {detections.boxes[turned][0].round(1).tolist()}, which ends before "
            "it begins: is this left, top, width and height?"
        )
    if not ((detections.scores >= 0) & (detections.scores <= 1)).all():
        odd = detections.scores[~((detections.scores >= 0) & (detections.scores <= 1))]
        raise InputError(f"Expected scores in [0, 1] but image '{image_id}' has {listed(odd)}.")
    return detections


def word_list(words: Mapping[Any, str] | Sequence[str]) -> list[str]:
    """Return category names in the order of their numbers; a number without a name is "N/A".

    Parameters
    ----------
    words : mapping of int to str or sequence of str
        By number, from 0; a bare string is one word.

    Raises
    ------
    InputError
        If a key is no number.

    Examples
    --------
    >>> word_list({0: "person", 2: "car"})
    ['person', 'N/A', 'car']
    """
    if isinstance(words, str):
        return [words]
    if not isinstance(words, Mapping):
        return [str(word) for word in words]
    try:
        numbers = {int(number): str(word) for number, word in words.items()}
    except ValueError:
        keys = listed([repr(key) for key in words])
        raise InputError(f"Expected categories as words by number but got keys {keys}.") from None
    return [numbers.get(k, "N/A") for k in range(max(numbers, default=-1) + 1)]


def _numbers(labels: Any, categories: Sequence[str]) -> np.ndarray:
    """Read labels as numbers, (N,), int64.

    Words become the place of the word in `categories`; of one that is there several times, as
    "N/A", the last.

    Raises
    ------
    ValueError
        If a label is none of the categories, or is no whole number, as scores in their place are.
    """
    labels = np.asarray(labels)
    if labels.dtype == object:  # as of a table of pandas: words, or else numbers
        labels = np.asarray(labels.tolist())
    if labels.dtype.kind in "US":
        index = {name: k for k, name in enumerate(categories)}
        unknown = sorted(set(labels.tolist()) - index.keys())
        if unknown:
            raise ValueError(f"its labels {listed(unknown)} are not among the categories")
        return np.array([index[word] for word in labels.tolist()], np.int64)
    if labels.dtype.kind == "f" and (odd := labels[labels % 1 != 0]).size:
        raise ValueError(f"labels are whole numbers or words, these {listed(odd, 3)}")
    numbers, n = labels.astype(np.int64).reshape(-1), len(categories)
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < n:
        raise ValueError(
            f"labels are from 0 to {n - 1}, these from {numbers.min()} to {numbers.max()}"
        )
    return numbers


def _clip(detections: Detections, size: tuple[int, int], image_id: str) -> Detections:
    """Clip the boxes of an image of a height and width to it, and leave out those without area.

    Raises
    ------
    InputError
        If all boxes with an area lie in [0, 1], as shares of an image do.
    """
    height, width = size
    with_area = detections.boxes[np.all(detections.boxes[:, 2:] > detections.boxes[:, :2], axis=1)]
    if len(with_area) and with_area.min() >= 0 and with_area.max() <= 1 < min(size):
        raise InputError(f"Expected boxes in pixels but those of '{image_id}' lie in [0, 1].")
    boxes = detections.boxes.clip(0, np.array([width, height] * 2, np.float32))
    inside = np.all(boxes[:, 2:] > boxes[:, :2], axis=1)
    return Detections(boxes, detections.scores, detections.labels)[inside]


class BlackBoxDetector:
    """A detector of which nothing is known but what it finds.

    It takes the place of `autoeval.detectors.MMDetector` wherever images are observed.

    Parameters
    ----------
    find : callable
        Takes a list of images of one shape, (H, W, 3), uint8, channels in the order blue, green,
        red, and returns three lists with one array for each image: boxes (N, 4) as xyxy in pixels
        of the image as given, scores (N,) in [0, 1], and labels (N,), either numbers that index
        `categories` or words out of it. Let it return low scores too, from .01 on or less.
    categories : sequence of str or mapping of int to str
        Its words by label, from 0.
    name : str
        For reports.
    settings : mapping or callable that returns one, optional
        Plain values that its boxes depend on, such as the input size and the threshold: an
        estimator refuses a detector whose settings differ. A callable is called whenever they are
        read, where they can change, as those of a network that is trained on.
    weights : path-like or sequence of path-like, optional
        Files of its weights, whose content becomes one of the settings. With neither weights nor
        settings a retrained detector cannot be distinguished from this one: what it has observed is
        not kept for another run, and every estimate warns of it.
    network : torch.nn.Module, optional
        What `find` runs, where it is a network of torch: box stability drops features in it at
        modules that ``stages=`` names.

    Attributes
    ----------
    file_digest : str
        Hash of the Python file that it was loaded from, if any, and of the modules that this file
        imported from its folder.
    is_identified : bool
        Whether there are weights or settings.

    Raises
    ------
    InputError
        If a file of weights cannot be read.

    Examples
    --------
    >>> def find(images):
    ...     n = len(images)
    ...     return [[[0, 0, 4, 4]]] * n, [[.9]] * n, [["car"]] * n
    >>> detector = BlackBoxDetector(find, ["car"])
    >>> (evidence,) = detector.observe([np.zeros((8, 8, 3), np.uint8)], ["street"])
    >>> evidence.clean.boxes.tolist()
    [[0.0, 0.0, 4.0, 4.0]]
    """

    backbone = "black box"

    def __init__(
        self,
        find: Find,
        categories: Sequence[str] | Mapping[int, str],
        *,
        name: str = "black box",
        settings: Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None = None,
        weights: PathLike | Sequence[PathLike] | None = None,
        network: Any = None,
    ) -> None:
        self.find = find
        self.categories = tuple(word_list(categories))
        self.name = name
        self.file_digest = ""
        self.network = network
        self._changing = settings if callable(settings) else None
        self._settings = {} if callable(settings) else _plain_settings(settings or {})
        if weights is not None:
            files = [weights] if isinstance(weights, str | os.PathLike) else weights
            self._settings["weights"] = [_digest(Path(file)) for file in files]
        self.is_identified = bool(self._settings or self._changing)

    def __repr__(self) -> str:
        return f"<BlackBoxDetector '{self.name}', {len(self.categories)} categories>"

    @property
    def settings(self) -> dict[str, Any]:
        """What its boxes depend on, as far as it is known."""
        now = _plain_settings(self._changing()) if self._changing else {}
        named = {"black_box": self.name, "categories": list(self.categories)}
        return {**named, **self._settings, **now}

    @property
    def fingerprint(self) -> str:
        """A short name of `settings`."""
        return fingerprint(self.settings)

    def observe(
        self,
        images: Sequence[np.ndarray],
        image_ids: Sequence[str],
    ) -> list[Evidence]:
        """Run the detector once on each image.

        Parameters
        ----------
        images : sequence of ndarray of shape (H, W, 3), uint8, BGR
            Sizes may differ.
        image_ids : sequence of str
            One for each image.

        Returns
        -------
        list of Evidence
            In the order of ``images``, boxes xyxy in pixels of the image as given.

        Raises
        ------
        FailedOnImagesError
            If the callable raises.
        InputError
            If it answers for another number of images, or with something that is no box.
        """
        clean = self._detect(images, image_ids)
        return [
            Evidence(image_id, (image.shape[0], image.shape[1]), clean[i])
            for i, (image, image_id) in enumerate(zip(images, image_ids, strict=True))
        ]

    def _detect(self, images: Sequence[np.ndarray], image_ids: Sequence[str]) -> list[Detections]:
        """Run the callable on images of one shape at a time.

        Frameworks pad images of several shapes to one, or resize them otherwise: their boxes would
        depend on the images beside them, and so on the size of a batch.
        """
        by_shape: dict[tuple[int, ...], list[int]] = {}
        for number, image in enumerate(images):
            by_shape.setdefault(image.shape, []).append(number)
        detections: dict[int, Detections] = {}
        for same in by_shape.values():
            names = [image_ids[k] for k in same]
            # Copies, for a program that draws into its images, or turns their colours in place:
            # others see them, too, such as a reference.
            own = [images[k].copy() for k in same]
            try:
                answers = self.find(own)
            except Exception as error:  # a program of somebody else: it can fail in any way
                raise FailedOnImagesError(
                    f"{self.name} failed on {len(same)} images, from '{names[0]}' on: "
                    f"{type(error).__name__}: {error}"
                ) from error
            sizes = [(images[k].shape[0], images[k].shape[1]) for k in same]
            found = read_found(answers, sizes, names, self.categories)
            detections.update(zip(same, found, strict=True))
        return [detections[k] for k in range(len(images))]


def _plain_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as they are read from JSON."""
    return json.loads(json.dumps(dict(settings), default=_plain))


def _plain(value: Any) -> Any:
    """Return a setting that JSON lacks: numbers and arrays of NumPy as theirs, all else as text."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def _digest(file: Path) -> str:
    """Return the first 16 digits of the SHA-256 of a file.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()[:16]
    except OSError as error:
        raise InputError(f"Cannot read the weights {file}: {error.strerror}.") from error
