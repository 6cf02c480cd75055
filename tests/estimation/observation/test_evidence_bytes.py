"""Evidence comes back from bytes to the last bit, whatever of it there is."""

from dataclasses import fields

import numpy as np
import pytest

from autoeval.detections import Candidates, Classified, Detections, Evidence
from autoeval.estimation.observation.kept_observer import pack_evidence, unpack_evidence


def boxes(rng, n):
    return Detections(rng.normal(size=(n, 4)), rng.random(n), rng.integers(0, 80, n))


def candidates(rng, n):
    found = boxes(rng, n)
    return Candidates(found.boxes, found.scores, found.labels, rng.random(n) < 0.5)


def classified(rng, n):
    found = boxes(rng, n)
    probabilities = rng.dirichlet((1, 1, 1), n).astype(np.float32)
    return Classified(found.boxes, found.scores, found.labels, probabilities)


def evidence(rng, name, n, **more):
    return Evidence(name, (480, 641), boxes(rng, n), **more)


def full(rng, name, n):
    return evidence(
        rng,
        name,
        n,
        perturbed=tuple(boxes(rng, k) for k in (n, 0, 3)),
        views=(boxes(rng, 2),),
        reference=boxes(rng, 1),
        reweighted=(classified(rng, n), classified(rng, 0)),
        candidates=candidates(rng, 7),
        energies=rng.normal(size=n),
        logits=rng.normal(size=(n, 5)).astype(np.float32),
        features=rng.normal(size=9).astype(np.float16),
        prototypes=rng.normal(size=(3, 10)).astype(np.float32),
    )


def assert_same(one, other):
    assert type(one) is type(other)
    if isinstance(one, tuple) and not isinstance(one, str):
        for a, b in zip(one, other, strict=True):
            assert_same(a, b)
    elif isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert one.tobytes() == other.tobytes()
    elif isinstance(one, Detections | Evidence):
        for field in fields(one):
            assert_same(getattr(one, field.name), getattr(other, field.name))
    else:
        assert one == other


RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    "images",
    [
        [],  # none of a piece could be read
        [evidence(RNG, "a", 0)],  # nothing found, nothing asked for
        [evidence(RNG, "é/#1", 3, missing={"features": "no maps"})],
        [full(RNG, "a", 4), full(RNG, "b", 0), full(RNG, "c", 1)],
        [evidence(RNG, "a", 2), full(RNG, "b", 2), evidence(RNG, "c", 1)],  # given of some alone
        # a head that does not tell its classes where it found nothing
        [
            evidence(RNG, "a", 0, logits=np.zeros((0, 0), np.float32)),
            evidence(RNG, "b", 1, logits=np.ones((1, 4), np.float32)),
        ],
    ],
)
def test_there_and_back(images):
    assert_same(tuple(unpack_evidence(pack_evidence(images))), tuple(images))
