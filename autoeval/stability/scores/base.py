"""What a score is: fed image by image, mergeable, and computed once in the end; scores by name.

A score registers itself when its file is imported; all files of this package are. A score of your
own registers in the same way, from wherever it is imported before the pass. `ScoreSet` feeds all
scores of a pass. Most scores are a `RatioScore`, those of confidences alone a `ConfidenceScore`.
"""

from __future__ import annotations

import importlib
import math
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from functools import cache
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from typing_extensions import Self

from autoeval.detections import SCORE_THR, Evidence

THRESHOLDS = tuple(round(0.05 * k, 2) for k in range(20))  # 0, .05, ..., .95
PACKAGE = "autoeval.stability.scores"
DECLARED = ("name", "meaning", "features", "source")  # by every score that is registered
_SCORES: dict[str, type[Score]] = {}
_BY_FEATURE: dict[str, type[Score]] = {}
Sums = tuple[np.ndarray, np.ndarray]
S = TypeVar("S", bound="type[Score]")


class Direction(IntEnum):
    """The sign of a score's slope against accuracy, where theory tells it.

    >>> str(Direction.FALLS), Direction.FALLS * 2
    ('falls', -2)
    """

    RISES = 1
    FALLS = -1
    UNKNOWN = 0

    def __str__(self) -> str:
        return self.name.lower()


def rising(*features: str) -> dict[str, Direction]:
    """Declare features that rise with accuracy; see `Score.features`.

    Parameters
    ----------
    *features : str
        Their names.
    """
    return dict.fromkeys(features, Direction.RISES)


def falling(*features: str) -> dict[str, Direction]:
    """Declare features that fall as accuracy rises.

    Parameters
    ----------
    *features : str
        Their names.
    """
    return dict.fromkeys(features, Direction.FALLS)


def undirected(*features: str) -> dict[str, Direction]:
    """Declare features whose relation to accuracy theory leaves open.

    Parameters
    ----------
    *features : str
        Their names.
    """
    return dict.fromkeys(features, Direction.UNKNOWN)


def feature_names(name: str) -> tuple[str, ...]:
    """Name the feature of each threshold.

    Parameters
    ----------
    name : str
        Of a score.

    Examples
    --------
    >>> feature_names("ps")[-1]
    'ps@0.95'
    """
    return tuple(f"{name}@{threshold:.2f}" for threshold in THRESHOLDS)


class Score(ABC):
    """A label-free score of a set of images.

    `update` takes the evidence of one image, `merge` adds what another instance has seen, and
    `compute` returns named features of the whole set (NaN where the set gives none). Scores of
    shards, merged, equal the score of the whole set, in any order.

    A score declares the attributes below on its class and is decorated with
    `autoeval.stability.scores.base.register`; nothing else has to know of it.

    Attributes
    ----------
    name : str
        Its one name: in tables, options and files.
    meaning : str
        What it measures, in a few words.
    features : mapping of str to Direction
        The columns that it fills, and whether each rises or falls with accuracy.
    needs : frozenset of str
        Fields of `Evidence` that it reads beside the clean boxes, such as ``perturbed``, ``views``,
        ``reference``, ``candidates``, ``energies`` and ``features``.
    given : tuple of str
        Parameters of its constructor, and attributes, that a pass gives: ``settings`` (how boxes
        are compared), ``score_thr``, ``reference`` (statistics of the features of the detector's
        training domain), ``source_threshold`` (of confidences, fitted on labelled source data).
    ungiven : str
        Why there is no score where one of them is None.
    needs_domain : bool
        Whether it compares with the detector's training domain.
    per_image : bool
        Whether it is of images as a whole, and so the same for every category; else of boxes.
    source : str
        Paper and section, or ``"this project"``.
    revision : int
        To be raised by whoever changes its numbers: what is in work dirs is then made again.
    """

    name: ClassVar[str]
    meaning: ClassVar[str]
    features: ClassVar[Mapping[str, Direction]]
    needs: ClassVar[frozenset[str]] = frozenset()
    given: ClassVar[tuple[str, ...]] = ()
    ungiven: ClassVar[str]
    needs_domain: ClassVar[bool] = False
    per_image: ClassVar[bool] = False
    source: ClassVar[str]
    revision: ClassVar[int] = 1

    @classmethod
    def make(cls, given: Mapping[str, Any]) -> Self:
        """Make the score with what the pass knows of `given`.

        Parameters
        ----------
        given : mapping of str to Any
            At least what it takes.
        """
        return cls(**{name: given[name] for name in cls.given})

    def absence(self, evidence: Evidence) -> str | None:
        """Say why such evidence gives no score, None if it does.

        Parameters
        ----------
        evidence : Evidence
            Of one image.
        """
        if any(getattr(self, name) is None for name in self.given):
            return self.ungiven
        reasons = (evidence.why_missing(name) for name in sorted(self.needs))
        return next((reason for reason in reasons if reason), None)

    @abstractmethod
    def update(self, evidence: Evidence) -> None:
        """Take in the evidence of one image.

        Parameters
        ----------
        evidence : Evidence
            With all that the score needs.
        """

    def update_batch(self, images: Sequence[Evidence]) -> None:
        """Take in several images at once, with the numbers of one after another.

        Parameters
        ----------
        images : sequence of Evidence
            With all that the score needs.
        """
        for evidence in images:
            self.update(evidence)

    @classmethod
    def update_groups(cls, scores: Sequence[Self], groups: Sequence[Sequence[Evidence]]) -> None:
        """Take in several groups of images, each by its own score; all scores are of one kind.

        Parameters
        ----------
        scores : sequence of Score
            One a group.
        groups : sequence of sequences of Evidence
            An image may be in several.
        """
        for score, images in zip(scores, groups, strict=True):
            score.update_batch(images)

    @abstractmethod
    def merge(self, other: Self) -> None:
        """Take in all that ``other`` has seen.

        Parameters
        ----------
        other : Score
            Of the same kind and settings.
        """

    @abstractmethod
    def compute(self) -> dict[str, float]:
        """Return the features of all images seen."""

    def resample(self, counts: np.ndarray) -> dict[str, np.ndarray]:
        """Return the features of B sets of images drawn from the M seen, without another pass.

        Parameters
        ----------
        counts : ndarray of shape (B, M), int
            How often each image is in each set; images in the order in which they came.

        Returns
        -------
        dict of str to ndarray of shape (B,)
            NaN where a set gives none. Empty for a score that keeps no numbers of single images,
            which therefore has no bootstrap.
        """
        return {}


class RatioScore(Score):
    r"""A score whose F features are each a sum over images divided by another.

    .. math:: \frac{\sum_i a_i}{\sum_i b_i}

    A subclass declares `measure`, which returns a and b of one image, or `measure_batch`. The sums
    are rounded once, so that merged shards equal the whole to the last bit.

    Parameters
    ----------
    score_thr : float
        Only boxes with a score above it count.
    """

    given: ClassVar[tuple[str, ...]] = ("score_thr",)

    def __init__(self, *, score_thr: float = SCORE_THR) -> None:
        self.score_thr = score_thr
        self.names = tuple(self.features)
        self._blocks: list[tuple[np.ndarray, np.ndarray]] = []

    def measure(self, evidence: Evidence) -> tuple[ArrayLike, ArrayLike]:
        """Return what one image adds to numerators and denominators, (F,) or one number each.

        A score declares this, or `measure_batch` where many images at once cost less.

        Parameters
        ----------
        evidence : Evidence
            Of one image.
        """
        above, below = self.measure_batch([evidence])
        return above[0], below[0]

    def measure_batch(self, images: Sequence[Evidence]) -> Sums:
        """Return the same of n images, (n, F) each; an image's numbers are those it has alone.

        Parameters
        ----------
        images : sequence of Evidence
            One or more.
        """
        shape = len(images), len(self.names)
        above, below = np.empty(shape), np.empty(shape)
        for row, evidence in enumerate(images):
            above[row], below[row] = self.measure(evidence)
        return above, below

    def update(self, evidence: Evidence) -> None:
        self.update_batch([evidence])

    def update_batch(self, images: Sequence[Evidence]) -> None:
        above, below = self.measure_batch(images)
        self._blocks.append((np.asarray(above, np.float64), np.asarray(below, np.float64)))

    @classmethod
    def update_groups(cls, scores: Sequence[Self], groups: Sequence[Sequence[Evidence]]) -> None:
        """Measure the images of all groups at once, and one that is in several groups once.

        Parameters
        ----------
        scores, groups
            See `Score.update_groups`.
        """
        images = {id(evidence): evidence for group in groups for evidence in group}
        rows = {key: row for row, key in enumerate(images)}
        above, below = scores[0].measure_batch(list(images.values()))
        above, below = np.asarray(above, np.float64), np.asarray(below, np.float64)
        for score, group in zip(scores, groups, strict=True):
            chosen = [rows[id(evidence)] for evidence in group]
            score._blocks.append((above[chosen], below[chosen]))

    def merge(self, other: Self) -> None:
        self._blocks.extend(other._blocks)

    def compute(self) -> dict[str, float]:
        """Return the ratio of each feature, NaN where its denominator is 0."""
        above = [math.fsum(column) for column in self._rows(0).T]
        below = [math.fsum(column) for column in self._rows(1).T]
        return {
            name: a / b if b else math.nan
            for name, a, b in zip(self.names, above, below, strict=True)
        }

    def resample(self, counts: np.ndarray) -> dict[str, np.ndarray]:
        """Return the ratios of sums in which each image counts as often as it was drawn, (B,) each.

        Parameters
        ----------
        counts : ndarray of shape (B, M), int
            How often each of the M images is in each of B sets.
        """
        above, below = counts @ self._rows(0), counts @ self._rows(1)
        ratios = np.divide(above, below, out=np.full(above.shape, math.nan), where=below != 0)
        return dict(zip(self.names, ratios.T, strict=True))

    def _rows(self, side: int) -> np.ndarray:
        """Return the numerators (0) or the denominators (1) of all images, (M, F)."""
        blocks = [block[side] for block in self._blocks]
        return np.concatenate(blocks) if blocks else np.zeros((0, len(self.names)))


class ConfidenceScore(RatioScore):
    """A ratio score that reads nothing but the confidences of the clean boxes.

    It can therefore take in many images at once, as columns, which gives the same numbers to the
    last bit as one image after another.
    """

    @abstractmethod
    def measure_images(self, scores: np.ndarray, image: np.ndarray, n_images: int) -> Sums:
        """Return what each image adds to the numerators and the denominators.

        Parameters
        ----------
        scores : ndarray of shape (N,), float32
            Confidences over the threshold.
        image : ndarray of shape (N,), int64
            Which image each box is of.
        n_images : int
            How many images there are.

        Returns
        -------
        above, below : ndarray of shape (n_images, F), float64
            Of each image.
        """

    def measure_batch(self, images: Sequence[Evidence]) -> Sums:
        scores = [evidence.clean.scores for evidence in images]
        scores = [column[column > self.score_thr] for column in scores]
        image = np.repeat(np.arange(len(images)), [len(column) for column in scores])
        return self.measure_images(np.concatenate(scores), image, len(images))

    @property
    def thresholds(self) -> list[float]:
        """The threshold of each feature, for scores that have one a feature."""
        return [float(name.partition("@")[2]) for name in self.names]


def count_over(
    thresholds: Sequence[float], scores: np.ndarray, image: np.ndarray, n_images: int
) -> np.ndarray:
    """Count the boxes of each image over each threshold.

    The comparison is made in the precision of the scores: a float32 .3 does not exceed .3.

    Parameters
    ----------
    thresholds : sequence of F floats
        Exclusive.
    scores : ndarray of shape (N,)
        Of the boxes.
    image : ndarray of shape (N,), int
        Which image each box is of.
    n_images : int
        How many images there are.

    Returns
    -------
    ndarray of shape (n_images, F), float64
        The counts.

    Examples
    --------
    >>> count_over([0, 0.5], np.array([.2, .6, .97]), np.array([0, 0, 2]), 3)
    array([[2., 1.],
           [0., 0.],
           [1., 1.]])
    """
    kept = [image[scores > scores.dtype.type(t)] for t in thresholds]
    return np.stack([np.bincount(k, minlength=n_images) for k in kept], axis=1).astype(np.float64)


def observed_sum(values: Sequence[float]) -> tuple[float, int]:
    """Return the sum and the number of values that are not NaN, for `RatioScore.measure`.

    Parameters
    ----------
    values : sequence of float
        Some may be NaN.

    Examples
    --------
    >>> observed_sum([0.5, float("nan"), 0.25])
    (0.75, 2)
    """
    defined = [value for value in values if not math.isnan(value)]
    return math.fsum(defined), len(defined)


def register(score: S) -> S:
    """Make a score known; a class decorator.

    Parameters
    ----------
    score : type of Score
        Returned as it is.

    Raises
    ------
    TypeError
        If the class lacks one of `DECLARED`.
    ValueError
        If its name or one of its features is taken.
    """
    missing = [field for field in DECLARED if field not in vars(score)]
    if missing:
        raise TypeError(f"The score {score.__name__} does not declare {', '.join(missing)}.")
    taken = {score.name} & _SCORES.keys() | score.features.keys() & _BY_FEATURE.keys()
    if taken:
        raise ValueError(f"Another score is already called {', '.join(sorted(taken))}.")
    _SCORES[score.name] = score
    _BY_FEATURE.update(dict.fromkeys(score.features, score))
    return score


def scores() -> Mapping[str, type[Score]]:
    """Return every score by its name, in alphabetical order."""
    _import_all()
    return MappingProxyType(dict(sorted(_SCORES.items())))


def score_of(feature: str) -> type[Score] | None:
    """Return the score that fills a column; None for a column that no score is known to fill.

    Parameters
    ----------
    feature : str
        Column of a score table; that of a category is ``FEATURE/CATEGORY``.

    Examples
    --------
    >>> score_of("ps@0.95").name, score_of("no_box_share/car").name, score_of("mAP")
    ('ps', 'box_count', None)
    """
    name = feature.partition("/")[0]
    _import_all()
    return _BY_FEATURE.get(name)


def direction_of(feature: str) -> Direction:
    """Say which way a column goes when accuracy rises; unknown for one that no score fills.

    Parameters
    ----------
    feature : str
        See `score_of`.
    """
    score = score_of(feature)
    return score.features[feature.partition("/")[0]] if score else Direction.UNKNOWN


def needs_of(features: Iterable[str]) -> frozenset[str]:
    """Return the fields of `Evidence` that some columns take, beside the clean boxes.

    Parameters
    ----------
    features : iterable of str
        Columns of a score table; those that no score fills take nothing.

    Examples
    --------
    >>> sorted(needs_of(["ac", "bos", "hard_reference_ap@0.30"]))
    ['perturbed', 'reference']
    """
    scores = [score for score in map(score_of, features) if score]
    return frozenset().union(*(score.needs for score in scores))


def of_domain(features: Iterable[str]) -> list[str]:
    """Return those columns that compare with the detector's training domain, sorted.

    Parameters
    ----------
    features : iterable of str
        Columns of a score table.
    """
    return sorted(f for f in features if (score := score_of(f)) and score.needs_domain)


def revisions() -> dict[str, int]:
    """Return the revision of every score; rows made with other ones are made again."""
    return {name: score.revision for name, score in scores().items()}


@cache
def _import_all() -> None:
    for module in pkgutil.iter_modules(importlib.import_module(PACKAGE).__path__):
        importlib.import_module(f"{PACKAGE}.{module.name}")
