"""The design that prefers rare categories draws with the probabilities that it weighs by."""

import numpy as np
import pytest

from benchmarks.label_designs import RARE, draw, probabilities


def test_half_of_a_probability_goes_by_influence():
    """By hand: an eighth for each of four, and half for the one with an influence; at most 1."""
    influence = np.array([0, 0, -3.0, 0])
    assert probabilities(influence, 1) == pytest.approx([0.125, 0.125, 0.625, 0.125])
    assert probabilities(influence, 2) == pytest.approx([1 / 3, 1 / 3, 1, 1 / 3])
    assert probabilities(np.zeros(4), 1) == pytest.approx([0.25] * 4)


def test_images_are_drawn_so_often():
    influence = np.random.default_rng(0).normal(size=30)
    drawn = [draw(influence, 6, seed)[RARE] for seed in range(3000)]
    assert {len(images) for images, _ in drawn} == {6}
    often = np.bincount(np.concatenate([images for images, _ in drawn]), minlength=30) / 3000
    assert often == pytest.approx(1 / drawn[0][1], abs=0.035)
