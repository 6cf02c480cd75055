"""What the columns of the tables on pages mean, in words."""

from __future__ import annotations

from collections.abc import Iterable

COLUMNS = {
    "expected_ap": "average precision that the calibrated probabilities of the boxes predict",
    "likely_share": "share of an image's boxes with a probability over .05 that have one over .3",
    "box_size": "mean logarithm of the side of boxes, relative to that of the image",
    "reference_ap": "average precision with the boxes of the reference detector as labels",
    "reference_ap50": "the same at an IoU of .5",
    "reference_ap75": "the same at an IoU of .75",
    "n_images": "images in which the category is likely to be found",
    "n_boxes": "labelled objects",
    "boxes": "boxes with a score over .05",
    "confident": "those of them with a score over .3",
    "share": "confident of all boxes over .05",
    "mean_score": "mean score of the boxes over .05",
}


def explained(names: Iterable[str]) -> str:
    """Explain those columns that need it, in one sentence.

    >>> explained(["category", "confident"])
    'confident: those of them with a score over .3.'
    """
    explanations = [f"{name}: {COLUMNS[name]}" for name in names if name in COLUMNS]
    return f"{'; '.join(explanations)}." if explanations else ""
