"""Weights by which single images speak for a change, fitted to known changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autoeval.errors import InputError
from autoeval.monitoring.changes.condition import CONDITION, SCORES, image_moves

RIDGE = 300.0  # images
MOST = 1.5  # a relative change beyond this counts as this


def image_products(before: np.ndarray, after: np.ndarray, change: float) -> np.ndarray:
    """Sum up what `fit_image_weights` needs of one known change; such sums add up.

    before, after (n_images, len(NUMBERS)): images of the site as it was, and after.
    change: of mAP, over mAP before.
    Returned: (len(CONDITION) + 2, len(CONDITION) + 2): products of the moves of all images, their
        target, and 1. Zeros without images before: of which a site has none where all were changed.
    """
    if not len(before):
        return np.zeros((len(CONDITION) + 2,) * 2)
    x = image_moves(np.concatenate([before, after]), before)
    target = np.zeros(len(x))
    target[len(before) :] = np.clip(change, -MOST, MOST)
    row = np.column_stack([x, target, np.ones(len(x))])
    return row.T @ row


def fit_image_weights(
    products: np.ndarray, series: Sequence[Sequence[str]] = (CONDITION, tuple(SCORES))
) -> np.ndarray:
    """Fit weights of single images by ridge regression of known changes.

    series: which names of `CONDITION` each series reads: by default all quantities, and `SCORES`
        alone.
    Returned: (len(series), len(CONDITION)): in units of relative mAP.
    Raises InputError where no change has images before it.
    """
    # Ridge regression on standardised moves, (X^T X + RIDGE I)^-1 X^T y (Hoerl & Kennard 1970),
    # from sums alone: a group is left out by leaving out its sums.
    n, sums = products[-1, -1], products[-1, :-2]
    if not n:
        raise InputError(
            "Expected a site with images that are observed as they come beside those that are "
            "changed, but there is none: raise `untouched` (--untouched), or lower `n_images` "
            "(--metaset n_images=)."
        )
    stds = np.sqrt(np.maximum(np.diag(products)[:-2] / n - (sums / n) ** 2, 0))
    stds[stds == 0] = np.inf  # a quantity that never moved has no weight
    inner, moments = products[:-2, :-2], products[:-2, -2]
    weights = []
    for names in series:
        scale = np.where(np.isin(CONDITION, list(names)), stds, np.inf)
        scaled = inner / np.outer(scale, scale) + RIDGE * np.eye(len(scale))
        weights.append(np.linalg.solve(scaled, moments / scale) / scale)
    return np.array(weights)
