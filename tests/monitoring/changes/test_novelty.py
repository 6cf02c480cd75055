"""New images are found by signals that leave the range of their camera, whichever they are."""

import numpy as np
import pytest

from autoeval.monitoring.changes.image_numbers import MEANINGS, MOST, NUMBERS, OF_BOXES, novelty
from autoeval.stability.change_slopes.whitening import fit_whitening

N_SIGNALS = len(MEANINGS)
MIXING = np.random.default_rng(9).normal(size=(N_SIGNALS, N_SIGNALS))


def camera(rng, n, *, at=0.0):
    """Make numbers of images whose signals vary together, about a level of the camera's own."""
    numbers = rng.normal(size=(n, len(NUMBERS)))
    numbers[:, len(OF_BOXES) :] = rng.normal(size=(n, N_SIGNALS)) @ MIXING + at
    return numbers


@pytest.fixture(scope="module")
def whitening():
    rng = np.random.default_rng(0)
    return fit_whitening([camera(rng, 50, at=10 * k) for k in range(20)])


def test_the_level_of_a_camera_does_not_matter_and_whitened_signals_vary_alike(whitening):
    numbers = camera(np.random.default_rng(1), 2000, at=-70)[:, len(OF_BOXES) :]
    z = (numbers - numbers.mean(axis=0)) @ whitening
    correlation = np.corrcoef(z.T)
    assert np.abs(correlation - np.eye(N_SIGNALS)).max() < 0.5
    assert np.median(z.std(axis=0)) == pytest.approx(1, abs=0.25)


def test_an_image_is_new_that_breaks_what_goes_together(whitening):
    """Each signal stays within its own range; it is the combination that no image has."""
    rng = np.random.default_rng(2)
    before, after = camera(rng, 200), camera(rng, 2)
    own = before[:, len(OF_BOXES) :]
    _, vectors = np.linalg.eigh(np.cov(own.T))
    after[0, len(OF_BOXES) :] = own.mean(axis=0) + 0.9 * own.std(axis=0) * np.sign(vectors[:, 0])
    estimated = novelty(before, after, whitening)
    assert (
        estimated[200] > np.quantile(estimated[:200], 0.95)
        and estimated[201] < estimated[:200].max()
    )
    assert estimated.max() <= MOST * N_SIGNALS


def test_boxes_do_not_matter(whitening):
    rng = np.random.default_rng(3)
    before, after = camera(rng, 30), camera(rng, 5)
    other = after.copy()
    other[:, : len(OF_BOXES)] += 100
    same = [novelty(before, a, whitening) for a in (after, other)]
    assert same[0].tolist() == same[1].tolist()


def test_images_of_the_baseline_are_no_less_new_than_later_ones(whitening):
    """In blocks of four images alike, too: each block is compared with the others alone."""
    shares = []
    for seed in range(200):
        before, after = (
            camera(np.random.default_rng(seed), 6),
            camera(np.random.default_rng(-seed % 2**31), 1),
        )
        blocks = np.repeat(np.arange(6), 4)
        estimated = novelty(np.repeat(before, 4, axis=0), after, whitening, blocks)
        shares.append((estimated[-1] > estimated[:24:4]).mean())
    assert np.mean(shares) == pytest.approx(0.5, abs=0.12)


def test_a_signal_that_never_varies_says_nothing():
    rng = np.random.default_rng(4)
    sites = [camera(rng, 30) for _ in range(3)]
    for own in sites:
        own[:, -1] = 5
    fitted = fit_whitening(sites)
    assert not fitted[-1].any() and np.isfinite(fitted).all()
