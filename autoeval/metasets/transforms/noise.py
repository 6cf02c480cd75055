"""Noise of the sensor: Gaussian, shot and impulse. Severities are the published ones."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import ndtri, pdtr

from autoeval.metasets.transforms.corruption import register_corruption, rows, to_bytes

N_QUANTILES = 2**14
"""Noise is drawn from a list of its quantiles: many times as fast, and in whole numbers."""


def gaussian_noise(image: np.ndarray, rng: np.random.Generator, *, std: float) -> np.ndarray:
    """Add normal noise, independent for each pixel and channel; ``std`` is a share of 255."""
    noise = _normal_quantiles(std)[_draw_quantiles(image, rng)]
    noise += image
    return np.clip(noise, 0, 255, out=noise).astype(np.uint8)


def shot_noise(image: np.ndarray, rng: np.random.Generator, *, photons: int) -> np.ndarray:
    """Count photons: each value becomes a Poisson number, ``photons`` being the mean at white."""
    return _photon_quantiles(photons)[image * np.int32(N_QUANTILES) + _draw_quantiles(image, rng)]


def impulse_noise(image: np.ndarray, rng: np.random.Generator, *, share: float) -> np.ndarray:
    """Set a share of the values, of each channel on its own, to 0 or 255, half each."""
    drawn = rng.random(image.shape, dtype=np.float32)
    noisy = np.where(drawn < np.float32(share / 2), np.uint8(0), image)
    noisy[drawn >= np.float32(1 - share / 2)] = 255
    return noisy


def _draw_quantiles(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.integers(N_QUANTILES, size=image.shape, dtype=np.uint16)


@lru_cache
def _normal_quantiles(std: float) -> np.ndarray:
    """List the quantiles of the noise, (N_QUANTILES,) int16."""
    share = (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES
    return np.rint(255 * std * ndtri(share)).astype(np.int16)


@lru_cache
def _photon_quantiles(photons: int) -> np.ndarray:
    """List the quantiles for value 0, then those for value 1 ..., (256 * N_QUANTILES,) uint8."""
    mean = np.arange(256)[:, None] * (photons / 255)
    at_most = np.rint(pdtr(np.arange(photons), mean) * N_QUANTILES).astype(int)
    # As many photons as white has on average, or more, are white.
    edges = np.pad(at_most, ((0, 0), (1, 1)), constant_values=((0, 0), (0, N_QUANTILES)))
    values = to_bytes(np.arange(photons + 1) * (255 / photons))
    return np.repeat(np.tile(values, 256), np.diff(edges).ravel())


NOISE = (
    register_corruption("gaussian_noise", gaussian_noise, rows(std=[0.08, 0.12, 0.18, 0.26, 0.38])),
    register_corruption("shot_noise", shot_noise, rows(photons=[60, 25, 12, 5, 3])),
    register_corruption("impulse_noise", impulse_noise, rows(share=[0.03, 0.06, 0.09, 0.17, 0.27])),
)
