"""The options that name labels, and what words of other people mean."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from autoeval.errors import InputError


def add_labels_options(group: argparse._ActionsContainer, *, required: bool) -> None:
    """Declare which images are labelled, with what, and where labels have other words."""
    group.add_argument(
        "--labels", required=required, metavar="PATH", help="COCO, YOLO or VOC, as they were made"
    )
    group.add_argument("--label-images", metavar="DIR", help="where the labelled images lie")
    group.add_argument(
        "--words",
        nargs="+",
        default=(),
        metavar="WORD=CATEGORY",
        help="words of the labels that count, where they are not those of the estimator",
    )


def add_pseudo_label_options(group: argparse._ActionsContainer, what: str) -> None:
    """Declare a second detector's boxes.

    Parameters
    ----------
    what : str
        What ``--pseudo-labels`` names.
    """
    group.add_argument("--pseudo-labels", metavar="PATH", help=f"a better detector's boxes: {what}")
    group.add_argument(
        "--pseudo-words",
        nargs="+",
        default=(),
        metavar="WORD=CATEGORY",
        help="its words that count, where they are not those of the estimator",
    )


def translation(texts: Sequence[str], option: str = "--words") -> dict[str, str] | None:
    """Read ``WORD=CATEGORY ...``; None for nothing.

    Raises `InputError` if one is something else, or a word has two categories.
    """
    pairs = [_word(text, option) for text in texts]
    found = dict(pairs)
    twice = [word for word, category in pairs if found[word] != category]
    if twice:
        raise InputError(f"{option} gives the word '{twice[0]}' two categories: expected one.")
    return found or None


def _word(text: str, option: str) -> tuple[str, str]:
    word, separator, category = text.partition("=")
    if not separator or not word or not category:
        raise InputError(f"Expected {option} WORD=CATEGORY but got '{text}'.")
    return word, category
