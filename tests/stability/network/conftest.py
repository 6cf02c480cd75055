"""Small detectors with random weights that can be perturbed."""

from functools import cache

import numpy as np
import pytest
from random_detectors import random_model, three_images

from autoeval.stability.network.perturbable import PerturbableDetector


@cache
def random_detector(name: str) -> PerturbableDetector:
    return PerturbableDetector(*random_model(name))


@pytest.fixture(scope="session")
def build():
    """Return the function that builds a known detector once for all tests."""
    return random_detector


@pytest.fixture(scope="session")
def images() -> list[np.ndarray]:
    """Three images of two sizes, with structure at several scales."""
    return three_images()
