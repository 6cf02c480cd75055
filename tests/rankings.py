"""Made rankings: boxes of random scores, right the more probably the higher they are."""

import numpy as np

from autoeval.accuracy.measures import RankedDetections


def random_ranking(seed, *, n_images=40, boxes=6, levels=10, found=0.8, ignored=0.0):
    """Boxes of one category over images that differ in how hard they are."""
    rng = np.random.default_rng(seed)
    hard = rng.beta(2, 2, n_images)
    image = np.repeat(np.arange(n_images), rng.poisson(boxes, n_images))
    scores = rng.beta(2, 2, len(image))
    probability = scores * (1 - 0.6 * hard[image])
    fades = np.linspace(1, 0.3, levels)[:, None]
    right = rng.random(len(image)) < probability * fades
    counted = right | (rng.random(right.shape) >= ignored)
    hits = np.bincount(image, right[0], minlength=n_images)
    n_true = hits + rng.poisson((1 - found) * boxes, n_images)
    return RankedDetections.of(scores, image, right, n_true, counted)
