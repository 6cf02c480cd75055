import math
from dataclasses import replace

import numpy as np
import pytest
from made import classified, evidence, found, random_evidence, score_set

from autoeval.detections import Evidence
from autoeval.errors import InputError
from autoeval.stability.scores.box_stability import BoxStabilitySettings
from autoeval.stability.scores.score_set import ScoreSet

IMAGES = [random_evidence(seed) for seed in range(8)]
IMAGES.append(replace(evidence(8, found(), found(), found()), views=(found(),)))
IMAGES[-1] = replace(
    IMAGES[-1],
    candidates=IMAGES[0].candidates[:0],
    energies=np.zeros(0),
    features=np.zeros(5),
    prototypes=np.zeros((3, 6)),
    reweighted=(classified(found(), *np.zeros((0, 3))),) * 2,
    reference=found(),
)


def test_every_score_of_a_pass_is_computed_and_finite():
    scores = score_set(IMAGES)
    assert scores.absent == {}
    rows = scores.rows()
    assert len(rows) == 2
    assert all(math.isfinite(value) for row in rows for value in row.values())


def test_each_repeat_has_its_own_row():
    for k, row in enumerate(score_set(IMAGES).rows()):
        images = [replace(image, perturbed=image.perturbed[k : k + 1]) for image in IMAGES]
        assert score_set(images, repeats=1).rows() == [row]
    first, second = score_set(IMAGES).rows()
    assert first["bos"] != second["bos"]
    assert first["ac"] == second["ac"]


@pytest.mark.parametrize("cut", [1, 4, 8])
def test_merged_shards_equal_the_whole(cut):
    whole, late, early = score_set(IMAGES), score_set(IMAGES[cut:]), score_set(IMAGES[:cut])
    late.merge(early)
    for merged, expected in zip(late.rows(), whole.rows(), strict=True):
        for name in ("fd", "das_prototypes"):
            assert merged.pop(name) == pytest.approx(expected.pop(name), rel=1e-9)
        assert merged == expected


def test_the_order_of_boxes_changes_nothing():
    rng = np.random.default_rng(1)

    def shuffled(boxes):
        return boxes[rng.permutation(len(boxes))]

    def permuted(image):
        order = rng.permutation(len(image.clean))
        return replace(
            image,
            clean=image.clean[order],
            energies=image.energies[order],
            candidates=shuffled(image.candidates),
            perturbed=tuple(map(shuffled, image.perturbed)),
            views=tuple(map(shuffled, image.views)),
        )

    rows = score_set([permuted(image) for image in IMAGES]).rows()
    for row, expected in zip(rows, score_set(IMAGES).rows(), strict=True):
        assert row == pytest.approx(expected, rel=1e-9)


def test_identical_passes_are_perfectly_stable():
    images = [replace(i, perturbed=(i.clean,) * 2, views=(i.clean,)) for i in IMAGES[:8]]
    for row in score_set(images).rows():
        stable = "bos", "bos_strict", "confidence_stability", "view_consistency", "detection_ratio"
        for name in (*stable, "ccs"):
            assert row[name] == pytest.approx(1)
        assert row["skipped_share"] == 0


def test_scores_that_lack_their_evidence_are_absent_with_the_reason():
    bare = Evidence("a", (9, 9), found([0, 0, 1, 1]), missing={"candidates": "no NMS in DETRHead"})
    scores = ScoreSet(BoxStabilitySettings(), repeats=0)
    scores.update(bare)
    assert scores.absent["pcr"] == "no NMS in DETRHead"
    assert "labelled source" in scores.absent["atc_source"]
    assert "training domain" in scores.absent["fd"]
    assert "training domain" in scores.absent["das_prototypes"]
    assert scores.absent.keys() == {
        *("bos", "bos_strict", "stability_ap", "confidence_stability", "detection_ratio"),
        *("count_stability", "pcr", "energy", "fd", "view_consistency", "ccs"),
        *("das_flatness", "das_prototypes"),
        *("hard_reference_ap", "atc_source"),
    }
    (row,) = scores.rows()
    assert row["ac"] == pytest.approx(0.9)
    assert not row.keys() & {"bos", "confidence_stability", "fd", "pcr_consistency", "atc_source"}


def test_images_at_once_give_the_numbers_of_one_after_another_to_the_last_bit():
    single = score_set(IMAGES)
    for size in (2, 5, len(IMAGES)):
        several = score_set()
        for start in range(0, len(IMAGES), size):
            several.update_batch(IMAGES[start : start + size])
        assert several.absent == single.absent
        np.testing.assert_equal(several.rows(), single.rows())
        np.testing.assert_equal(several.resample(resamples=5), single.resample(resamples=5))


def test_a_score_that_one_of_several_images_lacks_is_absent_from_the_whole():
    scores = score_set()
    without = replace(IMAGES[3], energies=None, missing={"energies": "the head gives none"})
    scores.update_batch([IMAGES[0], without, IMAGES[1]])
    scores.update_batch(IMAGES[4:6])
    assert scores.absent == {"energy": "the head gives none"}
    assert "energy" not in scores.rows()[0]


def test_a_score_that_one_shard_lacks_is_absent_from_the_whole():
    one, other = score_set(IMAGES[:2]), score_set()
    other.update(replace(IMAGES[3], energies=None, missing={"energies": "the head gives none"}))
    one.merge(other)
    assert one.absent == {"energy": "the head gives none"}
    assert "energy" not in one.rows()[0]


def test_a_category_without_a_box_gives_nan_and_counts():
    row = score_set([IMAGES[-1]] * 3).rows()[0]
    assert row["no_box_share"] == 1
    assert row["boxes_per_image"] == 0
    assert row["bos"] == 0  # equation 4: an image without a pair adds 0
    for name in ("ac", "ps@0.95", "energy", "pcr_consistency"):
        assert math.isnan(row[name])
    assert row["bos_strict"] == 0


def test_no_image_gives_nan():
    assert all(math.isnan(value) for value in score_set().rows()[0].values())


@pytest.mark.parametrize(
    ("field", "array"),
    [
        ("clean", "boxes"),
        ("clean", "scores"),
        ("candidates", "boxes"),
        ("perturbed", "scores"),
        ("views", "boxes"),
    ],
)
@pytest.mark.parametrize(("bad", "word"), [(np.nan, "1 NaN"), (np.inf, "1 infinite")])
def test_values_that_are_not_finite_are_refused_by_name(field, array, bad, word):
    value = getattr(IMAGES[1], field)
    several = isinstance(value, tuple)
    detections = value[1] if several else value
    values = getattr(detections, array).copy()
    values.flat[0] = bad
    spoiled = replace(detections, **{array: values})
    image = replace(IMAGES[1], **{field: (value[0], spoiled) if several else spoiled})
    name = f"{field}{[1] if several else ''}.{array}"
    with pytest.raises(InputError) as error:
        score_set().update(image)
    assert name in str(error.value)
    assert "image '1'" in str(error.value)
    assert word in str(error.value)


@pytest.mark.parametrize("field", ["energies", "features"])
def test_energies_and_features_that_are_not_finite_are_refused(field):
    values = getattr(IMAGES[1], field).copy()
    values.flat[0] = -np.inf
    with pytest.raises(InputError, match=f"{field} of image '1' holds 0 NaN and 1 infinite"):
        score_set().update(replace(IMAGES[1], **{field: values}))
