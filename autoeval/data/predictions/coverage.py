"""Images without a box: whether the detector found nothing there or never saw them."""

from __future__ import annotations

import numpy as np

from autoeval.data.predictions.box_columns import Predictions
from autoeval.errors import InputError

LOW_FLOOR = 0.05
SOME, MANY = 0.03, 1 / 3


def check_coverage(
    found: Predictions,
    images: np.ndarray,
    name: str,
    *,
    what: str = "images",
    refuse: bool = False,
) -> tuple[str, ...]:
    r"""Warn where more images are without a box than a detector leaves empty.

    With scores from near 0 on, a detector finds something in nearly every image, and where it does
    not, it finds a single box in others. With :math:`n_0` of n images without a box and :math:`n_1`
    with one, the excess is :math:`n_0 - 2 n_1`.

    Parameters
    ----------
    found : Predictions
    images : ndarray of shape (n,), int
        Images that should have been seen, as indices.
    name : str
        Of the file, for messages.
    what : str
        What the images are called.
    refuse : bool
        Whether an excess of more than a third is an error.

    Returns
    -------
    tuple of str
        One warning where the excess is more than 3 % and scores begin at .05 or less.

    Raises
    ------
    InputError
        With `refuse`.
    """
    if not len(found) or found.floor > np.float32(LOW_FLOOR):
        return ()
    n_boxes = np.bincount(found.image, minlength=len(found.images))[images]
    n_empty, n_single = (int(np.count_nonzero(n_boxes == k)) for k in (0, 1))
    excess = n_empty - 2 * n_single
    if excess <= SOME * len(images):
        return ()
    warning = (
        f"{n_empty} of {len(images)} {what} have no box in {name}, although its scores begin at "
        f"{found.floor:.2g}: was the detector run on all of them? Those that it has not seen count "
        "as if it had found nothing there"
    )
    if refuse and excess > MANY * len(images):
        raise InputError(
            f"{warning[0].upper()}{warning[1:]}. Run it on all, or give the labels of those that "
            "it has seen; if it has seen them all, pass --truncated to go on."
        )
    return (warning,)
