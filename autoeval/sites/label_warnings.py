"""What boxes say about labels: of other images, of resized ones, displaced, missing, exchanged.

Readers of labelled sets and estimates with labels call `label_warnings`, which refuses labels of
other images and warns of the rest; `never_predicted` compares words where predictions are read, and
comparisons (`autoeval.comparison`) call the parts for the boxes of several detectors. Each check is
a function of boxes and labels on the same images. docs/results/label_warnings.md has how often each
alarm is right and how often it is false.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from autoeval.accuracy.coco_evaluation import AT_HALF
from autoeval.accuracy.measures import RankedDetections
from autoeval.boxes import BEYOND, Boxes, over_threshold, overlapping_pairs
from autoeval.detections import CONFIDENT
from autoeval.errors import InputError
from autoeval.io.labels.content import EVERYWHERE
from autoeval.io.predictions.covered_images import LOW_FLOOR
from autoeval.words import Notice, listed

FEWEST_LABELLED = 10  # labelled images with an object
FEWEST_SUREST = 10  # confident boxes on them
LEAST_IOU = 0.5  # from which a box lies on a label, in whatever category
FEW_RIGHT = 0.3  # share of the surest boxes on labels, over which they are of the same images
MOST_EXCHANGES = 20  # other orders of the images with which theirs is compared
SAME_SIZE = 0.02  # logarithm of the ratio of two sides: 2 %, as rounding makes when images shrink
MOST_IMAGES = 0.5  # share of images of another size, over which labels are refused
CONTRADICTED = frozenset(
    {"labels-of-other-size", "labels-elsewhere", "labels-displaced", "words-exchanged"}
)
"""Codes of warnings that labels may not be those of the boxes: no accuracy is reached with them."""
SURE = 0.5  # confidence over which boxes are compared with labels
TOUCHING = 0.1  # IoU under which a box and a label do not touch
SHARE_OF_OBJECTS = 0.25  # as many of the surest boxes as this share of the labelled objects
MANY_UNLABELLED = 0.125  # share of the surest boxes that touch no label
MANY_ELSEWHERE = 0.07  # share of pairs of image and category
FEWEST_ODD = 5  # fewer may be single mistakes
ON_LABEL = 0.5  # IoU of a box and the label that its word is compared with
FEWEST_EXCHANGED = 20  # boxes on labels, under which words are not compared
EXAMPLES = 3  # that a message names
SAME_OBJECT = 0.9  # IoU from which two labels of a category mark one object
MANY_TWICE = 0.02  # share of labels that lie on another one
MANY_BEYOND = 0.1  # share of labels that end beyond their image
FEWEST_OF_WORD = 8  # boxes of a word that the other side lacks, for it to be named
FEWEST_CONFIDENT = 20  # boxes, for confidence to be compared with precision
TOO_CONFIDENT = 0.1  # mean confidence less precision; beyond two standard errors, too
FEWEST_PAIRS = 10  # of box and label, for their offset and sizes to be measured
MOST_PIXELS = 2.0  # median offset along an axis that is usual
MOST_ERRORS = 5.0  # standard errors of the median
MOST_RESIZED = 0.15  # logarithm
# Images with several labelled objects and no box; see `unseen_by_labels`.
SEVERAL = 2
FEW_OF_OBJECTS = 1 / 3  # as many boxes as this share of the objects, or one
FEWER_WITH_FEW = 3
MANY_WITHOUT = 0.05
FEWEST_IMAGES = 5


def check_labels(truth: Boxes, detectors: Sequence[Boxes], name: str = "") -> tuple[Notice, ...]:
    """Raise `InputError` for labels that the boxes show to be of other images, or of resized ones.

    Parameters
    ----------
    truth : Boxes
        The labels.
    detectors : sequence of Boxes
        Boxes of each detector on the same images, in the same order. One detector whose boxes lie
        on the labels is enough to show that they belong together.
    name : str
        Of the labels, where there are several.

    Returns
    -------
    tuple of Notice
        A warning where the sizes of images differ and the boxes lie on the labels nonetheless.

    Raises
    ------
    InputError
        See `of_other_images` and `of_other_size`.
    """
    about = f"{name}: " if name else ""
    over_image = truth.crowd & (truth.boxes[:, 0] <= EVERYWHERE[0])
    if over_image.any():  # of categories that nobody looked for there, which would hold every box
        n_categories = len(truth.categories)
        unchecked = (truth.image * n_categories + truth.label)[over_image]
        detectors = [
            boxes.where(~np.isin(boxes.image * n_categories + boxes.label, unchecked))
            for boxes in detectors
        ]
        truth = truth.where(~over_image)
    by_detector = (of_other_size(boxes, truth) for boxes in detectors)
    warnings = next(filter(None, by_detector), ())
    if warnings and warnings[0].severity == "refused":
        images = np.unique(truth.image[~truth.crowd])
        shown = [_surest(boxes, truth, over=CONFIDENT, images=images) for boxes in detectors]
        if not any(_n_on_labels(b, truth, images) > FEW_RIGHT * len(b) for b in shown):
            raise InputError(f"{about}{warnings[0]}.")
    refused = [of_other_images(boxes, truth) for boxes in detectors]
    if all(refused):
        raise InputError(f"{about}{refused[0][0]}.{other_readings(detectors[0])}")
    return tuple(Notice(notice.code, str(notice)) for notice in warnings)


def other_readings(boxes: Boxes) -> str:
    """Return how the images of boxes might be read otherwise, as sentences; mostly empty.

    Parameters
    ----------
    boxes : Boxes
        With what was noted when their images were matched.
    """
    codes = ("image-numbers-ambiguous", "images-matched")
    return "".join(f" Note: {notice}." for notice in boxes.left_out if notice.code in codes)


def contradicted(warnings: Iterable[Notice]) -> bool:
    """Whether labels may not be those of the boxes.

    Parameters
    ----------
    warnings : iterable of Notice
        Of labels; those with a code of `CONTRADICTED` say so.
    """
    return any(warning.code in CONTRADICTED for warning in warnings)


def of_other_images(boxes: Boxes, truth: Boxes) -> tuple[Notice, ...]:
    """Compare how often boxes lie on labels of their image and on those of another one.

    Counted are the most confident boxes over .3, as many as there are objects on the images that
    hold one, whatever their category, by an IoU of .5 with any label. Labels are of other images
    where 30 % or fewer are on one, and no more than at the best of 20 exchanges of the
    labels between images. docs/results/label_warnings.md has how often. With boxes of another
    detector as labels so it is with less than one in a hundred pairs of detectors at real sites,
    with none in both directions, and with more than half where images are exchanged (a test in
    `tests/test_real_predictions.py`).

    Parameters
    ----------
    boxes, truth : Boxes
        Of a detector, and labels, on the same images; or boxes of another detector, of which those
        over .3 stand for labels, whose score is 1.

    Returns
    -------
    tuple of Notice
        One that refuses, or none; none with fewer than `FEWEST_LABELLED` labelled images or
        `FEWEST_SUREST` such boxes.
    """
    truth = truth.where(over_threshold(truth.scores, CONFIDENT))
    images = np.unique(truth.image[~truth.crowd])
    sure = _surest(boxes, truth, over=CONFIDENT, images=images)
    n, n_right = len(sure), _n_on_labels(sure, truth, images)
    if len(images) < FEWEST_LABELLED or n < FEWEST_SUREST or n_right > FEW_RIGHT * n:
        return ()
    turns = range(1, min(MOST_EXCHANGES, len(images) - 1) + 1)
    exchanged = [_n_on_labels(sure, truth, images, turn) for turn in turns]
    if n_right > max(exchanged):
        return ()
    text = (
        f"Labels and boxes do not belong together: of the {n} most confident boxes on "
        f"{len(images)} labelled images {n_right} lie on a labelled object (IoU .5), and "
        f"up to {max(exchanged)} do when images exchange their labels. Are the labels of these "
        "images, in pixels of them at this size, and do image ids or file names mean the same "
        "in both? If so, the detector finds nothing of what is labelled here, and its accuracy "
        "is near 0"
    )
    return (Notice("labels-of-other-images", text, severity="refused"),)


def reference_elsewhere(boxes: Boxes, reference: Boxes) -> tuple[Notice, ...]:
    """Warn where boxes lie no more often on those of a reference than on those of other images.

    Parameters
    ----------
    boxes, reference : Boxes
        Of a detector and of the reference detector, on the same images; see `of_other_images`.

    Returns
    -------
    tuple of Notice
        One warning, or none.
    """
    if not of_other_images(boxes, reference):
        return ()
    text = (
        "boxes of both detectors lie on each other no more often than on those of other "
        "images: are they of the same images, in pixels of one size, and do image ids mean the "
        "same? Else the estimate is too low"
    )
    return (Notice("reference-elsewhere", text),)


def of_other_size(boxes: Boxes, truth: Boxes) -> tuple[Notice, ...]:
    """Compare the sizes of images that labels and boxes state, where both are known.

    Parameters
    ----------
    boxes, truth : Boxes
        Of a detector, and labels, on the same images.

    Returns
    -------
    tuple of Notice
        One where sides differ by more than 2 % (as a logarithm) in some image, which refuses where
        that is so in more than half of the images.
    """
    sized = [
        (labelled.file_name, labelled.size, image.size)
        for labelled, image in zip(truth.images, boxes.images, strict=True)
        if labelled.size and image.size
    ]
    different = [
        (name, stated, size)
        for name, stated, size in sized
        if any(abs(math.log(a / b)) > SAME_SIZE for a, b in zip(stated, size, strict=True))
    ]
    if not different:
        return ()
    ratios = Counter(round(stated[1] / size[1], 2) for _, stated, size in different)
    (ratio, n_so), *_ = ratios.most_common(1)
    examples = [
        f"{name}: {stated[1]} x {stated[0]}, not {size[1]} x {size[0]}"
        for name, stated, size in different[:3]
    ]
    same = f", {ratio:g} times as wide" if n_so == len(different) else ""
    text = (
        f"In {len(different)} of {len(sized)} labelled images the labels state another size "
        f"than that of the image{same} ({listed(examples)}). Expected labels in pixels of the "
        "images that the detector saw: multiply their boxes by the ratio of the sizes, or "
        "correct the width and height of the images"
    )
    return (
        Notice(
            "labels-of-other-size",
            text,
            severity="refused" if len(different) > MOST_IMAGES * len(sized) else "warning",
        ),
    )


def _n_on_labels(sure: Boxes, truth: Boxes, images: np.ndarray, turn: int = 0) -> int:
    """Count boxes on labels of their image, or on those of the image `turn` places before.

    Parameters
    ----------
    sure : Boxes
        That are counted, on images that are among `images`.
    truth : Boxes
        The labels, whatever their category.
    images : ndarray of shape (k,), int64
        Positions of labelled images, rising.
    turn : int
        By how many places images exchange their labels.
    """
    place = np.full(len(truth.images), -1)
    place[images] = (np.arange(len(images)) + turn) % len(images)
    kept = truth.where(np.isin(truth.image, images))
    on_label, _, _ = overlapping_pairs(
        sure.boxes,
        np.searchsorted(images, sure.image),
        kept.boxes,
        place[kept.image],
        least=LEAST_IOU,
        crowd=kept.crowd,
    )
    return len(np.unique(on_label))


def exchanged_words(boxes: Boxes, truth: Boxes) -> tuple[Notice, ...]:
    """Find words that stand for each other, as where category numbers count from another number.

    Boxes over .5 that lie on labels by an IoU of .5: one warning where by the given words less than
    half lie on a label of their own, and more than half do with one other word for each word, no
    word twice, each box by the words of the other boxes. Where half or more are right, the words
    that are mostly wrong are tested among each other: two rare words may be exchanged next to a
    frequent one. A majority on either side is no measured figure; docs/results/label_warnings.md
    counts the alarms. At least two words, or a single mistake of the detector would do.

    Parameters
    ----------
    boxes, truth : Boxes
        Of a detector, and labels, on the same images and in words that may differ.
    """
    sure, single = boxes.where(over_threshold(boxes.scores, SURE)), truth.where(~truth.crowd)
    rows, columns, _ = overlapping_pairs(
        sure.boxes, sure.image, single.boxes, single.image, least=ON_LABEL
    )
    same_word = sure.label[rows] == single.label[columns]
    on_label, right = np.unique(rows), np.unique(rows[same_word])
    if len(right) >= len(on_label) / 2:
        n_words = max(len(boxes.categories), len(truth.categories))
        n_on = np.bincount(sure.label[on_label], minlength=n_words)
        n_right = np.bincount(sure.label[right], minlength=n_words)
        mostly_wrong = n_right <= n_on / 2
        on_label = on_label[mostly_wrong[sure.label[on_label]]]
        right = right[mostly_wrong[sure.label[right]]]
        among = mostly_wrong[sure.label[rows]] & mostly_wrong[single.label[columns]]
        rows, columns = rows[among], columns[among]
    if len(on_label) < FEWEST_EXCHANGED:
        return ()
    wrong = ~np.isin(rows, right)
    counts = np.zeros((len(boxes.categories), len(truth.categories)), int)
    np.add.at(counts, (sure.label[rows[wrong]], single.label[columns[wrong]]), 1)
    from scipy.optimize import linear_sum_assignment  # a fifth of a second that estimates save

    box_words, label_words = linear_sum_assignment(counts, maximize=True)
    n_boxes = counts[box_words, label_words]
    explained = np.maximum(n_boxes - 1, 0).sum()  # a box does not count for its own word
    if np.count_nonzero(n_boxes) < 2 or explained <= len(on_label) / 2:
        return ()
    often = np.argsort(-n_boxes, kind="stable")[:EXAMPLES]
    pairs = [
        f"{boxes.categories[box_words[k]]} on {truth.categories[label_words[k]]}"
        for k in often
        if n_boxes[k]
    ]
    text = (
        f"of {len(on_label)} confident boxes on labelled objects {len(right)} have the word of "
        f"the label, and most others lie on one other word each: {', '.join(pairs)}. Do "
        "category numbers count from 0 in one file and from 1 in the other? Write the word of "
        "each box as 'category', or give the words with --names FILE"
    )
    return (Notice("words-exchanged", text),)


def unlabelled_objects(boxes: Boxes, truth: Boxes) -> tuple[Notice, ...]:
    """Count the most confident boxes, a quarter as many as labelled objects, that are on no label.

    One warning where more than an eighth of those over .5, and five or more, overlap no label of
    any category by an IoU of .1.

    Parameters
    ----------
    boxes, truth : Boxes
        Of a detector, and labels, on the same images.
    """
    sure = _surest(boxes, truth, SHARE_OF_OBJECTS)
    rows, _, _ = overlapping_pairs(
        sure.boxes,
        sure.image,
        truth.boxes,
        truth.image,
        least=TOUCHING,
        crowd=truth.crowd,
    )
    n_odd = len(sure) - len(np.unique(rows))
    if n_odd < FEWEST_ODD or n_odd <= MANY_UNLABELLED * len(sure):
        return ()
    text = (
        f"{n_odd} of the {len(sure)} most confident boxes are on no labelled object: are "
        "objects left unlabelled, or are the labels of other images? If not, the detector is "
        "wrong here where it is surest"
    )
    return (Notice("objects-unlabelled", text),)


def labels_elsewhere(boxes: Boxes, truth: Boxes) -> tuple[Notice, ...]:
    """Count images with confident boxes and labels of one category, where no box is on a label.

    One warning where they are more than 7 %, and five or more. Confident are the boxes over .5, at
    most half as many as there are labelled objects. A label of another category counts, too: where
    kinds of car are distinguished, a detector often takes one for another.

    Parameters
    ----------
    boxes, truth : Boxes
        Of a detector, and labels, on the same images and in the same categories.
    """
    sure = _surest(boxes, truth, 0.5)
    n_categories = len(truth.categories)
    cell = sure.image * n_categories + sure.label
    labelled = truth.image * n_categories + truth.label
    rows, _, _ = overlapping_pairs(
        sure.boxes, sure.image, truth.boxes, truth.image, least=np.finfo(float).tiny
    )
    common_cells = np.intersect1d(cell, labelled[~truth.crowd])
    n_odd = len(np.setdiff1d(common_cells, cell[rows]))
    if n_odd < FEWEST_ODD or n_odd <= MANY_ELSEWHERE * len(common_cells):
        return ()
    units = "images" if n_categories == 1 else "pairs of image and category"
    text = (
        f"in {n_odd} of {len(common_cells)} {units} with labels and confident boxes, no box "
        "overlaps a label: do some labels belong to other images, or are their boxes drawn "
        "elsewhere?"
    )
    return (Notice("labels-elsewhere", text),)


def unseen_by_labels(boxes: Boxes, truth: Boxes) -> tuple[Notice, ...]:
    """Count images with several labelled objects and no box, which the detector may not have seen.

    Of detectors that were run on all images, hardly more have no box than have a few, as many as a
    third of their objects or one. Of the images with `SEVERAL` objects or more, one warning where
    those without a box are at least five and exceed three times those with a few by more than a
    twentieth of all, and where those with many boxes are at least five and as many as those with a
    few. None where the scores begin at .05 or lower, for then no labels are needed, see
    `unseen_images`, or where the file itself lists the images. Of real sets of four detectors, cut
    at four scores, less than one in a hundred that were run on all images are warned of, and two
    thirds of those that were run on half of them (a test in `tests/sites/test_label_warnings.py`).

    Parameters
    ----------
    boxes, truth : Boxes
        Of a detector, and labels, on the same images.
    """
    if boxes.lists_images or not boxes.floor > np.float32(LOW_FLOOR):
        return ()
    n_true = np.bincount(truth.image[~truth.crowd], minlength=len(truth.images))
    several = n_true >= SEVERAL
    n_boxes, n_true = np.bincount(boxes.image, minlength=len(n_true))[several], n_true[several]
    n_none = int(np.count_nonzero(n_boxes == 0))
    has_few = (n_boxes > 0) & (n_boxes <= np.maximum(1, FEW_OF_OBJECTS * n_true))
    n_few, n = int(has_few.sum()), len(n_boxes)
    n_many = n - n_none - n_few
    if n_none < FEWEST_IMAGES or n_none - FEWER_WITH_FEW * n_few <= MANY_WITHOUT * n:
        return ()
    if n_many < max(n_few, FEWEST_IMAGES):
        return ()
    text = (
        f"{n_none} of {n} images with {SEVERAL} labelled objects or more have no box, "
        f"{n_few} have few, and {n_many} have many: was the detector run on all of them? Their "
        "objects count as missed. If it was not, give a list (--images) and labels of the "
        "images that it has seen"
    )
    return (Notice("images-not-covered", text),)


def shifted_labels(boxes: Boxes, truth: Boxes) -> tuple[Notice, ...]:
    r"""Measure the offset of labelled boxes from the detector's.

    Boxes over .3 and labels of one image and category are paired where each is the other's best
    overlap, by an IoU of .1 or more. The median offset of their centres has the standard error

    .. math:: 1.25 \, s / \sqrt n, \qquad s = 1.48 \operatorname{median} |o - \tilde o|

    with n offsets o, in pixels, and their median. One warning where it is over 2 pixels along an
    axis and over 5 standard errors, of 10 pairs or more.

    Parameters
    ----------
    boxes, truth : Boxes
        Of a detector, and labels, on the same images and in the same categories.
    """
    detected, labelled = _paired(boxes, truth)
    difference, n_pairs = labelled - detected, len(detected)
    # from the centre of the box to that of the label
    offset = (difference[:, :2] + difference[:, 2:]) / 2
    if n_pairs < FEWEST_PAIRS:
        return ()
    median = np.median(offset, axis=0)
    deviation = 1.4826 * np.median(np.abs(offset - median), axis=0)
    error = 1.2533 * deviation / np.sqrt(n_pairs)
    odd = (np.abs(median) > MOST_PIXELS) & (np.abs(median) > MOST_ERRORS * error)
    if not odd.any():
        return ()
    right, down = median
    text = (
        f"labelled boxes lie {right:+z.1f} px (to the right) and {down:+z.1f} px (down) of the "
        f"detector's, median of {n_pairs} pairs: are labels and predictions of images of one "
        "size and crop?"
    )
    return (Notice("labels-displaced", text),)


def resized_labels(boxes: Boxes, truth: Boxes) -> tuple[Notice, ...]:
    """Measure how much tighter or looser labelled boxes are drawn than the detector's.

    Of the pairs of `shifted_labels`, the medians of the ratios of widths and of heights. One
    warning where both sides of the labels are shorter, or both longer, by a logarithm over .15 and
    over 5 standard errors, of 10 pairs or more. docs/results/label_warnings.md has how often.

    Parameters
    ----------
    boxes, truth : Boxes
        Of a detector, and labels, on the same images and in the same categories.
    """
    detected, labelled = _paired(boxes, truth)
    if len(detected) < FEWEST_PAIRS:
        return ()
    sides = np.maximum(detected[:, 2:] - detected[:, :2], 1e-9)
    labelled_sides = np.maximum(labelled[:, 2:] - labelled[:, :2], 1e-9)
    logs = np.log(labelled_sides / sides)
    median = np.median(logs, axis=0)
    deviation = 1.4826 * np.median(np.abs(logs - median), axis=0)
    error = 1.2533 * deviation / np.sqrt(len(logs))
    odd = (np.abs(median) > MOST_RESIZED) & (np.abs(median) > MOST_ERRORS * error)
    if not odd.all() or median.prod() < 0:
        return ()
    wide, high = np.exp(median)
    text = (
        f"labelled boxes are {wide:.2f} times as wide and {high:.2f} times as high as the "
        f"detector's, median of {len(logs)} pairs: are objects labelled "
        f"{'tighter' if wide < 1 else 'looser'} than where the detector was trained? A fit "
        "then expects such an accuracy at other sites, too"
    )
    return (Notice("labels-resized", text),)


def _paired(boxes: Boxes, truth: Boxes) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of boxes over .3 and of labels that are each other's best overlap.

    Of one image and category, by an IoU of .1 or more; both are (n, 4), pixels.
    """
    sure, single = boxes.where(over_threshold(boxes.scores, CONFIDENT)), truth.where(~truth.crowd)
    cell = sure.image * len(truth.categories) + sure.label
    labelled = single.image * len(truth.categories) + single.label
    rows, columns, overlaps = overlapping_pairs(
        sure.boxes, cell, single.boxes, labelled, least=TOUCHING
    )
    best_of_row, best_of_column = np.zeros(len(sure)), np.zeros(len(single))
    np.maximum.at(best_of_row, rows, overlaps)
    np.maximum.at(best_of_column, columns, overlaps)
    mutual = (overlaps == best_of_row[rows]) & (overlaps == best_of_column[columns])
    return sure.boxes[rows[mutual]], single.boxes[columns[mutual]]


def _surest(
    boxes: Boxes,
    truth: Boxes,
    share: float = 1.0,
    *,
    over: float = SURE,
    images: np.ndarray | None = None,
) -> Boxes:
    """Keep the most confident boxes over a score: at most a share of the number of objects.

    boxes, truth: of a detector, and labels, on the same images
    share: of the number of objects that are labelled, crowds left out
    over: boxes with a higher score are confident
    images (k,): positions of the images whose boxes count; by default all
    Returned: by descending score
    """
    sure = over_threshold(boxes.scores, over)
    if images is not None:
        sure &= np.isin(boxes.image, images)
    rows, most = np.flatnonzero(sure), int(share * np.count_nonzero(~truth.crowd))
    return boxes.where(rows[np.argsort(-boxes.scores[rows], kind="stable")[:most]])


def label_warnings(
    boxes: Boxes, truth: Boxes, ranked: Sequence[RankedDetections], name: str = ""
) -> tuple[Notice, ...]:
    """Return all warnings of labels that the boxes on their images, or other labels, contradict.

    Parameters
    ----------
    boxes, truth : Boxes
        Of a detector, and labels, on the same images and in the same categories.
    ranked : sequence of RankedDetections
        What `rank_categories` returns for them.
    name : str
        Of the labels, where there are several.

    Raises
    ------
    InputError
        For labels of other images; see `check_labels`.
    """
    return (
        *check_labels(truth, [boxes], name),
        *contradicted_by_boxes(boxes, truth, ranked),
        *odd_labels(truth),
    )


def contradicted_by_boxes(
    boxes: Boxes, truth: Boxes, ranked: Sequence[RankedDetections]
) -> tuple[Notice, ...]:
    """Return the warnings of labels that a detector's boxes contradict.

    Parameters
    ----------
    boxes, truth, ranked
        As `label_warnings` takes them.
    """
    return (
        *exchanged_words(boxes, truth),
        *overconfident(ranked),
        *unlabelled_objects(boxes, truth),
        *labels_elsewhere(boxes, truth),
        *unseen_by_labels(boxes, truth),
        *shifted_labels(boxes, truth),
        *resized_labels(boxes, truth),
    )


def odd_labels(truth: Boxes) -> tuple[Notice, ...]:
    """Warn of labels that are odd by themselves: objects labelled twice, boxes beyond images.

    Labelled boxes are counted that overlap another of their image and category by an IoU of .9,
    and those that end more than 2 % beyond the sides of their image. One warning each where they
    are more than 2 %, and more than 10 %: trackers draw a few objects beyond the image.

    Parameters
    ----------
    truth : Boxes
        The labels.
    """
    odd = list[Notice]()
    single = truth.where(~truth.crowd)
    cell = single.image * len(single.categories) + single.label
    rows, columns, _ = overlapping_pairs(single.boxes, cell, single.boxes, cell, least=SAME_OBJECT)
    twice = len(np.unique(rows[rows != columns]))
    if twice > MANY_TWICE * len(single):
        text = (
            f"{twice} of {len(single)} labelled boxes lie on another one of their category: is "
            "each object labelled once? Those that are labelled twice count as missed"
        )
        odd.append(Notice("labelled-twice", text))
    sides = single.sizes[single.image, ::-1]  # NaN, which nothing exceeds, where not known
    ends = np.maximum(single.boxes[:, 2:] - sides, -single.boxes[:, :2])
    beyond = int((ends > (BEYOND - 1) * sides).any(axis=1).sum())
    if beyond > MANY_BEYOND * len(single):
        text = (
            f"{beyond} of {len(single)} labelled boxes reach more than 2 % beyond their images: "
            "are some of them corners [x1, y1, x2, y2], or in pixels of resized images?"
        )
        odd.append(Notice("boxes-beyond-images", text))
    return tuple(odd)


def never_predicted(
    boxes: Boxes, truth: Boxes, words: Mapping[str, str] | None = None
) -> tuple[list[str], tuple[Notice, ...]]:
    """Find the categories with eight labelled boxes or more of which no box is found.

    In 152 sets with predictions of four detectors there was none that the detector knew: with low
    scores something is always found.

    Parameters
    ----------
    boxes : Boxes
        In the detector's own words.
    truth : Boxes
        Labels of the same images, in words of their own.
    words : mapping of str to str, optional
        Category of each word of the detector, where somebody named them: these categories count
        in any case. By default each word is its own.

    Returns
    -------
    tuple of list of str and tuple of Notice
        The names of these categories; a warning where there are some, with the words that the
        predictions have instead.
    """
    single = truth.label[~truth.crowd]
    n_labelled = np.bincount(single, minlength=len(truth.categories)).tolist()
    n_found = np.bincount(boxes.label, minlength=len(boxes.categories)).tolist()
    predicted_words = {word for word, n in zip(boxes.categories, n_found, strict=True) if n}
    if boxes.run is not None:  # a word that the detector knows, and never finds
        predicted_words |= {*boxes.run.categories}
    predicted_names = (
        {words.get(word, "") for word in predicted_words} if words else predicted_words
    )
    lost = {
        name: f"{name} ({n} boxes)"
        for name, n in zip(truth.categories, n_labelled, strict=True)
        if n >= FEWEST_OF_WORD and name not in predicted_names
    }
    if not lost:
        return [], ()
    called = listed(lost.values())
    if words:
        return list(lost), (
            Notice(
                "category-never-predicted",
                f"labelled, but no box of the predictions has a word of: {called}. The average "
                "precision is 0: check the words that the detector has for it",
            ),
        )
    unknown = [
        f"{word} ({n} boxes)"
        for word, n in zip(boxes.categories, n_found, strict=True)
        if n >= FEWEST_OF_WORD and word not in truth.categories
    ]
    if not unknown:
        return list(lost), (
            Notice(
                "category-never-predicted",
                f"labelled, but no box of the predictions has the word: {called}. They are "
                "left out: does the detector not know them, or by other words?",
            ),
        )
    return list(lost), (
        Notice(
            "other-words",
            f"labelled but never predicted, left out: {called}; predicted but no word of the "
            f"labels: {listed(unknown)}. Are these the same things by other words?",
        ),
    )


def overconfident(ranked: Sequence[RankedDetections]) -> tuple[Notice, ...]:
    """Compare the mean confidence of boxes over .3 with how many are right at an IoU of .5.

    One warning where confidence exceeds precision by more than .1 and by more than two standard
    errors, over 20 boxes or more. Boxes that evaluation ignores do not count.

    Parameters
    ----------
    ranked : sequence of RankedDetections
        What `rank_categories` returns for the boxes of a detector and labels, one a category.
    """
    right, scores = [], []
    for ranking in ranked:
        sure = over_threshold(ranking.scores, CONFIDENT) & (ranking.counted[AT_HALF] > 0)
        right.append(ranking.hits[AT_HALF][sure])
        scores.append(ranking.scores[sure])
    n_boxes = sum(map(len, scores))
    if n_boxes < FEWEST_CONFIDENT:
        return ()
    precision = float(np.concatenate(right).mean())
    confidence = float(np.concatenate(scores).mean())
    error = np.sqrt(confidence * (1 - confidence) / n_boxes)
    if confidence - precision <= max(TOO_CONFIDENT, 2 * error):
        return ()
    text = (
        f"{precision:.0%} of the {n_boxes} boxes over {CONFIDENT} are true positives (IoU .5), "
        f"while their mean score is {confidence:.2f}: do the labels miss objects, or are they "
        "drawn elsewhere, or of other images? If not, the detector is overconfident, and "
        "its scores cannot be relied on"
    )
    return (Notice("overconfident", text),)
