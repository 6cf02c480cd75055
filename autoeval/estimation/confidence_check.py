"""Whether the confidences of a detector predict which of its boxes are right, on labelled sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.special import ndtr

from autoeval.accuracy.coco_matching import AT_HALF, match_categories
from autoeval.errors import InputError
from autoeval.notices import Notice
from autoeval.sites.site import Site

# Chosen on the panel of detectors.
LEAST_AREA, USELESS_AREA = 0.6, 0.55  # under the ROC curve
REFUSED, NOTICEABLE = 0.977, 0.05  # probabilities that the area is smaller
FEWEST = 10  # true and false positives
FIRST_BIN, SURELY_BENT, LEAST_DROP = 30, 3.0, 0.1


@dataclass(frozen=True)
class ConfidenceCheck:
    """How much an estimate suffers from confidences that predict little.

    widening: in [0, 1]: share of the standard deviation of accuracies by which intervals are wider.
    """

    widening: float = 0.0
    warnings: tuple[str, ...] = ()


def check_confidences(sets: Sequence[Site]) -> ConfidenceCheck:
    """Evaluate confidences on all labelled boxes together, at IoU .5."""
    scores, hits = labelled_boxes(sets)
    n_right, n_wrong = int(hits.sum()), int((~hits).sum())
    if min(n_right, n_wrong) < FEWEST:
        return ConfidenceCheck()
    area, error = roc_area(scores, hits)
    poor, useless = (float(ndtr((limit - area) / error)) for limit in (LEAST_AREA, USELESS_AREA))
    constant = scores.min() == scores.max()
    if useless > REFUSED or constant:
        why = "are all equal" if constant else "do not predict which of its boxes are right"
        raise InputError(
            f"The confidences of this detector {why}, so no estimate can be made from them: on "
            f"{n_right} right and {n_wrong} wrong boxes of the labelled images the area under "
            f"their ROC curve is {area:.2f}; chance gives .50, other detectors mostly over .70. "
            "Are the predictions of these images, and is `score` a confidence?"
        )
    drop = bend(
        scores,
        np.concatenate(
            [
                labelled_set.matches.hits[AT_HALF][counted_boxes(labelled_set)]
                for labelled_set in sets
            ]
        ),
    )
    warnings = []
    if poor > NOTICEABLE:
        warnings.append(
            Notice(
                "confidences-say-little",
                "the confidences may say little of which boxes are right: the area under their "
                f"ROC curve is {area:.2f} ± {error:.2f} on {n_right} right and {n_wrong} wrong "
                "boxes of the labelled images (chance: .50)",
            )
        )
    if drop:
        warnings.append(
            Notice(
                "confidences-mislead",
                f"the most confident boxes are less often right than others, by {100 * drop:.0f} "
                "points: look at them; where the labels do not miss objects, the confidences "
                "mislead",
            )
        )
    return ConfidenceCheck(max(poor if poor > NOTICEABLE else 0.0, drop), tuple(warnings))


def labelled_boxes(sets: Sequence[Site]) -> tuple[np.ndarray, np.ndarray]:
    """Return confidences (N,) and which boxes are right (N,), matched in a random order."""
    scores, hits = [np.zeros(0)], [np.zeros(0, bool)]
    for labelled_set in sets:
        boxes, counted = labelled_set.boxes, counted_boxes(labelled_set)
        mixed = np.random.default_rng(0).permutation(len(boxes)).astype(np.float32)
        matches = match_categories(replace(boxes, scores=mixed), labelled_set.labels)
        scores.append(boxes.scores[counted])
        hits.append(matches.hits[AT_HALF][counted])
    return np.concatenate(scores), np.concatenate(hits)


def counted_boxes(labelled_set: Site) -> np.ndarray:
    """Return which clean boxes are not ignored, (N,) bool, of categories that the set labels."""
    has_labels = np.array([ranking.n_true.any() for ranking in labelled_set.rankings])
    return np.asarray(~labelled_set.matches.ignored[AT_HALF] & has_labels[labelled_set.boxes.label])


def roc_area(scores: np.ndarray, hits: np.ndarray) -> tuple[float, float]:
    """Return the area under the ROC curve, and its standard error where scores are by chance.

    Source: Mann & Whitney 1947; equal scores count half.

    >>> roc_area(np.array([.1, .2, .3, .4]), np.array([False, True, False, True]))[0]
    0.75
    """
    right, wrong = int(hits.sum()), int((~hits).sum())
    below = pd.Series(scores).rank().to_numpy()[hits].sum() - right * (right + 1) / 2
    error = np.sqrt((right + wrong + 1) / (12 * right * wrong))
    return float(below / (right * wrong)), float(error)


def bend(scores: np.ndarray, hits: np.ndarray) -> float:
    """Return by how much more confident boxes are less often right than others; 0 if not surely.

    Boxes are divided by confidence, the first bin has the 30 highest, each further one is twice as
    large. Of all pairs of bins that in which the difference is largest in standard errors counts.
    """
    hits_by_score, edges = hits[np.argsort(-scores, kind="stable")], [0]
    # Doubled sizes are fine where confidences are highest, where boxes count most, and coarse where
    # there are many of them.
    while edges[-1] + FIRST_BIN * 2 ** (len(edges) - 1) < len(hits_by_score):
        edges.append(edges[-1] + FIRST_BIN * 2 ** (len(edges) - 1))
    bins = [
        hits_by_score[a:b] for a, b in zip(edges, [*edges[1:], len(hits_by_score)], strict=True)
    ]
    # A success and a failure more (Laplace's rule of succession), so that a bin whose boxes are all
    # right, or all wrong, has a variance, too.
    n = np.array([len(in_bin) + 2 for in_bin in bins])
    share_right = np.array([in_bin.sum() + 1 for in_bin in bins]) / n
    variance = share_right * (1 - share_right) / n
    # Row: the more confident bin, column: the less confident one; above the diagonal alone.
    drop = np.triu(share_right[None, :] - share_right[:, None], 1)
    errors = np.sqrt(variance[None, :] + variance[:, None])
    worst = np.unravel_index(np.argmax(drop / errors), drop.shape)
    # Three standard errors, since the largest of many differences is looked at; and a difference
    # that matters, since over many boxes any is surely there.
    surely = drop[worst] / errors[worst] > SURELY_BENT and drop[worst] > LEAST_DROP
    return float(drop[worst]) if surely else 0.0
