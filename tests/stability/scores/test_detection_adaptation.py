import math

import numpy as np
import pytest
from made import classified, computed, evidence, found, random_evidence

from autoeval.stability.scores.detection_adaptation import (
    FlatnessIndex,
    PrototypeRatio,
    flatness_cost,
    prototype_ratio,
)
from autoeval.stability.scores.frechet_distance import FeatureStatistics

UNIT = [0, 0, 2, 2]
SHIFTED = [1, 0, 3, 2]  # IoU 1/3 with the other
FAR = [10, 0, 12, 2]


def test_flatness_worked_by_hand():
    clean = classified(found(UNIT, FAR), [0.5, 0.5], [0.9, 0.1])
    perturbed = classified(found(SHIFTED), [0.8, 0.2])
    divergence = 0.8 * math.log(0.8 / 0.5) + 0.2 * math.log(0.2 / 0.5)
    # with UNIT .193 - 1/3; with FAR, whose probabilities are nearer, .044 - 0
    assert flatness_cost(clean, perturbed) == pytest.approx(divergence - 1 / 3)
    far = 0.8 * math.log(0.8 / 0.9) + 0.2 * math.log(0.2 / 0.1)
    assert flatness_cost(clean, perturbed, weight=10) == pytest.approx(10 * far)
    # the divergence is of the perturbed probabilities from the clean ones
    back = 0.5 * math.log(0.5 / 0.8) + 0.5 * math.log(0.5 / 0.2)
    assert flatness_cost(perturbed, clean) == pytest.approx(back - 1 / 3)


def test_a_matching_is_the_cheapest_and_averaged_over_the_fewer_boxes():
    even = [0.5, 0.5]
    clean = classified(found(UNIT, FAR, [20, 0, 22, 2]), even, even, even)
    perturbed = classified(found(FAR, SHIFTED), even, even)
    assert flatness_cost(clean, perturbed) == pytest.approx(-(1 + 1 / 3) / 2)


def test_flatness_of_a_set_leaves_out_images_without_boxes():
    one = classified(found(UNIT), [0.5, 0.5])
    none = classified(found(), *np.zeros((0, 2)))
    low = classified(found(UNIT, scores=[0.01]), [0.5, 0.5])
    images = [
        evidence(0, found(), reweighted=(one, one)),
        evidence(1, found(), reweighted=(one, classified(found(SHIFTED), [0.5, 0.5]))),
        evidence(2, found(), reweighted=(one, none)),
        evidence(3, found(), reweighted=(low, one)),
    ]
    expected = -(1 + 1 / 3) / 2
    assert computed(FlatnessIndex(), *images)["das_flatness"] == pytest.approx(expected)
    assert math.isnan(computed(FlatnessIndex(), images[2])["das_flatness"])


def test_without_a_perturbation_a_detector_is_as_flat_as_can_be():
    rng = np.random.default_rng(0)
    for seed in range(5):
        one, other = random_evidence(seed).reweighted
        assert flatness_cost(one, one) == pytest.approx(-1)
        order = rng.permutation(len(one))
        assert flatness_cost(one, one[order]) == pytest.approx(-1)
        assert flatness_cost(one, other) > -1


def test_prototypes_are_weighted_means_over_all_images():
    # categories at (0, 0) and (3, 0) in the source, at (0, 4) and (3, 4) here; the third is not
    # found here
    source = np.array([[0, 0, 1], [6, 0, 2], [1, 1, 1]], float)
    seen = [
        evidence(0, found(), prototypes=np.array([[0, 8, 2], [0, 0, 0], [0, 0, 0]], np.float32)),
        evidence(1, found(), prototypes=np.array([[0, 4, 1], [1.5, 2, 0.5], [0, 0, 0]])),
    ]
    reference = FeatureStatistics(1, np.zeros(2), np.zeros((2, 2)), source)
    whole = computed(PrototypeRatio(reference), *seen)["das_prototypes"]
    assert whole == pytest.approx(5 * 3 * 3 / 4)
    first, second = (PrototypeRatio(reference) for _ in seen)
    first.update(seen[0])
    second.update(seen[1])
    first.merge(second)
    first.merge(PrototypeRatio(reference))
    assert first.compute()["das_prototypes"] == pytest.approx(whole)
    assert math.isnan(computed(PrototypeRatio(reference), seen[0])["das_prototypes"])
    assert math.isnan(PrototypeRatio(reference).compute()["das_prototypes"])


def test_the_ratio_falls_as_the_domain_moves_away():
    source = np.array([[0, 0, 1], [3, 0, 1]], float)
    near, far = (source + np.array([0, shift, 0]) for shift in (1, 100))
    # sqrt(10) * 9 / 1 and nearly 100 * 9 / 100
    assert prototype_ratio(source, near) == pytest.approx(9 * math.sqrt(10))
    assert prototype_ratio(source, far) == pytest.approx(9, rel=1e-3)


def test_without_prototypes_of_the_training_domain_there_is_no_ratio():
    plain = FeatureStatistics(1, np.zeros(2), np.zeros((2, 2)))
    for reference in (None, plain):
        reason = PrototypeRatio(reference).absence(random_evidence(0))
        assert reason == "no prototypes of the detector's training domain were given"
