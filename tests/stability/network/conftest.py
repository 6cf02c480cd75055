"""Small detectors with random weights that can be perturbed.

What runs a network is imported by fixtures: the process that hands tests to workers runs none.
"""

from functools import cache

import pytest


@cache
def random_detector(name):
    from random_detectors import random_model

    from autoeval.stability.network.perturbable import PerturbableDetector

    return PerturbableDetector(*random_model(name))


@pytest.fixture(scope="session")
def build():
    """Return the function that builds a known detector once for all tests."""
    return random_detector


@pytest.fixture(scope="session")
def images():
    """Three images of two sizes, with structure at several scales."""
    from random_detectors import three_images

    return three_images()
