"""Noise against its distribution."""

import numpy as np
import pytest
from scipy.stats import norm

from autoeval.metasets.transforms.degradations import gaussian_noise, impulse_noise, shot_noise


def plain(value, size=(300, 400)):
    return np.full((*size, 3), value, np.uint8)


def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("std", [0.02, 0.08, 0.12])
def test_gaussian_noise_has_the_mean_and_deviation_it_says(std):
    noise = gaussian_noise(plain(128), rng(), std=std) - 128.0
    assert abs(noise.mean()) < 0.2
    # Rounding to whole numbers adds the variance of a uniform number, 1 / 12.
    assert noise.std() == pytest.approx(np.sqrt((255 * std) ** 2 + 1 / 12), rel=0.01)


def test_gaussian_noise_is_clipped_at_both_ends():
    noisy = gaussian_noise(plain(128), rng(), std=0.38)
    assert (noisy == 0).mean() == pytest.approx(norm.cdf(-127.5 / 96.9), rel=0.03)
    assert (noisy == 255).mean() == pytest.approx(norm.sf(126.5 / 96.9), rel=0.03)


def test_gaussian_noise_differs_between_channels_and_neighbours():
    noisy = gaussian_noise(plain(128), rng(), std=0.1)
    assert abs(np.corrcoef(noisy.reshape(-1, 3).T)[0, 1]) < 0.01
    assert abs(np.corrcoef(noisy[:, 1:, 0].ravel(), noisy[:, :-1, 0].ravel())[0, 1]) < 0.01


@pytest.mark.parametrize(("value", "photons"), [(64, 60), (100, 25), (30, 12)])
def test_shot_noise_has_the_mean_and_variance_of_photons(value, photons):
    """With m photons on average, m = value * photons / 255, their number has the variance m."""
    noisy = shot_noise(plain(value), rng(), photons=photons).astype(float)
    assert noisy.mean() == pytest.approx(value, rel=0.01)
    assert noisy.var() == pytest.approx(value * 255 / photons, rel=0.02)


def test_shot_noise_is_whole_photons():
    noisy = shot_noise(plain(51), rng(), photons=5)  # one photon on average
    assert set(np.unique(noisy)) == {0, 51, 102, 153, 204, 255}
    for n_photons, chance in enumerate([1, 1, 1 / 2, 1 / 6]):  # e^-1 / n!
        share = (noisy == 51 * n_photons).mean()
        assert share == pytest.approx(chance / np.e, rel=0.03)
    assert (shot_noise(plain(0), rng(), photons=5) == 0).all()


@pytest.mark.parametrize("share", [0.03, 0.27])
def test_impulse_noise_hits_the_share_it_says_half_black_half_white(share):
    noisy = impulse_noise(plain(100), rng(), share=share)
    assert (noisy == 0).mean() == pytest.approx(share / 2, rel=0.05)
    assert (noisy == 255).mean() == pytest.approx(share / 2, rel=0.05)
    assert (noisy == 100).mean() == pytest.approx(1 - share, rel=0.01)
    assert (noisy != 100).all(2).mean() == pytest.approx(share**3, rel=0.1, abs=3e-5)
