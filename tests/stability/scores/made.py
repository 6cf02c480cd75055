"""Detections and evidence made by hand, and at random."""

from dataclasses import replace

import numpy as np
from scipy.special import logsumexp

from autoeval.detections import Candidates, Classified, Detections, Evidence
from autoeval.stability.scores.box_stability import BoxStabilitySettings
from autoeval.stability.scores.frechet_distance import FeatureStatistics
from autoeval.stability.scores.score_set import ScoreSet

RNG = np.random.default_rng(0)
REFERENCE = FeatureStatistics.of(RNG.normal(0, 1, (9, 5)))
REFERENCE = replace(REFERENCE, prototypes=RNG.uniform(1, 2, (3, 6)))


def found(*boxes, scores=None, labels=None):
    n = len(boxes)
    return Detections(
        np.array(boxes, float).reshape(n, 4),
        np.full(n, 0.9) if scores is None else np.array(scores),
        np.zeros(n) if labels is None else np.array(labels),
    )


def evidence(k, clean, *perturbed, **fields):
    return Evidence(str(k), (20, 20), clean, perturbed, **fields)


def scored(*scores):
    """Make the evidence of an image whose boxes matter for their scores alone."""
    return evidence(0, found(*([0, 0, 1, 1] for _ in scores), scores=scores))


def computed(score, *images):
    for image in images:
        score.update(image)
    return score.compute()


def random_detections(rng, n=6):
    corners = rng.uniform(0, 50, (n, 2))
    boxes = np.concatenate([corners, corners + rng.uniform(4, 30, (n, 2))], 1)
    return Detections(boxes, rng.uniform(0.02, 1, n), rng.integers(0, 2, n))


def shaken(rng, detections):
    boxes = detections.boxes + rng.normal(0, 1, detections.boxes.shape)
    return Detections(boxes, rng.permutation(detections.scores), detections.labels)


def classified(boxes, *probabilities):
    return Classified(boxes.boxes, boxes.scores, boxes.labels, np.array(probabilities, np.float32))


def random_evidence(seed, *, repeats=2):
    """Make the evidence of an image with every field there is."""
    rng = np.random.default_rng(seed)
    clean = random_detections(rng)
    doubles = [clean, shaken(rng, clean), shaken(rng, clean)]
    candidates = Candidates(
        *(np.concatenate([getattr(d, f) for d in doubles]) for f in ("boxes", "scores", "labels")),
        np.arange(18) < 6,
    )
    return evidence(
        seed,
        clean,
        *(shaken(rng, clean)[1:] for _ in range(repeats)),
        views=(shaken(rng, clean), clean),
        reference=shaken(rng, clean)[1:],
        reweighted=tuple(classified(of, *rng.dirichlet((1, 1, 1), 6)) for of in doubles[:2]),
        candidates=candidates,
        energies=-logsumexp(rng.normal(0, 3, (6, 4)), axis=1),
        features=rng.normal(0, 1, 5).astype(np.float32),
        prototypes=rng.uniform(1, 2, (3, 6)).astype(np.float32),
    )


def score_set(images=(), *, repeats=2):
    """Feed every score that a pass can compute."""
    settings = BoxStabilitySettings()
    scores = ScoreSet(settings, repeats=repeats, reference=REFERENCE, source_threshold=0.5)
    for image in images:
        scores.update(image)
    return scores
