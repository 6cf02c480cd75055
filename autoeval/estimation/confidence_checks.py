"""Do confidences predict which boxes are right? Checked on labelled boxes before calibration.

COCO's matching takes the most confident of several boxes on one object, so that even random
confidences go with being right. Here boxes are matched in a random order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr
from scipy.stats import rankdata

from autoeval.errors import InputError
from autoeval.estimation.training_set import TrainingSet
from autoeval.metrics.coco_matching import match_categories

# Chosen on the panel of detectors by benchmarks/calibration_labels.py.
LEAST_AREA, USELESS_AREA = 0.6, 0.55  # under the ROC curve
REFUSED, NOTICEABLE = 0.977, 0.05  # probabilities that the area is smaller
FEWEST = 10  # true and false positives
FIRST_BIN, SURELY_BENT, LEAST_DROP = 30, 3.0, 0.1


@dataclass(frozen=True)
class Doubt:
    """How much an estimate suffers from confidences that say little.

    Parameters
    ----------
    share : float
        In [0, 1]: that of the spread of accuracies by which intervals are wider.
    warnings : tuple of str
    """

    share: float = 0.0
    warnings: tuple[str, ...] = ()


def check_confidences(sets: Sequence[TrainingSet]) -> Doubt:
    """Evaluate confidences on all labelled boxes together, at IoU .5.

    Raises
    ------
    InputError
        If they are all equal, or hardly predict which boxes are right.
    """
    scores, hits = labelled_boxes(sets)
    n_right, n_wrong = int(hits.sum()), int((~hits).sum())
    if min(n_right, n_wrong) < FEWEST:
        return Doubt()
    area, error = roc_area(scores, hits)
    poor, useless = (float(ndtr((of - area) / error)) for of in (LEAST_AREA, USELESS_AREA))
    constant = scores.min() == scores.max()
    if useless > REFUSED or constant:
        why = "are all equal" if constant else "do not predict which of its boxes are right"
        raise InputError(
            f"The confidences of this detector {why}, so no estimate can be made from them: on "
            f"{n_right} right and {n_wrong} wrong boxes of the labelled images the area under "
            f"their ROC curve is {area:.2f}; chance gives .50, other detectors mostly over .70. "
            "Are the predictions of these images, and is `score` a confidence?"
        )
    drop = bend(scores, np.concatenate([of.matches[0][0][counted_boxes(of)] for of in sets]))
    warnings = []
    if poor > NOTICEABLE:
        warnings.append(
            f"the confidences may say little of which boxes are right: the area under their ROC "
            f"curve is {area:.2f} ± {error:.2f} on {n_right} right and {n_wrong} wrong boxes of "
            "the labelled images (chance: .50)"
        )
    if drop:
        warnings.append(
            f"the most confident boxes are less often right than others, by {100 * drop:.0f} "
            "points: look at them; where the labels do not miss objects, the confidences mislead"
        )
    return Doubt(max(poor if poor > NOTICEABLE else 0.0, drop), tuple(warnings))


def labelled_boxes(sets: Sequence[TrainingSet]) -> tuple[np.ndarray, np.ndarray]:
    """Return confidences (N,) and which boxes are right (N,), matched in a random order."""
    scores, hits = [np.zeros(0)], [np.zeros(0, bool)]
    for of in sets:
        found, counted = of.boxes.clean, counted_boxes(of)
        mixed = np.random.default_rng(0).permutation(len(found)).astype(np.float32)
        matched, _ = match_categories(replace(found, scores=mixed), of.truth)
        scores.append(found.scores[counted])
        hits.append(matched[0][counted])
    return np.concatenate(scores), np.concatenate(hits)


def counted_boxes(labelled: TrainingSet) -> np.ndarray:
    """Return which clean boxes are not ignored, (N,) bool, of categories that the set labels."""
    known = np.array([ranking.n_true.any() for ranking in labelled.rankings])
    return np.asarray(~labelled.matches[1][0] & known[labelled.boxes.clean.label])


def roc_area(scores: np.ndarray, hits: np.ndarray) -> tuple[float, float]:
    """Return the area under the ROC curve, and its standard error where scores are by chance.

    Source: Mann & Whitney 1947; equal scores count half.

    Examples
    --------
    >>> roc_area(np.array([.1, .2, .3, .4]), np.array([False, True, False, True]))[0]
    0.75
    """
    right, wrong = int(hits.sum()), int((~hits).sum())
    below = rankdata(scores)[hits].sum() - right * (right + 1) / 2
    error = np.sqrt((right + wrong + 1) / (12 * right * wrong))
    return float(below / (right * wrong)), float(error)


def bend(scores: np.ndarray, hits: np.ndarray) -> float:
    """Return by how much more confident boxes are less often right than others; 0 if not surely.

    Boxes are divided by confidence, the first bin has the 30 highest, each further one is twice as
    large. Of all pairs of bins that in which the difference is largest in standard errors counts.
    """
    order, edges = hits[np.argsort(-scores, kind="stable")], [0]
    while edges[-1] + FIRST_BIN * 2 ** (len(edges) - 1) < len(order):
        edges.append(edges[-1] + FIRST_BIN * 2 ** (len(edges) - 1))
    bins = [order[a:b] for a, b in zip(edges, [*edges[1:], len(order)], strict=True)]
    n = np.array([len(part) + 2 for part in bins])
    p = np.array([part.sum() + 1 for part in bins]) / n
    variance = p * (1 - p) / n
    drop = np.triu(p[None, :] - p[:, None], 1)
    errors = np.sqrt(variance[None, :] + variance[:, None])
    worst = np.unravel_index(np.argmax(drop / errors), drop.shape)
    surely = drop[worst] / errors[worst] > SURELY_BENT and drop[worst] > LEAST_DROP
    return float(drop[worst]) if surely else 0.0
