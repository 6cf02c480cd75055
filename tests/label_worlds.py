"""Made sites: objects in images, and a detector that misses, shifts and invents some."""

from functools import cache

import numpy as np

from autoeval.boxes import Boxes, LabelledImage
from autoeval.io.labels.content import BoxColumns, LabelledBox, LabelSet
from autoeval.labels.fit_assistance import fit_assistance
from autoeval.sites.file_looks import Looks
from autoeval.sites.site import Site

SIDE = 200


def make_site(seed, *, n_images=60, n_objects=3.0, categories=("car",), name=None):
    """Harder sites shift boxes more; hard boxes have low scores."""
    rng = np.random.default_rng(seed)
    images = tuple(LabelledImage(f"{k}.jpg", f"{k}.jpg", (SIDE, SIDE)) for k in range(n_images))
    image = np.repeat(np.arange(n_images), rng.poisson(n_objects, n_images))
    n = len(image)
    label = rng.integers(0, len(categories), n)
    corner, size = rng.uniform(0, 140, (n, 2)), rng.uniform(15, 60, (n, 2))
    true = np.concatenate([corner, corner + size], axis=1)
    truth = Boxes(images, categories, image, label, true, crowd=np.zeros(n, bool))
    shift = rng.gamma(2, 1.5, n) * rng.uniform(0.5, 1.5)
    found = rng.random(n) < 0.85
    boxes = true + shift[:, None] * rng.normal(size=(n, 4))
    scores = np.clip(1 - 0.08 * shift - 0.1 * rng.random(n), 0.05, 0.99)
    m = n // 2
    wrong = rng.uniform(0, 140, (m, 2))
    boxes = np.concatenate([boxes[found], np.concatenate([wrong, wrong + 30], axis=1)])
    boxes[:, 2:] = np.maximum(boxes[:, 2:], boxes[:, :2] + 1)
    predictions = Boxes(
        images,
        categories,
        np.concatenate([image[found], rng.integers(0, n_images, m)]),
        np.concatenate([label[found], rng.integers(0, len(categories), m)]),
        boxes.astype(np.float32),
        np.concatenate([scores[found], rng.beta(1, 3, m)]).astype(np.float32),
    )
    name = name or f"site{seed}"
    statistics = Looks.of(predictions)
    return Site(
        predictions,
        truth=truth,
        looks=statistics,
        name=name,
        group=name,
        everywhere=True,
    )


@cache
def assistance_of(n_sites):
    """Label assistance that was fitted on so many made sites."""
    return fit_assistance([make_site(seed) for seed in range(n_sites)])


def label_set(site, images, *, folder="labels"):
    """Labels of some images of a site, as a reader gives them."""
    truth, chosen = site.truth, set(map(int, images))
    named = tuple(site.truth.images[k] for k in images)
    boxes = [
        LabelledBox(truth.images[k].image_id, truth.categories[c], (x, y, x2 - x, y2 - y))
        for k, c, (x, y, x2, y2) in zip(truth.image, truth.label, truth.boxes, strict=True)
        if int(k) in chosen
    ]
    return LabelSet(folder, named, truth.categories, BoxColumns.of(boxes))
