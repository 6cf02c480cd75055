"""Perturbed features of a split backbone, from the prefix that its clean pass keeps."""

from itertools import combinations

import numpy as np

from autoeval.stability.network.forward.passes import branches
from autoeval.stability.network.forward.stages import Prefix

SUBSETS = [stages for n in (1, 2, 3, 4) for stages in combinations(range(4), n)]


def same(one, other):
    """Whether two lists of boxes are the same to the last bit."""
    names = ("boxes", "scores", "labels")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def perturb(staged, images, spec, seeds, rows=None):
    """Return the clean features and those under one dropout, of selected samples or all."""
    layer = staged.first_layer(spec)
    clean, prefixes = staged.forward(images, {layer})
    prefix = prefixes[layer]
    if rows is not None:
        prefix = Prefix(layer, prefix.x[rows], tuple(maps[rows] for maps in prefix.features))
    ((_, perturbed),) = branches(staged, prefix, [spec], seeds)
    return clean, perturbed
