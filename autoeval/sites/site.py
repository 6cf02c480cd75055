"""A site: what a detector found on a set of images, and what else is known of them.

`Site` is what readers (`autoeval.estimation.labelled_sets`, `autoeval.estimation.read_site`,
`autoeval.estimation.run_detector`) make and everything after them takes. With truth it has an
`Evaluation` (matches, rankings, average precision), once calibrated a `Presence` (which categories
count). `with_features` describes single boxes for label assistance.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from typing_extensions import Self

from autoeval.accuracy.coco_evaluation import (
    AT_HALF,
    IOU_THRESHOLDS,
    Matches,
    image_ranks,
    match_categories,
    rank_categories,
    top_detections,
)
from autoeval.accuracy.measures import RankedDetections
from autoeval.boxes import Boxes, LabelledImage, over_threshold, overlapping_pairs
from autoeval.detections import CONFIDENT, Detections, Evidence
from autoeval.errors import InputError
from autoeval.io.find_images import UnlabelledImage
from autoeval.model.calibration import LIKELY, ScoreCalibration
from autoeval.sites.file_looks import Looks
from autoeval.words import Notice

LEAST_SHARE = 0.1
"""Expected objects of a category that counts, as a share of the mean over the likely ones.

A few confident errors make a likely box of nearly any category of a detector somewhere. Chosen by
benchmarks/many_categories.py (docs/results/presence.md)."""
FEWEST_IMAGES = 5  # of a category of a labelled set
FEWEST_BOXES = 8  # of a category of a labelled set
BLACK_BOX = "black box"
EDGE = 1 / 256
"""Distance from the edge of an image, as a share of its longer side, within which a box ends there.

Of whole pixels these are three of an image 640 wide, the size of COCO's images; a power of two, so
that the bound is exact and mirrored boxes are alike."""
DECIMALS = 6  # that files write of a score, or fewer
SINGLE = 1e-7  # by which single precision may move a score
ANY = float(np.finfo(np.float64).tiny)  # smallest overlap
OF_BOX = (
    "score",
    "log_odds",
    "size",
    "aspect",
    "rank",
    "confident_boxes",
    "best_score",
    "overlap_above",
    "overlap_below",
    "at_edge",
)


@dataclass(frozen=True, eq=False)
class Presence:
    """Which of K categories count in the accuracy at a site.

    A category is likely to be there where a box is a true positive with a probability over .3 at
    IoU .5. It counts where its expected objects, the sum of these probabilities over all its boxes,
    are `LEAST_SHARE` of their mean over such categories, or more; one that is said to be there
    always counts. On which images a category is scored is another question, with a lower bound of
    the probability; see `autoeval.estimation.category_scores.CategoryScores`.

    Parameters
    ----------
    likely : ndarray of shape (K,), int64
        Boxes with a probability over .3.
    expected : ndarray of shape (K,)
        Expected objects.
    counts : ndarray of shape (K,), bool
        Whether each category counts.
    counted : tuple of str
        Names of the categories that count.
    candidates : ndarray of shape (C,), int64
        Indices of the categories that count or are likely to be there, rising.
    """

    likely: np.ndarray
    expected: np.ndarray
    counts: np.ndarray
    counted: tuple[str, ...]
    candidates: np.ndarray


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Boxes on images whose labels are known: matched when that is first read, and once.

    Average precision is that of COCO: ten IoU thresholds from .5 to .95, at most 100 boxes an
    image and category.

    Parameters
    ----------
    boxes : Boxes
        Those of the detector, N.
    truth : Boxes
        Labels of the same images, in the same K categories.
    precomputed : Matches, optional
        Matches of the boxes, where others that hold them have been matched.
    """

    boxes: Boxes
    truth: Boxes
    precomputed: Matches | None = None

    @cached_property
    def matches(self) -> Matches:
        """Which boxes are true positives and which are ignored, (10, N) bool each."""
        if self.precomputed is not None:
            return self.precomputed
        return match_categories(self.boxes, self.truth)

    @cached_property
    def rankings(self) -> list[RankedDetections]:
        """Ranked boxes of each of the K categories, with its labels."""
        return rank_categories(self.boxes, self.truth, self.matches)

    @cached_property
    def enough(self) -> list[bool]:
        """Whether each category has labels enough to be a pair of the regression; see below.

        `FEWEST_IMAGES` images that hold it, and `FEWEST_BOXES` boxes.
        """
        return [is_labelled_enough(ranking.n_true) for ranking in self.rankings]

    @cached_property
    def counted(self) -> np.ndarray:
        """Which boxes are right or wrong at IoU .5, (N,) bool: others are ignored.

        Boxes in crowds are ignored, and those of categories without a single label.
        """
        labelled = np.array([ranking.n_true.any() for ranking in self.rankings], bool)
        return np.asarray(~self.matches.ignored[AT_HALF] & labelled[self.boxes.label])

    @cached_property
    def average_precision(self) -> np.ndarray:
        """Average precision of each category over all images at each IoU, (K, 10).

        NaN for categories without a label.
        """
        every = [ranking.average_precision() for ranking in self.rankings]
        return np.array(every).reshape(-1, len(IOU_THRESHOLDS))

    @cached_property
    def content_key(self) -> str:
        """Digest of boxes and labels, in whatever order and whatever they are called.

        Its first half is of the scores alone, so that sites are numbered by it alike in any unit of
        coordinates. Scores of few decimals are the same in single precision.
        """
        digest, boxes = hashlib.sha256(), self.boxes
        scores = boxes.scores
        written = scores.round(DECIMALS)
        if np.allclose(scores, written, rtol=0, atol=SINGLE):
            scores = written
        for rows in (np.column_stack([boxes.boxes, scores]), self.truth.boxes):
            digest.update(np.ascontiguousarray(rows[np.lexsort(rows.T)]).tobytes())
        of_scores = hashlib.sha256(np.sort(scores).tobytes())
        return f"{of_scores.hexdigest()} {digest.hexdigest()}"


@dataclass(frozen=True, eq=False)
class Site:
    """Boxes on the M images of one site, in the categories that may count, and what is known there.

    A labelled set is a site with truth, a site that is estimated one without. All fields but the
    boxes are given by keyword.

    Parameters
    ----------
    boxes : Boxes
        Those of the detector, N, by the words that were given or that the fit knows, else in the
        detector's own words.
    truth : Boxes, optional
        Labels of the same images, in the same categories.
    reference : Boxes, optional
        Boxes of a reference detector, R, on the same images, in the same categories.
    calibration, reference_calibration : ScoreCalibration, optional
        By which a fit reads the boxes, and those of the reference; without them nothing is scored.
    reference_probabilities : ndarray of shape (R,), optional
        That each box of the reference is a true positive at IoU .5, by calibrations that have not
        seen the labels here; by default by `reference_calibration`.
    looks : Looks, optional
        How the boxes look in the detector's own words, with the warnings of labels; of a labelled
        set alone.
    blocks : ndarray of shape (M,), int64, optional
        Block of time of each image; images of one block are dependent. By default all images are
        independent.
    name, group : str
        Of a labelled set. A new site has no name, and the group of the fit that it belongs to, or
        none.
    grouped : bool
        Whether the group of a labelled set was given; by default it is its name.
    known : str
        Labelled set of the fit of which these are new images; empty for a new site.
    everywhere : bool
        Whether a labelled set is of a task, whose categories are evaluated on all its images;
        otherwise each is on those that hold it.
    trained_here : bool
        Whether the detector was trained on other images of this site.
    named : bool
        Whether categories were given, or are known by the fit.
    detector_words : mapping of str to str
        Category of each word of the detector, where categories are `named`; else empty.
    present : tuple of str
        Categories that are said to be there, found or not.
    floor : float
        At which floor the fit is read; 0 for that of its own files.
    unseen : float
        Share of the confidence that scores read and that is missing, in [0, 1]; see `unseen_share`.
    backbone, detector : str
        Class of the backbone, `BLACK_BOX` where that is not known, and fingerprint of the detector,
        empty where that is not known.
    images : sequence of UnlabelledImage
        Files of the images, where they are known.
    evidence : tuple of Evidence
        What a detector that was run left of each image.
    warnings, left_out : tuple of Notice
        Of reading, and what was left out of boxes and images.
    row : mapping
        Of a detector that was run: ``unreadable`` (names and reasons), images and seconds spent;
        ``rows``, the scores, once the site was estimated.
    nothing_found : bool
        Whether no image shows a category that counts, by a box with a probability over .05; known
        once the site was estimated.
    evaluation, of_reference : Evaluation
        Of the boxes, and of those of the reference, against the truth; of a labelled set alone.
        Made where they are not given.

    Raises
    ------
    InputError
        If the reference is on other images or in other categories than the boxes.

    Examples
    --------
    One image with one labelled car, which the first of two boxes finds:

    >>> image = (LabelledImage("7", "7.jpg", (480, 640)),)
    >>> corners, one = np.array([[0.0, 0, 40, 20], [300, 0, 340, 20]]), np.zeros(1, int)
    >>> two, scores = np.zeros(2, int), np.array([0.9, 0.4])
    >>> site = Site(
    ...     Boxes(image, ("car",), two, two, corners, scores),
    ...     truth=Boxes(image, ("car",), one, one, corners[:1]),
    ... )
    >>> site.evaluation.matches.hits[AT_HALF].tolist()
    [True, False]
    >>> float(site.evaluation.average_precision[0, AT_HALF]), len(site.above(0.5).boxes)
    (1.0, 1)
    """

    boxes: Boxes
    _: KW_ONLY
    truth: Boxes | None = None
    reference: Boxes | None = None
    calibration: ScoreCalibration = None  # type: ignore[assignment]
    reference_calibration: ScoreCalibration | None = None
    reference_probabilities: np.ndarray | None = None
    looks: Looks = None  # type: ignore[assignment]
    blocks: np.ndarray | None = None
    name: str = ""
    group: str = ""
    grouped: bool = False
    known: str = ""
    everywhere: bool = False
    trained_here: bool = False
    named: bool = False
    detector_words: Mapping[str, str] = field(default_factory=dict)
    present: tuple[str, ...] = ()
    floor: float = 0.0
    unseen: float = 0.0
    backbone: str = BLACK_BOX
    detector: str = ""
    images: Sequence[UnlabelledImage] = ()
    evidence: tuple[Evidence, ...] = ()
    warnings: tuple[Notice, ...] = ()
    left_out: tuple[Notice, ...] = ()
    row: Mapping[str, Any] = field(default_factory=dict)
    nothing_found: bool = False
    evaluation: Evaluation = field(default=None, repr=False)  # type: ignore[assignment]
    of_reference: Evaluation = field(default=None, repr=False)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        # `dataclasses.replace` passes both on: they stay where boxes and truth are the same.
        for name, boxes in (("evaluation", self.boxes), ("of_reference", self.reference)):
            held, truth = getattr(self, name), self.truth
            if held is None or held.boxes is not boxes or held.truth is not truth:
                evaluation = None if boxes is None or truth is None else Evaluation(boxes, truth)
                object.__setattr__(self, name, evaluation)
        reference = self.reference
        if reference is None:
            return
        if reference.images != self.boxes.images or reference.categories != self.boxes.categories:
            raise InputError("The reference predictions are of other images or categories.")

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.boxes.images)

    @classmethod
    def of_evidence(
        cls,
        evidence: Sequence[Evidence],
        categories: Sequence[str],
        file_names: Mapping[str, str] = MappingProxyType({}),
    ) -> Site:
        """Lay out what a detector left of each image, labelled by `categories`.

        Parameters
        ----------
        evidence : sequence of Evidence
            Of each image, in their order. A reference that some image lacks is left out.
        categories : sequence of str
            By the labels of the boxes.
        file_names : mapping of str to str
            File name of each image by its id, where that is another.
        """
        names = [file_names.get(e.image_id, e.image_id) for e in evidence]
        images = tuple(
            LabelledImage(e.image_id, name, e.image_size if all(e.image_size) else None)
            for e, name in zip(evidence, names, strict=True)
        )
        boxes = columns_of([e.clean for e in evidence], images, categories)
        reference_passes = [e.reference for e in evidence if e.reference is not None]
        reference = (
            columns_of(reference_passes, images, categories)
            if len(reference_passes) == len(images)
            else None
        )
        return Site(boxes, reference=reference)

    # What the boxes say

    @cached_property
    def right_at_half(self) -> np.ndarray:
        """True-positive probability of each box at IoU .5, (N,)."""
        return self.calibration.at_half(self.boxes.scores, self.boxes.boxes)

    @cached_property
    def reference_right(self) -> np.ndarray | None:
        """True-positive probability of each box of the reference at IoU .5, (R,), if known."""
        if self.reference is None or self.reference_calibration is None:
            return None
        if self.reference_probabilities is not None:
            return self.reference_probabilities
        return self.reference_calibration.at_half(self.reference.scores, self.reference.boxes)

    @cached_property
    def presence(self) -> Presence:
        """Which categories count here.

        The site has a calibration; nothing counts where none is likely to be there or said to be
        there.
        """
        categories, label, right = self.boxes.categories, self.boxes.label, self.right_at_half
        likely = np.bincount(label[right > LIKELY], minlength=len(categories))
        expected = np.bincount(label, right, minlength=len(categories))
        has_likely = likely > 0
        least = LEAST_SHARE * expected[has_likely].mean() if has_likely.any() else np.inf
        declared = np.array([name in self.present for name in categories], bool)
        counts = (has_likely & (expected >= least)) | declared
        counted = tuple(categories[k] for k in np.flatnonzero(counts))
        return Presence(likely, expected, counts, counted, np.flatnonzero(counts | has_likely))

    @cached_property
    def pool(self) -> Boxes:
        """The boxes as evaluation takes them, with their features."""
        return with_features(self.boxes)

    # The same site otherwise

    def noting(self, note: Notice) -> Self:
        """Return the same with one more line of what was left out.

        Parameters
        ----------
        note : Notice
        """
        return replace(self, left_out=(*self.left_out, note))

    def above(self, floor: float) -> Self:
        """Return the same without the boxes of the detector that score under a floor.

        Boxes are matched from the most confident one on, so those that stay match as before.

        Parameters
        ----------
        floor : float
            In [0, 1]; boxes with this score or a higher one stay.

        Returns
        -------
        Site
            Its reference, its looks and its `floor` stay as they are.
        """
        kept = self.boxes.scores.astype(np.float32) >= np.float32(floor)
        boxes, evaluation = self.boxes.where(kept), self.evaluation
        if self.truth is not None:
            evaluation = Evaluation(boxes, self.truth, evaluation.matches.of(kept))
        return replace(self, boxes=boxes, evaluation=evaluation)

    def on_images(self, chosen: Sequence[int] | np.ndarray) -> Self:
        """Keep some of the images, with their boxes and labels.

        Parameters
        ----------
        chosen : sequence of int, or ndarray of shape (k,), int64
            Positions in the images of the boxes, without repetition, in the order that they are to
            have; or a bool for each image, as of `Boxes.on_images`.

        Returns
        -------
        Site
            The looks, the files of images and the evidence stay those of all. Images are matched
            one by one, so that matches stay; probabilities of the reference are not kept.
        """
        chosen = np.arange(len(self))[np.asarray(chosen) if len(chosen) else []]
        blocks = None
        if self.blocks is not None:
            blocks = np.unique(self.blocks[chosen], return_inverse=True)[1]
        boxes = self.boxes.on_images(chosen)
        evaluation: Any = None
        if self.truth is not None:
            matches = self.evaluation.matches.of(np.isin(self.boxes.image, chosen))
            evaluation = Evaluation(boxes, self.truth.on_images(chosen), matches)
        return replace(
            self,
            boxes=boxes,
            truth=None if evaluation is None else evaluation.truth,
            reference=None if self.reference is None else self.reference.on_images(chosen),
            reference_probabilities=None,
            blocks=blocks,
            evaluation=evaluation,
        )

    def without_images(self, dropped: Sequence[int] | np.ndarray) -> Self:
        """Leave out some of the images; see `on_images`.

        Parameters
        ----------
        dropped : sequence of int, or ndarray of shape (k,), int64
            Positions in the images of the boxes.
        """
        return self.on_images(np.setdiff1d(np.arange(len(self)), dropped))

    def at_most(self, most: int) -> Self:
        """Keep some of the images, drawn by a fixed seed, where there are too many; in their order.

        Drawn by the order of their file names: ids, and in which order a file lists them, change
        nothing.

        Parameters
        ----------
        most : int
            How many images stay at most.
        """
        if len(self) <= most:
            return self
        drawn = np.random.default_rng(0).choice(len(self), most, replace=False)
        ranks = image_ranks([image.file_name for image in self.boxes.images])
        return self.on_images(np.flatnonzero(np.isin(ranks, drawn)))

    def with_images(self, images: tuple[LabelledImage, ...]) -> Self:
        """Return the same with other descriptions of its images, such as their sizes.

        Parameters
        ----------
        images : tuple of LabelledImage
            One for each image of the boxes and of the reference, in their order. Labels keep
            theirs.
        """
        return self._each(lambda boxes: replace(boxes, images=images))

    def knowing(self, names: Sequence[str]) -> Self:
        """Return the same with more categories, where it lacks them: without a box.

        Parameters
        ----------
        names : sequence of str
            Categories of the boxes and of the reference; those that are new come last. Labels keep
            theirs.
        """
        categories = tuple(dict.fromkeys([*self.boxes.categories, *names]))
        return self._each(lambda boxes: replace(boxes, categories=categories))

    def as_categories(self, names: Sequence[str], words: Mapping[str, str] | None = None) -> Self:
        """Translate the detector's words into other categories; see `Boxes.as_categories`.

        Parameters
        ----------
        names : sequence of str
            The categories.
        words : mapping of str to str, optional
            Category of each word that counts; by default each category is its own word.
        """
        return self._each(lambda boxes: boxes.as_categories(names, words))

    def respelt(self, spelt: Mapping[str, str]) -> Self:
        """Call categories otherwise: of the boxes, the reference, the truth, and what was named.

        Parameters
        ----------
        spelt : mapping of str to str
            The new word of each category that changes.
        """
        names = tuple(spelt.get(word, word) for word in self.boxes.categories)
        site = self._each(lambda boxes: replace(boxes, categories=names))
        return replace(
            site,
            truth=None if self.truth is None else replace(self.truth, categories=names),
            present=tuple(spelt.get(word, word) for word in self.present),
            detector_words={w: spelt.get(named, named) for w, named in self.detector_words.items()},
        )

    def _each(self, change: Callable[[Boxes], Boxes]) -> Self:
        """Return the same with one change of its boxes and of those of the reference."""
        reference = None if self.reference is None else change(self.reference)
        return replace(self, boxes=change(self.boxes), reference=reference)


def columns_of(
    detections: Sequence[Detections], images: tuple[LabelledImage, ...], categories: Sequence[str]
) -> Boxes:
    """Lay out the detections of each image as columns.

    Parameters
    ----------
    detections : sequence of Detections
        Of each image, labelled by `categories`.
    images : tuple of LabelledImage
        As many.
    categories : sequence of str
        K words.
    """
    nothing = Detections.empty()
    parts = [*detections, nothing]
    return Boxes(
        images,
        tuple(categories),
        np.repeat(np.arange(len(images)), [len(boxes) for boxes in detections]),
        np.concatenate([boxes.labels for boxes in parts]),
        np.concatenate([boxes.boxes for boxes in parts]),
        np.concatenate([boxes.scores for boxes in parts]),
        lists_images=True,
    )


def is_labelled_enough(n_true: np.ndarray) -> bool:
    """Whether a category can be fitted on.

    Parameters
    ----------
    n_true : ndarray of shape (M,)
        Its labelled boxes in each image.

    Examples
    --------
    >>> is_labelled_enough(np.array([2, 2, 2, 1, 1])), is_labelled_enough(np.array([4, 4, 4]))
    (True, False)
    """
    return bool(np.count_nonzero(n_true) >= FEWEST_IMAGES and n_true.sum() >= FEWEST_BOXES)


def with_features(boxes: Boxes) -> Boxes:
    """Describe each box among the others of its category in its image.

    Parameters
    ----------
    boxes : Boxes
        On at least one image.

    Returns
    -------
    Boxes
        The at most 100 boxes of a category in an image that evaluation takes. Their features, (N,
        F) float64, are `OF_BOX`: score and its log-odds; logarithm of the side relative to the
        image and of the aspect ratio; logarithm of the rank among the boxes of its category in the
        image and of the number of confident ones, both of one more; the best score among them; the
        largest IoU with a more and a less confident one; whether the box ends within `EDGE` of the
        edge. The side relative to an image of unknown size is NaN, and so is whether a box ends at
        the edge of one, unless it begins at 0.

    Raises
    ------
    InputError
        If there is no image.
    """
    if not boxes.images:
        raise InputError("Expected a pool of at least one image but got none.")
    counted = boxes.where(top_detections(boxes.image, boxes.label, boxes.scores))
    sizes, scores, n = counted.sizes[counted.image], counted.scores, len(counted)
    inside = np.clip(scores, 1e-3, 1 - 1e-3)
    width, height = np.maximum(counted.boxes[:, 2:] - counted.boxes[:, :2], 1e-3).T
    side = 0.5 * np.log(np.clip(width * height / sizes.prod(axis=1), 1e-6, 1))
    aspect = np.clip(np.log(width / height), -3, 3)
    margin = EDGE * sizes.max(axis=1)
    near = counted.boxes[:, :2].min(axis=1) <= np.nan_to_num(margin)
    far = (counted.boxes[:, 2:] >= sizes[:, ::-1] - margin[:, None]).any(axis=1)
    at_edge = np.where(near | far, 1.0, np.where(np.isnan(sizes[:, 0]), np.nan, 0.0))
    # among the boxes of its category in its image
    cell = counted.image * len(counted.categories) + counted.label
    cell = np.unique(cell, return_inverse=True)[1]
    order = np.lexsort((-scores, cell))
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n) - np.searchsorted(cell[order], cell[order])
    confident = np.bincount(cell, over_threshold(scores, CONFIDENT), minlength=1)
    best = np.zeros(len(confident))
    np.maximum.at(best, cell, scores)
    a, b, overlap = overlapping_pairs(counted.boxes, cell, counted.boxes, cell, least=ANY)
    above, below = np.zeros(n), np.zeros(n)
    is_above, is_below = rank[b] < rank[a], rank[b] > rank[a]
    np.maximum.at(above, a[is_above], overlap[is_above])
    np.maximum.at(below, a[is_below], overlap[is_below])
    of_one_box = [scores, np.log(inside / (1 - inside)), side, aspect]
    of_cell = [np.log1p(rank), np.log1p(confident[cell]), best[cell], above, below]
    return replace(counted, features=np.stack([*of_one_box, *of_cell, at_edge], axis=1))
