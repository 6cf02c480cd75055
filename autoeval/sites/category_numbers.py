"""Which of several ways category numbers were meant, where all have a word in each of them.

Labels decide by the boxes that lie on them. Without labels the fit decides: how often its detector
finds each category, compared with how often the new boxes are of it by each way. At real sites of
four detectors, numbered in three ways, none is read wrong; those whose usual way the frequencies
contradict are refused (a slow test in `tests/sites/test_category_numbers.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from autoeval.boxes import Boxes, overlapping_pairs
from autoeval.detections import CONFIDENT
from autoeval.errors import InputError
from autoeval.io.predictions.category_words import NUMBERINGS
from autoeval.notices import Notice

ON_LABEL, FEWEST_ON_LABEL, A_FIFTH = 0.5, 20, 0.2  # IoU, boxes, and a share of them
LEAST_SCORE = 0.05  # of boxes whose scores count for the frequency of their category
PRIOR = 0.05  # weight of all categories alike beside the frequencies of the fit
CLEARLY = 0.5  # nats a box by which one way is more likely than another
FAR = 1.0  # the same, where a file of the same kind as in the fit is doubted


def frequencies(boxes: Boxes) -> dict[str, float]:
    """Return the sum of the scores of each category that is found."""
    kept = boxes.scores >= LEAST_SCORE
    sums = np.bincount(
        boxes.label[kept], boxes.scores[kept], minlength=len(boxes.categories)
    ).tolist()
    return {word: total for word, total in zip(boxes.categories, sums, strict=True) if total}


def numbered_by_labels(boxes: Boxes, truth: Boxes, words: Mapping[str, str], path: Path) -> Boxes:
    """Read category numbers in the way by which boxes lie on labels of their category.

    Of boxes over .3 that overlap a label by an IoU of .5, twenty or more, more than half lie on one
    of their category by the way that is taken; another one than was used goes before only where a
    fifth more of them do.

    boxes: in the detector's words.
    truth: labels of the same images.
    words: category of the truth for each word of the detector that counts.

    Raises `InputError` where several ways fit and labels do not decide.
    """
    numbering = boxes.numbering
    if not numbering.others:
        return boxes
    sure, single = boxes.where(boxes.scores > CONFIDENT), truth.where(~truth.crowd)
    rows, columns, _ = overlapping_pairs(
        sure.boxes.astype(np.float64), sure.image, single.boxes, single.image, least=ON_LABEL
    )
    n_on = len(np.unique(rows))
    index = {name: k for k, name in enumerate(truth.categories)}
    category = np.array([index.get(words.get(word, word), -1) for word in boxes.categories])
    identity = np.arange(len(boxes.categories))
    n_right = {}
    for way, lookup in {numbering.used: identity, **numbering.others}.items():
        of_box = category[lookup[sure.label[rows]]]
        n_right[way] = len(np.unique(rows[of_box == single.label[columns]]))
    best = max(n_right, key=lambda way: n_right[way])
    clear = n_on >= FEWEST_ON_LABEL and n_right[best] > n_on / 2
    if not clear or n_right[best] - n_right[numbering.used] < A_FIFTH * n_on:
        if numbering.decided or clear:
            return boxes.numbered(numbering.used)
        raise refused_numbers(boxes, path, f"of {n_on} boxes on labelled objects too few decide")
    why = (
        f"by which {n_right[best]} of {n_on} confident boxes on labelled objects have the word of "
        f"the label, and {n_right[numbering.used]} as {NUMBERINGS[numbering.used]}"
    )
    return _guessed(boxes, best, path, why)


def numbered_by_fit(boxes: Boxes, of_fit: Mapping[str, float], usual: str, path: Path) -> Boxes:
    """Read category numbers of a new site in the way that the frequencies of the fit make likely.

    A file of the kind of the fit's (`kind_of`) is read as that was, with a warning where another
    way is far more likely. One of another kind needs frequencies that speak for the way that is
    used, and none that speak for another.

    of_fit: see `frequencies`.
    usual: kind of the files of the fit.

    Raises `InputError` where they do not.
    """
    numbering = boxes.numbering
    if not numbering.others:
        return boxes
    same_kind = kind_of(boxes) == usual
    likelihood = _likelihoods(boxes, of_fit)
    first, second = sorted(likelihood, key=lambda way: -likelihood[way])[:2]
    gain = likelihood[first] - likelihood[numbering.used]
    read = boxes.numbered(numbering.used)
    if same_kind and numbering.decided:
        if gain < FAR:
            return read
        return _noting(
            read,
            f"{path}: category numbers are read as in the fit "
            f"({_example(boxes, numbering.used)}); as {NUMBERINGS[first]} they would be "
            f"{_example(boxes, first)}, which the fit finds {np.exp(min(gain, 9)):.1f} times as "
            f"often. Add --numbering {first} if that is meant, or "
            f"--numbering {numbering.used} if not",
        )
    clear = likelihood[first] - likelihood[second] >= CLEARLY
    if clear and numbering.decided and first == numbering.used:
        return read
    if clear and not numbering.decided:
        return _guessed(
            boxes, first, path, "which how often the fit finds each category speaks for"
        )
    why = "how often the fit finds each category does not decide"
    if gain >= CLEARLY:
        why = (
            f"the fit finds those by --numbering {first} {np.exp(min(gain, 9)):.1f} times as often"
        )
    raise refused_numbers(boxes, path, why)


def kind_of(boxes: Boxes) -> str:
    """Say of which kind a file is as to its category numbers; empty for one with words."""
    used = boxes.numbering.used
    return f"{'text' if boxes.numbering.text else 'file'}:{used}" if used else ""


def usual_way(usual: str, *, text: bool) -> str:
    """Return how numbers of a file of the kind of the fit's were read; empty for another kind."""
    kind, _, way = usual.partition(":")
    return way if kind == ("text" if text else "file") else ""


def refused_numbers(boxes: Boxes, path: Path, why: str) -> InputError:
    """Make the refusal of category numbers that could mean several things."""
    ways = (boxes.numbering.used, *boxes.numbering.others)
    readings = "; ".join(
        f"--numbering {way} ({NUMBERINGS[way]}): {_example(boxes, way)}" for way in ways
    )
    return InputError(
        f"{path}: category numbers could mean several things, and {why}: {readings}. Say which it "
        "is behind the file, or write the word of each box as 'category'."
    )


def _example(boxes: Boxes, way: str) -> str:
    return boxes.numbering.examples(way, boxes.categories, boxes.label)


def _likelihoods(boxes: Boxes, of_fit: Mapping[str, float]) -> dict[str, float]:
    """Return the mean log probability of a box's category by each way; all 0 where none is known.

    The frequencies of the fit, beside a twentieth that is spread over all categories alike, are
    taken as the probabilities of the category of a box; scores are weights.
    """
    weights = np.bincount(
        boxes.label,
        np.where(boxes.scores >= LEAST_SCORE, boxes.scores, 0.0),
        minlength=len(boxes.categories),
    )
    known = np.array([of_fit.get(word, 0.0) for word in boxes.categories])
    numbering = boxes.numbering
    ways = {numbering.used: np.arange(len(known)), **numbering.others}
    if not known.sum() or not weights.sum():
        return dict.fromkeys(ways, 0.0)
    log_share = np.log((1 - PRIOR) * known / known.sum() + PRIOR / len(known))
    used = weights > 0
    mean = weights[used] / weights.sum()
    return {way: float(mean @ log_share[lookup[used]]) for way, lookup in ways.items()}


def _guessed(boxes: Boxes, way: str, path: Path, why: str) -> Boxes:
    text = (
        f"{path}: category numbers are taken as {NUMBERINGS[way]} ({_example(boxes, way)}), {why}. "
        "If this is wrong, say how they count with --numbering, or write the word "
        "of each box as 'category'"
    )
    return _noting(boxes.numbered(way), text)


def _noting(boxes: Boxes, text: str) -> Boxes:
    notice = Notice("category-numbers-guessed", text)
    return replace(boxes, warnings=(*boxes.warnings, notice))
