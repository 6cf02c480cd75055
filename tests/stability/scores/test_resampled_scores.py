import math

import numpy as np
import pytest
from made import random_evidence, score_set, scored

from autoeval.accuracy.measures import resampled_counts
from autoeval.stability.scores.confidence_scores import AverageConfidence

IMAGES = [random_evidence(seed) for seed in range(7)]


def average_confidence(*images):
    score = AverageConfidence()
    for image in images:
        score.update(image)
    return score


def test_given_draws_worked_by_hand():
    # sums of scores 1.2, .5 and 0 over 2, 1 and 0 boxes
    score = average_confidence(scored(0.8, 0.4), scored(0.5), scored())
    draws = np.array([[1, 1, 1], [2, 1, 0], [0, 1, 2], [0, 0, 3]])
    expected = [1.7 / 3, (2.4 + 0.5) / 5, 0.5, math.nan]
    np.testing.assert_allclose(score.resample(draws)["ac"], expected, rtol=1e-7)


def test_a_draw_equals_feeding_its_images_again_and_again():
    draws = resampled_counts(len(IMAGES), resamples=4, seed=3)
    resampled = score_set(IMAGES).resample(resamples=4, seed=3)
    for draw, counts in enumerate(draws):
        copies = [image for image, n in zip(IMAGES, counts, strict=True) for _ in range(n)]
        for row, expected in zip(resampled, score_set(copies).rows(), strict=True):
            got = {name: values[draw] for name, values in row.items()}
            del expected["fd"], expected["das_prototypes"]
            assert got == pytest.approx(expected, rel=1e-9, nan_ok=True)


def test_what_compares_with_the_training_domain_has_no_bootstrap():
    first, _ = score_set(IMAGES).resample(resamples=3)
    assert score_set(IMAGES).rows()[0].keys() - first.keys() == {"fd", "das_prototypes"}


def test_what_does_not_depend_on_dropout_varies_alike_in_all_repeats():
    first, second = score_set(IMAGES).resample(resamples=5)
    assert np.array_equal(first["ac"], second["ac"])
    assert not np.array_equal(first["bos"], second["bos"])


@pytest.mark.parametrize("cut", [1, 3])
def test_shards_merged_and_resampled_equal_the_whole_resampled(cut):
    parts, rest = score_set(IMAGES[:cut]), score_set(IMAGES[cut:])
    parts.merge(rest)
    for merged, whole in zip(parts.resample(), score_set(IMAGES).resample(), strict=True):
        assert all(np.array_equal(merged[name], whole[name], equal_nan=True) for name in whole)


def test_the_seed_decides_the_draws():
    scores = score_set(IMAGES)
    same, again, other = (scores.resample(seed=seed)[0]["ac"] for seed in (0, 0, 1))
    assert np.array_equal(same, again)
    assert not np.array_equal(same, other)


def test_the_spread_of_a_ratio_is_that_of_the_delta_method():
    rng = np.random.default_rng(0)
    images = [rng.uniform(0.1, 1, rng.integers(1, 9)) for _ in range(300)]
    score = average_confidence(*(scored(*scores) for scores in images))
    spread = score.resample(resampled_counts(300, resamples=2000))["ac"].std()
    # linearised: Var(A / B) = Σ (a - r b)² / (Σ b)²
    ratio = np.concatenate(images).mean()
    left = np.array([scores.sum() - ratio * len(scores) for scores in images])
    assert spread == pytest.approx(np.linalg.norm(left) / sum(map(len, images)), rel=0.05)


def test_without_boxes_there_is_nothing_to_resample():
    values = average_confidence(scored(), scored()).resample(np.array([[1, 1], [2, 0]]))["ac"]
    assert np.isnan(values).all()
