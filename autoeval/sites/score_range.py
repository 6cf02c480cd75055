"""The range of scores of new boxes, compared with what scores read and with the fit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from autoeval.accuracy.coco_matching import MAX_DETECTIONS
from autoeval.boxes import Boxes
from autoeval.detections import CONFIDENT, SCORE_THR
from autoeval.errors import InputError
from autoeval.notices import Notice
from autoeval.sites.list_starts import ENOUGH_BOXES, lowest_of_images

LOW_FLOOR, HIGH_FLOOR = 0.05, 0.35
LITTLE = 0.01  # that few boxes begin over the score that they were exported from
FEWEST_FULL, MANY_FULL = 3, 0.1
ENOUGH_CONFIDENT = 20
MOSTLY = 0.5
NOTICEABLE = 0.05
NO_LOWER = 1e-3
HIGHEST_FLOOR = 0.55  # of files that a fit can be known at
ANOTHER_FLOOR, OF_FEW_BOXES = 1.5, 3.0
ANOTHER_TOP = 0.6


def another_scale(boxes: Boxes, floor: float, highest: float) -> Iterator[str]:
    """Say where the scores of new predictions begin or end elsewhere than those of the fit.

    Only the ends show a scale: between them, less confidence is what a worse site looks like.

    floor, highest: lowest and highest score in the fit; 0 for a highest that is not known.
    """
    low, high = sorted((max(boxes.floor, NO_LOWER), max(floor, NO_LOWER)))
    another = high > (ANOTHER_FLOOR if len(boxes) >= ENOUGH_BOXES else OF_FEW_BOXES) * low
    if another and high > SCORE_THR:
        yield (
            Notice(
                "another-threshold",
                f"the lowest score is {boxes.floor:.3g}, in the fit it was {floor:.3g}: "
                "export both with one threshold, or the scores do not compare",
            )
        )
    elif another and len(boxes) >= ENOUGH_BOXES:
        yield (
            Notice(
                "another-threshold",
                f"the lowest score is {boxes.floor:.2g}, in the fit it was {floor:.2g}: another "
                "threshold does no harm there, but scores on another scale (another temperature, "
                "another version of the detector) are misread",
            )
        )
    low, high = sorted((boxes.highest, highest))
    if highest and low < ANOTHER_TOP * high and len(boxes) >= ENOUGH_BOXES:
        yield (
            Notice(
                "another-scale",
                f"the highest score is {boxes.highest:.2f}, in the fit it was {highest:.2f}: "
                "unless the detector is sure of nothing in one of them, its scores are on "
                "another scale here and are misread",
            )
        )


def unseen_share(boxes: Boxes, fit_floor: float | None = None) -> float:
    r"""Say how much of the range of confidence that scores read is missing.

    Scores compare boxes over .3 with all over .05. Where an image's list begins at a confidence f,
    because low ones were cut off, only the best few were kept, or all confidences are inflated,

    .. math:: w = \min(\max((f - .05) / (.3 - .05), 0), 1)

    of that range is unseen. Images count by their boxes, as they do in average precision. Where
    the whole file begins at a score over .05 and up to `HIGHEST_FLOOR`, the tables of the panel
    know what that costs: the range begins there.

    fit_floor: score from which on the fit has boxes, at least .05, where the list of every image
        of a file is cut: the range begins there, in place of at the start of the file.
    Returned: in [0, 1]: 0 for a full list, 1 where a file begins over `HIGHEST_FLOOR`, or more than
        half of the boxes over .3 have the same confidence, so that it ranks nothing.
    """
    if not len(boxes):
        return 0.0
    if same_score(boxes) > MOSTLY or boxes.floor > HIGHEST_FLOOR:
        return 1.0
    start = max(SCORE_THR, boxes.floor) if fit_floor is None else fit_floor
    if start >= CONFIDENT:
        return 0.0
    n_boxes = np.bincount(boxes.image, minlength=len(boxes.images))
    lowest = lowest_of_images(boxes)
    cut = np.isfinite(lowest)
    if fit_floor is None:
        cut &= n_boxes == boxes.most_boxes
    first = np.where(cut, lowest.astype(np.float64), boxes.floor)
    shares = np.clip((first - start) / (CONFIDENT - start), 0, 1)
    return float(np.average(shares, weights=n_boxes))


def same_score(boxes: Boxes) -> float:
    """Return the share of boxes over .3 that have the most common confidence; 0 for under 20."""
    confident = boxes.scores[boxes.scores > CONFIDENT]
    if len(confident) < ENOUGH_CONFIDENT:
        return 0.0
    return float(np.unique(confident, return_counts=True)[1].max() / len(confident))


def unseen_warning(share: float) -> tuple[str, ...]:
    """Warn of what an unseen share does to the interval; not under 5 %, which hardly moves it."""
    if share < NOTICEABLE:
        return ()
    return (
        Notice(
            "low-scores-missing",
            f"{share:.0%} of the confidence that scores read (.05 to .3) is not in these "
            "predictions or in those of the fit: low scores or all but the best boxes were left "
            "out, or all scores are high or alike, or say little of which boxes are right. The "
            "interval is wider by that share of how far accuracies differ; export all boxes from "
            ".01 on",
        ),
    )


def check_floor(
    boxes: Boxes, name: str, *, complete: bool = True, ran: bool = False
) -> tuple[str, ...]:
    """Warn of predictions whose low scores were left out; `ran`: of a detector run here."""
    if not boxes.floor > LOW_FLOOR + LITTLE:
        return ()
    where, advice = "in the file", "export from .01 on"
    if ran:
        where, advice = "over it", "lower its score threshold (`score_thr` of its `test_cfg`)"
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


def check_limit(boxes: Boxes, name: str, *, ran: bool = False) -> tuple[str, ...]:
    """Warn of lists that were cut to the best few boxes of each image.

    ran: by a detector that was run here.
    Returned: one warning where a tenth of the images, and three or more, hold as many boxes as any,
        and these are fewer than the 100 that average precision counts.
    """
    n_boxes = np.bincount(boxes.image, minlength=len(boxes.images))
    n_full = int(np.count_nonzero(n_boxes == boxes.most_boxes))
    few = boxes.most_boxes < MAX_DETECTIONS
    if not len(boxes) or not few or n_full < max(FEWEST_FULL, MANY_FULL * len(n_boxes)):
        return ()
    return (
        Notice(
            "boxes-limited",
            f"{n_full} of {len(n_boxes)} images in {name} have exactly {boxes.most_boxes} boxes, "
            f"the most of any: were only the best {boxes.most_boxes} kept? That lowers the "
            "accuracy that is measured and hides low scores; "
            + ("raise its `max_per_img`" if ran else "export all boxes from .01 on"),
        ),
    )
