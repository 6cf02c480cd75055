"""Observed images made by hand."""

import numpy as np

from autoeval.detections import Detections, Evidence
from autoeval.stability.studies.kept_boxes import Observations, ObservedImage, ObservedSet


def found(boxes, scores=None, labels=None):
    boxes = np.reshape(boxes, (-1, 4))
    scores = np.full(len(boxes), 0.9) if scores is None else scores
    return Detections(boxes, scores, np.zeros(len(boxes)) if labels is None else labels)


def image(name, clean, perturbed, true, *, labels=None, iscrowd=None):
    """An image of 100 x 200 pixels; `perturbed` holds one Detections a repeat."""
    true = np.reshape(np.asarray(true, np.float64), (-1, 4))
    labels = np.zeros(len(true), np.int64) if labels is None else np.asarray(labels)
    crowd = np.zeros(len(true), bool) if iscrowd is None else np.asarray(iscrowd)
    evidence = Evidence(name, (100, 200), clean, tuple(perturbed))
    return ObservedImage(evidence, true, labels, crowd)


def observations(images_of_sets, categories=("car",)):
    """Observations from {(source, sample set, kind): images}."""
    sets = tuple(ObservedSet(*names, tuple(images)) for names, images in images_of_sets.items())
    return Observations(sets, categories)


def shaky_world(source, shake, *, n_sets=4, n_images=8, seed=0):
    """A source of one-box images whose boxes miss the truth, and move, by about `shake` pixels."""
    made = {}
    for k in range(n_sets + 1):
        kind = "sample" if k else "seed"
        pixels = shake * (1 + 0.2 * k)
        rng = np.random.default_rng([seed, k])
        images = []
        for n in range(n_images):
            true = np.array([20.0, 20, 80, 80])
            clean = true + rng.normal(0, pixels, 4)
            repeats = [found(clean + rng.normal(0, pixels, 4)) for _ in range(2)]
            images.append(image(f"{n}", found(clean), repeats, true))
        made[source, f"{source}-{k}", kind] = images
    return made


def shaky_worlds(**options):
    made = {}
    for seed, (name, shake) in enumerate({"a": 1.0, "b": 2.0, "c": 3.5, "d": 5.0}.items()):
        made |= shaky_world(name, shake, seed=seed, **options)
    return observations(made)
