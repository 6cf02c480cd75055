"""Small detectors with random weights."""

from functools import cache

import numpy as np
import pytest
from random_detectors import random_model, three_images

from autoeval.detectors import MMDetector


@cache
def random_detector(name: str) -> MMDetector:
    return MMDetector(*random_model(name))


@pytest.fixture(scope="session")
def build():
    """Return the function that builds a known detector once for all tests."""
    return random_detector


@pytest.fixture(scope="session")
def images() -> list[np.ndarray]:
    """Three images of two sizes, with structure at several scales."""
    return three_images()
