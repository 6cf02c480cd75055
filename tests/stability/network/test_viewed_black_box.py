"""What published scores get of a black box."""

import numpy as np
import pytest
from bright_street import WORDS, find_bright, street

from autoeval.detectors.black_box import BlackBoxDetector
from autoeval.errors import InputError
from autoeval.stability.network.viewed_black_box import ViewedBlackBox


@pytest.fixture
def detector():
    return ViewedBlackBox(BlackBoxDetector(find_bright, WORDS))


def test_views_are_found_on_altered_images(detector):
    (found,) = detector.observe([street()], ["a"], wants=("views",))
    # darker (140, under 150), brighter (255), flatter (171)
    assert [len(view) for view in found.views] == [0, 1, 1]
    assert found.views[1].scores[0] == 1.0


def test_each_image_has_its_own_views(detector):
    images = [street(), np.zeros((8, 8, 3), np.uint8)]
    first, second = detector.observe(images, ["a", "b"], wants=("views", "energies"))
    (plain,) = BlackBoxDetector(find_bright, WORDS).observe(images[:1], ["a"])
    np.testing.assert_array_equal(first.clean.boxes, plain.clean.boxes)
    assert [len(view) for view in second.views] == [0, 0, 0]


def test_what_is_missing_has_a_reason(detector):
    (evidence,) = detector.observe([street()], ["a"])
    fields = ("perturbed", "candidates", "energies", "logits", "features", "prototypes")
    for field in (*fields, "reweighted"):
        assert "black box" in evidence.why_missing(field)
    assert evidence.why_missing("views") == "the pass was made without views"


def test_it_refuses_repeats_with_the_reason(detector):
    with pytest.raises(InputError, match=r"no dropout repeats .* no features that dropout could"):
        detector.observe([street()], ["a"], repeats=3)
