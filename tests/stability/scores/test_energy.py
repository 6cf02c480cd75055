import math

import numpy as np
import pytest
import scipy.special
import torch
from made import computed, evidence, found

from autoeval.stability.network.capture import free_energy
from autoeval.stability.scores.energy import Energy

BOX = [0, 0, 1, 1]


def image(logits, scores=None):
    energies = free_energy(torch.as_tensor(np.array(logits, float))).numpy()
    return evidence(0, found(*[BOX] * len(logits), scores=scores), energies=energies)


def test_worked_by_hand():
    # E = -log 4 and -log 2: softmax over the two is 1/3 and 2/3
    images = image(np.log([[1.0, 3.0]])), image(np.log([[0.5, 1.5]]))
    features = computed(Energy(), *images)
    mde = -(math.log(1 / 3) + math.log(2 / 3)) / 2
    assert features["energy"] == pytest.approx(-(math.log(4) + math.log(2)) / 2)
    assert features["energy_mde"] == pytest.approx(mde)
    assert features["energy_spread"] == pytest.approx(mde - math.log(2))


def test_equal_logits_have_the_energy_of_their_number():
    np.testing.assert_allclose(free_energy(torch.full((2, 4), 3.0)), -3 - math.log(4), rtol=1e-15)


def test_the_set_is_one_softmax_however_the_boxes_are_spread_over_images():
    logits = np.random.default_rng(0).normal(0, 30, (12, 3))
    features = computed(Energy(), image(logits[:1]), image(logits[1:4]), image(logits[4:]))
    values = -scipy.special.logsumexp(logits, axis=1)
    assert features["energy"] == pytest.approx(values.mean())
    assert features["energy_mde"] == pytest.approx(-scipy.special.log_softmax(values).mean())


def test_boxes_under_the_score_threshold_are_left_out():
    logits = [[0.0, 0.0], [90.0, 0.0]]
    features = computed(Energy(), image(logits, scores=[0.5, 0.05]))
    assert features["energy"] == pytest.approx(-math.log(2))
    assert features["energy_spread"] == pytest.approx(0)


def test_no_box_gives_nan():
    assert all(math.isnan(v) for v in computed(Energy(), image(np.zeros((0, 3)))).values())
