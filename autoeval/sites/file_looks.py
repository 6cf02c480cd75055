"""How the files of a detector look: how new predictions compare with those of a fit.

A fit keeps the `Looks` of its files. `Looks.compare`, called for new predictions by
`autoeval.estimation.read_site`, finds out why they begin where they do (`ListStart`), from which
the floor at which the fit is read and the unseen range of confidence follow, and warns of another
threshold, scale, limit or suppression; `unlike_fit` warns of confident boxes unlike those of the
fit.

A file may begin at a higher score than the fit since a threshold was set, since each image lists
its best boxes only, since there are few boxes, or since its scores are on another scale. These look
different: under a threshold, or on another scale, the lists of all images begin at about the same
score; cut lists each begin at a score of their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np

from autoeval.accuracy.coco_evaluation import MAX_DETECTIONS
from autoeval.boxes import Boxes, over_threshold, overlapping_pairs
from autoeval.detections import CONFIDENT, SCORE_THR
from autoeval.errors import InputError
from autoeval.io.image_lists import natural_order
from autoeval.io.predictions.category_words import frequencies, kind_of
from autoeval.words import Notice, codes_of, counted, listed, notices_of

# Where lists begin.
LEAST_LIMIT = 10
FEWEST_FULL = 3
"""Lists are full where so many images have the most boxes of any, and that is so many."""
LOW_SHARE = 0.05  # of the boxes of a file that count as its lowest
MOST_ERRORS = 4.0
"""Standard errors by which more lists begin over the lowest boxes than under one threshold. In
complete files of four detectors it was at most 2.1, in files with cut lists 6 and more; the limit
was set on these files."""
ENOUGH_BOXES = 100  # fewer have a lowest and a highest score by chance
SURELY_NOT = 1e-3  # probability under which nothing is by chance
TINY = 1e-9
NEVER = 1e-4  # the same where a wrong answer would change a number, if little
# The range of scores.
LOW_FLOOR = 0.05  # lowest score up to which a file is complete
HIGH_FLOOR = 0.35  # over it a file is refused, unless it is said to be incomplete
LITTLE = 0.01  # that few boxes begin over the score that they were exported from
FEWEST_LIMITED = 3  # images with the same greatest number of boxes
MANY_LIMITED = 0.1  # the same as a share of all images
ENOUGH_CONFIDENT = 20  # boxes, for one score that most of them share to be a constant
MOSTLY = 0.5  # share of confident boxes with one score
NOTICEABLE = 0.05  # unseen share under which the interval hardly moves
NO_LOWER = 1e-3  # lowest scores under it are compared as this
HIGHEST_FLOOR = 0.55  # of files that a fit can be known at
ANOTHER_FLOOR = 1.5  # ratio of the lowest scores
OF_FEW_BOXES = 3.0  # the same with fewer than `ENOUGH_BOXES`
ANOTHER_TOP = 0.6  # ratio of the highest scores
# Confident boxes.
SURE = 0.5  # score of a confident box
FEWEST_SURE = 20  # fewer of them say nothing
COMPANION = 0.3  # IoU with a less confident box
OVERLAP = 0.05  # IoU with another confident box
MOST_ALONE = 0.32
MOST_OVERLAPPING = 0.43
"""By how much a share may exceed the greatest one of the fit; see docs/results/confident_boxes.md,
where density and place of confident boxes are measured, too, and find no more than by chance."""
# Boxes of one category on each other, as suppression leaves them.
PAIRED = 0.3  # IoU from which two boxes of one category lie on each other
CELLS = 70  # of IoU, a hundredth wide
FEWEST_PAIRS = 100  # on either side, for their distributions to be compared
MOST_BOXES = 100_000  # whose pairs are counted: of the first images
HIGHEST_LOW = 0.1  # lowest score up to which both files hold what suppression left
TOP = 0.01  # share of pairs over the IoU at which suppression ends
EDGE = 0.1  # of IoU below that end
STEEP = 0.15  # share of pairs in it, where suppression cuts and does not thin out
NEAR_TOP = 0.02  # IoU over that end, up to which pairs of the other file are not counted
MANY_PAIRS = 0.06
"""No two files of one detector differ by so much, in docs/results/odd_predictions.md."""
# New predictions compared with those of a fit.
SAME_FLOOR = 0.01  # difference of lowest scores of files with one threshold
MOST_ABOVE = 0.05  # that lists may begin above those of the fit
FEW = 3
NEAREST = 0.003
FARTHEST = 0.03
ROUNDING = 1e-6
"""How far the lowest of n scores lies above its threshold: 3 / n, if that is between. One of n
boxes is mostly so near where their density is 1 there. Scores on another scale begin higher, too,
but seldom so near to a threshold that somebody chose."""


@dataclass(frozen=True)
class ListStart:
    """Why the boxes of a file begin where they do.

    Parameters
    ----------
    threshold : float
        One of those in `Looks.floors`, under which boxes were left out; 0 where none is known.
    cut : bool
        Whether each image lists its best boxes only.
    unlikely : bool
        Whether there are few boxes, and yet too many to begin so high by chance.
    by_chance : bool
        Whether the few boxes begin so high by chance.
    """

    threshold: float = 0.0
    cut: bool = False
    unlikely: bool = False
    by_chance: bool = False


def open_lists(boxes: Boxes) -> Boxes:
    """Return the boxes of the images that list fewer boxes than the limit, where there is one.

    There is one where `FEWEST_FULL` images or more have as many boxes as any, `LEAST_LIMIT` or
    more.

    Parameters
    ----------
    boxes : Boxes
        Of a file, on at least one image.

    Returns
    -------
    Boxes
        All of them where there is no limit; none where all lists are full.
    """
    n_boxes = np.bincount(boxes.image, minlength=len(boxes.images))
    full = n_boxes == n_boxes.max()
    if n_boxes.max() < LEAST_LIMIT or np.count_nonzero(full) < FEWEST_FULL:
        return boxes
    return boxes.where(~full[boxes.image])


def begin_apart(boxes: Boxes) -> bool:
    """Whether the lists begin at scores of their own, so that no threshold explains them.

    Where boxes are drawn independently over one threshold, a list of n boxes holds none of the
    lowest share q of all boxes with probability (1 - q)^n. More lists do so where each was cut: by
    `MOST_ERRORS` standard errors.

    Parameters
    ----------
    boxes : Boxes
        Of a file; at least one.
    """
    n_boxes = np.bincount(boxes.image, minlength=len(boxes.images))
    lowest = np.full(len(boxes.images), np.inf)  # score of each image
    np.minimum.at(lowest, boxes.image, boxes.scores)
    has_boxes = n_boxes > 0
    expected = (1 - LOW_SHARE) ** n_boxes[has_boxes]
    seen = np.count_nonzero(lowest[has_boxes] > np.quantile(boxes.scores, LOW_SHARE))
    error = math.sqrt(float(np.sum(expected * (1 - expected))))
    return bool(seen - expected.sum() > MOST_ERRORS * max(error, 1.0))


def log_chance(n: int, score: float, shares: Sequence[tuple[float, float]]) -> float:
    """Return the log of the probability that n scores of the fit are all over a score.

    Parameters
    ----------
    n : int
        How many scores.
    score : float
        In [0, 1].
    shares : sequence of tuple of float
        Thresholds, rising, each with the share of the scores of the fit over it. Between them
        the logarithm of the share is linear, beyond the last one it goes on as before it.

    Returns
    -------
    float
        Minus infinity without shares.

    Examples
    --------
    >>> known = [(.1, .5), (.2, .25)]
    >>> [round(math.exp(log_chance(1, score, known)), 3) for score in (.05, .1, .15, .3)]
    [0.707, 0.5, 0.354, 0.125]
    """
    if not shares:
        return -math.inf
    at, over = np.array([(0.0, 1.0), *shares]).T
    logs = np.log(np.maximum(over, TINY))
    if score <= at[-1]:
        return n * float(np.interp(score, at, logs))
    slope = (logs[-1] - logs[-2]) / (at[-1] - at[-2])
    return n * float(logs[-1] + slope * (score - at[-1]))


def another_scale(boxes: Boxes, floor: float, highest: float) -> Iterator[Notice]:
    """Warn where the lowest or the highest score of new predictions differs from that of the fit.

    Only the ends show a scale: between them, less confidence is what a worse site looks like.

    Parameters
    ----------
    boxes : Boxes
        New predictions.
    floor, highest : float
        Lowest and highest score in the fit; 0 for a highest that is not known.

    Yields
    ------
    Notice
        One for the lowest and one for the highest score, at most.
    """
    low, high = sorted((max(boxes.floor, NO_LOWER), max(floor, NO_LOWER)))
    another = high > (ANOTHER_FLOOR if len(boxes) >= ENOUGH_BOXES else OF_FEW_BOXES) * low
    if another and high > SCORE_THR:
        text = (
            f"the lowest score is {boxes.floor:.3g}, in the fit it was {floor:.3g}: "
            "export both with one threshold, or the scores do not compare"
        )
        yield Notice("another-threshold", text)
    elif another and len(boxes) >= ENOUGH_BOXES:
        text = (
            f"the lowest score is {boxes.floor:.2g}, in the fit it was {floor:.2g}: another "
            "threshold does no harm there, but scores on another scale (another temperature, "
            "another version of the detector) are misread"
        )
        yield Notice("another-threshold", text)
    highest_here = float(boxes.scores.max(initial=0.0))
    low, high = sorted((highest_here, highest))
    if highest and low < ANOTHER_TOP * high and len(boxes) >= ENOUGH_BOXES:
        text = (
            f"the highest score is {highest_here:.2f}, in the fit it was {highest:.2f}: "
            "unless the detector is sure of nothing in one of them, its scores are on "
            "another scale here and are misread"
        )
        yield Notice("another-scale", text)


def unseen_share(boxes: Boxes, fit_floor: float | None = None) -> float:
    r"""Return the share of the range of confidence that scores read and that is missing.

    Scores compare boxes over .3 with all over .05. Where an image's list begins at a confidence f,
    because low ones were cut off, only the best few were kept, or all confidences are inflated,

    .. math:: w = \min(\max((f - .05) / (.3 - .05), 0), 1)

    of that range is unseen. Images count by their boxes, as they do in average precision. Where
    the whole file begins at a score over .05 and up to `HIGHEST_FLOOR`, the tables of the panel
    know what that costs: the range begins there.

    Parameters
    ----------
    boxes : Boxes
        Of a file.
    fit_floor : float, optional
        Score from which on the fit has boxes, at least .05, where the list of every image
        of a file is cut: the range begins there, in place of at the start of the file.

    Returns
    -------
    float
        In [0, 1]: 0 for a full list, 1 where a file begins over `HIGHEST_FLOOR`, or more than
        half of the boxes over .3, of 20 or more, have the same confidence, so that it ranks
        nothing.
    """
    if not len(boxes):
        return 0.0
    confident = boxes.scores[over_threshold(boxes.scores, CONFIDENT)]
    most_common = np.unique(confident, return_counts=True)[1].max(initial=0)
    same = len(confident) >= ENOUGH_CONFIDENT and most_common / len(confident) > MOSTLY
    if same or boxes.floor > np.float32(HIGHEST_FLOOR):
        return 1.0
    start = max(SCORE_THR, boxes.floor) if fit_floor is None else fit_floor
    if start >= CONFIDENT:
        return 0.0
    n_boxes = np.bincount(boxes.image, minlength=len(boxes.images))
    lowest = np.full(len(boxes.images), np.inf)  # score of each image
    np.minimum.at(lowest, boxes.image, boxes.scores)
    cut = n_boxes > 0
    if fit_floor is None:
        cut &= n_boxes == n_boxes.max()
    first = np.where(cut, lowest, boxes.floor)
    shares = np.clip((first - start) / (CONFIDENT - start), 0, 1)
    return float(np.average(shares, weights=n_boxes))


def unseen_warning(share: float, *, difference: bool = False) -> tuple[Notice, ...]:
    """Warn of what an unseen share does to the interval; not under 5 %, which hardly moves it.

    Parameters
    ----------
    share : float
        See `unseen_share`.
    difference : bool
        Whether it is of the difference of mAP to another detector, which widens with their
        disagreement alone.
    """
    if share < NOTICEABLE:
        return ()
    effect = "is wider by that share of how far accuracies differ"
    if difference:
        effect = "of a difference is wider only where the boxes of both detectors disagree more"
    text = (
        f"{share:.0%} of the confidence that scores read (.05 to .3) is not in these "
        "predictions or in those of the fit: low scores or all but the best boxes were left "
        "out, or all scores are high or equal, or say little of which boxes are right. The "
        f"interval {effect}; export all boxes from .01 on"
    )
    return (Notice("low-scores-missing", text),)


def check_floor(
    boxes: Boxes, name: str, *, complete: bool = True, ran: bool = False
) -> tuple[Notice, ...]:
    """Warn of predictions whose low scores were left out.

    Parameters
    ----------
    boxes : Boxes
        Of a file.
    name : str
        Of the file, for messages.
    complete : bool
        Whether a file that begins over `HIGH_FLOOR` is refused.
    ran : bool
        Whether a detector was run here, in place of a file that was read.

    Raises
    ------
    InputError
        If a complete file begins over `HIGH_FLOOR`.
    """
    if not boxes.floor > LOW_FLOOR + LITTLE:
        return ()
    where, advice = "in the file", "export from .01 on"
    if ran:
        where, advice = "over it", "lower its score threshold (--cfg-options)"
    warning = Notice(
        "low-scores-missing",
        f"the lowest score in {name} is {boxes.floor:.3g}: boxes below it are missing, and "
        f"accuracy is that of the boxes {where}, which is lower than that of all, and known less "
        f"precisely; {advice}",
    )
    if boxes.floor > HIGH_FLOOR and complete:
        raise InputError(
            f"{warning[0].upper()}{warning[1:]} (Ultralytics: conf=0.01), or add "
            "--incomplete to go on."
        )
    return (warning,)


def check_limit(boxes: Boxes, name: str, *, ran: bool = False) -> tuple[Notice, ...]:
    """Warn of lists that were cut to the best few boxes of each image.

    Parameters
    ----------
    boxes : Boxes
        Of a file.
    name : str
        Of the file, for messages.
    ran : bool
        Whether the boxes are of a detector that was run here.

    Returns
    -------
    tuple of Notice
        One warning where a tenth of the images, and three or more, hold as many boxes as any,
        and these are fewer than the 100 that average precision counts.
    """
    n_boxes = np.bincount(boxes.image, minlength=len(boxes.images))
    most = int(n_boxes.max(initial=0))
    n_full = int(np.count_nonzero(n_boxes == most))
    few = n_full < max(FEWEST_LIMITED, MANY_LIMITED * len(n_boxes))
    if not len(boxes) or most >= MAX_DETECTIONS or few:
        return ()
    return (
        Notice(
            "boxes-limited",
            f"{n_full} of {len(n_boxes)} images in {name} have exactly "
            f"{counted(most, 'box', 'boxes')}, "
            f"the most of any: were only the best {most} kept? That lowers the "
            "accuracy that is measured and hides low scores; "
            + (
                "raise how many it keeps (--cfg-options)" if ran else "export all boxes from .01 on"
            ),
        ),
    )


class ConfidentBoxes(NamedTuple):
    """How the confident boxes of one set of images look: those with a score over `SURE`.

    Parameters
    ----------
    n : int
        How many there are.
    alone : float
        Share without a less confident box of their category on them, by an IoU of `COMPANION`.
    overlapping : float
        Share that overlap another confident box of their category, by an IoU of `OVERLAP`.
    """

    n: int
    alone: float
    overlapping: float

    @classmethod
    def of(cls, boxes: Boxes) -> ConfidentBoxes:
        """Look at the boxes of one set of images.

        Parameters
        ----------
        boxes : Boxes
            All of them, the less confident ones included.

        Returns
        -------
        ConfidentBoxes
            Without a confident box `n` is 0, `alone` 1 and `overlapping` 0.
        """
        sure = np.flatnonzero(over_threshold(boxes.scores, SURE))
        cell = boxes.image * len(boxes.categories) + boxes.label
        mine, partner, overlaps = overlapping_pairs(
            boxes.boxes[sure], cell[sure], boxes.boxes, cell, least=OVERLAP
        )
        mine = sure[mine]
        companion = (boxes.scores[partner] < boxes.scores[mine]) & (overlaps >= COMPANION)
        n_with_one = len(np.unique(mine[companion]))
        n_overlapping = len(np.unique(mine[(boxes.scores[partner] > SURE) & (partner != mine)]))
        n = max(len(sure), 1)
        return cls(len(sure), 1 - n_with_one / n, n_overlapping / n)


def unlike_fit(
    fit: Sequence[ConfidentBoxes], site: ConfidentBoxes, *, cut: bool = False
) -> tuple[Notice, ...]:
    """Warn of confident boxes unlike those of every labelled set of the fit.

    Around an object a detector mostly finds less confident boxes, too; a box where nothing is often
    stands alone, or lies across others.

    Parameters
    ----------
    fit : sequence of ConfidentBoxes
        Of each labelled set of the fit.
    site : ConfidentBoxes
        Of the new site.
    cut : bool
        Whether the boxes of the site begin at a higher score than those of the fit: with the less
        confident ones left out all stand alone, so that this says nothing.

    Returns
    -------
    tuple of Notice
        One warning at most; none where the site, or each set of the fit, has fewer than
        `FEWEST_SURE`.
    """
    large_sets = [labelled for labelled in fit if labelled.n >= FEWEST_SURE]
    if site.n < FEWEST_SURE or not large_sets:
        return ()
    signs = []
    alone = max(labelled.alone for labelled in large_sets)
    overlapping = max(labelled.overlapping for labelled in large_sets)
    if site.alone > alone + MOST_ALONE and not cut:
        signs.append(f"{site.alone:.0%} have no less confident box on them, {alone:.0%} in the fit")
    if site.overlapping > overlapping + MOST_OVERLAPPING:
        signs.append(f"{site.overlapping:.0%} overlap another, {overlapping:.0%} in the fit")
    if not signs:
        return ()
    text = (
        f"of {site.n} boxes over {SURE:g} {'; '.join(signs)}: does the detector find objects "
        "here that are not there? If so, estimates without labels are too high, and 20 "
        "labelled images give the right number (`autoeval label plan`)"
    )
    return (Notice("confident-boxes-unlike-fit", text),)


def overlaps_of(boxes: Boxes) -> tuple[int, ...]:
    """Count the pairs of boxes of one word in one image by their IoU.

    Parameters
    ----------
    boxes : Boxes
        Of a file. Of more than `MOST_BOXES` those of the first images are counted.

    Returns
    -------
    tuple of int
        Numbers of pairs in `CELLS` cells of equal width from an IoU of `PAIRED` to 1.
    """
    n_boxes = np.bincount(boxes.image, minlength=len(boxes.images))
    some = (np.cumsum(n_boxes) <= MOST_BOXES)[boxes.image]
    corners = boxes.boxes[some]
    cell = (boxes.image * len(boxes.categories) + boxes.label)[some]
    first, second, overlaps = overlapping_pairs(corners, cell, corners, cell, least=PAIRED)
    cells = np.histogram(overlaps[first < second], CELLS, (PAIRED, 1))[0]
    return tuple(cells.tolist())


def another_suppression(fit: Sequence[int], site: Sequence[int]) -> tuple[Notice, ...]:
    """Warn where boxes of one word overlap up to another IoU than in the fit.

    Non-maximum suppression leaves no two boxes of a category that overlap by more than its
    threshold, at whatever site; so a file in which many do is of another detector, or of other
    settings. A hundredth of the pairs may lie over the top. Nothing is said where neither file ends
    steeply there, as without suppression.

    Parameters
    ----------
    fit, site : sequence of int
        Counts of `overlaps_of`; nothing is said with fewer than `FEWEST_PAIRS` pairs.
    """
    counts = np.array([fit, site], float)
    if counts.ndim < 2 or counts.sum(axis=1).min() < FEWEST_PAIRS:
        return ()
    shares = counts / counts.sum(axis=1, keepdims=True)
    edges = np.linspace(PAIRED, 1, CELLS + 1)[1:]  # upper ones
    tops = edges[np.argmax(shares.cumsum(axis=1) >= 1 - TOP, axis=1)]
    over = [float(shares[1 - k, edges > tops[k] + NEAR_TOP].sum()) for k in (0, 1)]
    ends = (edges > tops[:, None] - EDGE) & (edges <= tops[:, None])
    near = (shares * ends).sum(axis=1)
    if max(over) <= MANY_PAIRS or near.max() < STEEP:
        return ()
    text = (
        f"boxes of one category overlap each other up to an IoU of {tops[1]:.2f}, in the fit up to "
        f"{tops[0]:.2f}: another detector, whose scores are misread, another threshold of "
        "non-maximum suppression, or boxes of several categories that are written as one?"
    )
    return (Notice("another-detector", text),)


@dataclass(frozen=True)
class Looks:
    """How a detector's files look.

    Parameters
    ----------
    categories : tuple of str
        Words of the detector.
    numbers : dict of str to str
        The word of each number of a category, where its files or the labels have numbers.
    floor : float
        Lowest score.
    most_boxes : int
        Most boxes on an image.
    highest : float
        Highest score; 0 where it is not known.
    unseen : float
        See `unseen_share`; of several labelled sets the mean.
    warnings : tuple of Notice
        What was found wrong in the fit, which every estimate repeats.
    widening : float
        How little its confidences say; see `autoeval.estimation.calibrating.ConfidenceCheck`.
    floors : tuple of tuple of float
        Thresholds that the fit is known at, too, rising, and the share of its boxes over each;
        see `autoeval.estimation.calibrating`.
    n_boxes : int
        Boxes that the floor is the lowest score of; 0 where it is not known.
    frequencies : dict of str to float
        How often each category was found; see `autoeval.io.predictions.category_words.frequencies`.
    kind : str
        What kind of numbers the files have; see `autoeval.io.predictions.category_words.kind_of`.
    confident : tuple of ConfidentBoxes
        How the confident boxes of each labelled set look.
    overlaps : tuple of int
        How much its boxes overlap, see `overlaps_of`; empty where they are in other words.
    detector : dict
        Its settings, where they are known; see `DetectorRun`.
    reference_floor : float
        Lowest score of the reference detector; 0 where it is not known or there is none.
    """

    categories: tuple[str, ...]
    numbers: dict[str, str] = field(default_factory=dict)
    floor: float = 0.0
    most_boxes: int = 0
    highest: float = 0.0
    unseen: float = 0.0
    warnings: tuple[Notice, ...] = ()
    widening: float = 0.0
    floors: tuple[tuple[float, float], ...] = ()
    n_boxes: int = 0
    frequencies: dict[str, float] = field(default_factory=dict)
    kind: str = ""
    confident: tuple[ConfidentBoxes, ...] = ()
    overlaps: tuple[int, ...] = ()
    detector: dict[str, Any] = field(default_factory=dict)
    reference_floor: float = 0.0

    @classmethod
    def of(cls, boxes: Boxes) -> Looks:
        """Look at the boxes of one file.

        Parameters
        ----------
        boxes : Boxes
            In the detector's words.

        Returns
        -------
        Looks
            Without `warnings`, `floors` and `overlaps`; the widening and the floor of a reference
            are 0.
        """
        return cls(
            boxes.categories,
            boxes.numbers,
            boxes.floor,
            int(np.bincount(boxes.image).max(initial=0)),
            float(boxes.scores.max(initial=0.0)),
            unseen_share(boxes),
            n_boxes=len(boxes),
            confident=(ConfidentBoxes.of(boxes),),
            frequencies=frequencies(boxes),
            kind=kind_of(boxes),
            detector=dict(boxes.run.settings) if boxes.run else {},
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON, which `from_dict` reads."""
        return {
            **{f.name: getattr(self, f.name) for f in fields(self)},
            "categories": list(self.categories),
            # A list of pairs: JSON with sorted keys would put 10 before 2, and their order counts.
            "numbers": [[number, word] for number, word in self.numbers.items()],
            "warnings": list(self.warnings),
            "floors": [list(floor_and_share) for floor_and_share in self.floors],
            "confident": [list(one) for one in self.confident],
            "overlaps": list(self.overlaps),
            "warning_codes": codes_of(self.warnings),
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Looks:
        """Read what `to_dict` wrote.

        Parameters
        ----------
        values : dict
            By name of the field, with ``warning_codes``.
        """
        plain: dict[str, Any] = {
            **{name: value for name, value in values.items() if name != "warning_codes"},
            "categories": tuple(values["categories"]),
            "warnings": notices_of(values["warning_codes"]),
            "floors": tuple((float(a), float(b)) for a, b in values["floors"]),
            "confident": tuple(ConfidentBoxes(*one) for one in values["confident"]),
            "overlaps": tuple(values["overlaps"]),
            "numbers": {str(k): word for k, word in values["numbers"]},
        }
        return cls(**plain)

    def compare(self, boxes: Boxes) -> tuple[ListStart, tuple[Notice, ...]]:
        """Compare new predictions with those of the fit: where they begin, and how they look.

        Parameters
        ----------
        boxes : Boxes
            New predictions, in the detector's words.

        Returns
        -------
        tuple of ListStart and tuple of Notice
            Why they begin where they do; warnings.

        Raises
        ------
        InputError
            If none of their words is one of the fit's, and as `start_of`.
        """
        used = [boxes.categories[k] for k in np.flatnonzero(np.bincount(boxes.label))]
        unknown = [word for word in used if word not in self.categories]
        if len(unknown) == len(used) > 0:
            raise InputError(
                f"These predictions are of another detector: it knows {listed(unknown, 10)}, the "
                f"one that the estimator was fitted for {listed(self.categories, 10)}."
            )
        notices: list[Notice] = []
        if unknown:
            text = f"categories that the fit did not know: {listed(unknown, 10)}: another detector?"
            notices.append(Notice("another-detector", text))
        start = self.start_of(boxes)
        code = text = ""
        if start.threshold:
            code = "low-scores-missing"
            text = (
                f"boxes under {start.threshold:g} are taken to have been left out, and the "
                "estimate is of the boxes in this file; export from .01 on (Ultralytics: "
                "conf=0.01) for one of all"
            )
        elif start.cut:
            code = "boxes-limited"
            text = (
                "each image lists its best boxes only, down to a score of its own. The interval of "
                "an estimate is wider by what is missing; export all boxes from .01 on"
            )
        elif start.unlikely:
            code = "another-threshold"
            text = (
                f"by chance {counted(len(boxes), 'box', 'boxes')} would hardly begin so high. The "
                "interval of an estimate is wider by what may be missing; check that both were "
                "exported with one threshold"
            )
        if code:
            begins = f"the lowest score is {boxes.floor:.3g}, in the fit it was {self.floor:.3g}"
            notices.append(Notice(code, f"{begins}: {text}"))
        plain = start == ListStart()
        floor = self.floor if plain else start.threshold or boxes.floor
        notices += another_scale(boxes, floor, self.highest)
        most = int(np.bincount(boxes.image).max(initial=0))
        if most > 2 * self.most_boxes:
            text = (
                f"up to {most} boxes an image, in the fit up to {self.most_boxes}: "
                "another limit, or another detector?"
            )
            notices.append(Notice("another-detector", text))
        if LEAST_LIMIT <= most < self.most_boxes and code != "boxes-limited":
            notices += check_limit(boxes, "the file")
        if plain and self.overlaps and boxes.floor <= np.float32(HIGHEST_LOW):
            notices += another_suppression(self.overlaps, overlaps_of(boxes))
        return start, tuple(notices)

    def start_of(self, boxes: Boxes) -> ListStart:
        """Find out why new predictions begin where they do.

        The first that holds of: as those of the fit (within `SAME_FLOOR`); cut lists, each of which
        begins at a score of its own; just over one of `floors`; cut lists, where nearly all are
        full; few boxes, by chance; nearly as those of the fit (within `MOST_ABOVE`); few boxes, not
        by chance.

        Parameters
        ----------
        boxes : Boxes
            New predictions.

        Raises
        ------
        InputError
            If they begin higher than those of the fit, and nothing explains it but another scale of
            scores.
        """
        if not len(boxes) or not boxes.floor > self.floor + SAME_FLOOR:
            return ListStart()
        shown = open_lists(boxes)
        few_shown = len(shown) < min(len(boxes), ENOUGH_BOXES)  # nearly all lists are full
        shown = shown if len(shown) else boxes
        cut = begin_apart(shown)
        within = min(max(FEW / len(shown), NEAREST), FARTHEST)
        for floor, _ in () if cut else reversed(self.floors):
            by_chance = log_chance(len(shown), floor, self.floors)  # that no box is under it
            if -ROUNDING < shown.floor - floor <= within and by_chance < math.log(SURELY_NOT):
                return ListStart(floor)
        if cut or few_shown:
            return ListStart(cut=True)
        n_images = len(np.unique(shown.image))  # boxes of one image are dependent
        if log_chance(n_images, shown.floor, self.floors) >= math.log(SURELY_NOT):
            return ListStart(by_chance=True)
        if boxes.floor <= self.floor + MOST_ABOVE:
            return ListStart()
        if len(boxes) < ENOUGH_BOXES:
            return ListStart(unlikely=True)
        floors = listed([f"{floor:g}" for floor, _ in self.floors], most=12) or "none above it"
        raise InputError(
            f"The lowest score is {boxes.floor:.3g}, in the fit it was {self.floor:.3g}: the "
            f"scores do not compare (thresholds that this fit knows: {floors}). Export both from "
            f".01 on (Ultralytics: conf=0.01), or leave out boxes below {boxes.floor:.2g} of the "
            "labelled images, too, and fit again."
        )


def joined_statistics(parts: Sequence[Looks]) -> Looks:
    """Describe the files of several labelled sets together; numbers count as far as they agree.

    Parameters
    ----------
    parts : sequence of Looks
        Of each labelled set; at least one.

    Returns
    -------
    Looks
        Without `warnings`, `widening` and `floors`. The floor is the lowest.

    Raises
    ------
    InputError
        If the sets are known to be of several detectors.
    """
    words = dict.fromkeys(word for part in parts for word in part.categories)
    numbers = {k: word for part in parts for k, word in part.numbers.items()}
    # The place of a number counts: that of the sets with all of them, where they have one order.
    orders = {tuple(part.numbers) for part in parts if len(part.numbers) == len(numbers)}
    in_order = orders.pop() if len(orders) == 1 else sorted(numbers, key=natural_order)
    # Up to the first that means two words: without it those behind it had other places.
    agree = [all(part.numbers.get(k, numbers[k]) == numbers[k] for part in parts) for k in in_order]
    n_agreed = agree.index(False) if False in agree else len(agree)
    numbers = {k: numbers[k] for k in in_order[:n_agreed]}
    totals: dict[str, float] = {}
    for part in parts:
        for word, total in part.frequencies.items():
            totals[word] = totals.get(word, 0.0) + total
    kinds = {part.kind for part in parts}
    # the settings of the detector of all labelled sets; none where one is not known
    detectors = [part.detector for part in parts if part.detector]
    for detector in detectors[1:]:
        settings = detectors[0].keys() | detector.keys()
        different = sorted(
            name for name in settings if detectors[0].get(name) != detector.get(name)
        )
        if different:
            raise InputError(
                "The boxes of the labelled sets are of several detectors, which differ in "
                f"{listed(different, 5)}: detect objects on all sets with one, or fit each alone."
            )
    return Looks(
        tuple(words),
        numbers,
        float(np.fmin.reduce([part.floor for part in parts])),  # NaN of a set without a box
        max(part.most_boxes for part in parts),
        max(part.highest for part in parts),
        sum(part.unseen for part in parts) / len(parts),
        n_boxes=sum(part.n_boxes for part in parts),
        confident=tuple(one for part in parts for one in part.confident),
        overlaps=tuple(
            sum(counts) for counts in zip(*(part.overlaps for part in parts), strict=True)
        )
        if all(part.overlaps for part in parts)
        else (),
        frequencies=totals,
        kind=kinds.pop() if len(kinds) == 1 else "",
        detector=detectors[0] if detectors and len(detectors) == len(parts) else {},
        reference_floor=min(part.reference_floor for part in parts),
    )
