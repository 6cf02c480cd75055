"""What `observe` promises beyond the known detectors."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from branching import same

from autoeval.published.network.forward.dropout_spec import DropoutSpec
from autoeval.detectors import MMDetector
from autoeval.errors import InputError


def test_repeats_and_seeds(build, images):
    detector, spec = build("yolox_nano"), DropoutSpec("before", (1, 2), 0.3)

    def scores(seed=0, name="a", repeats=2):
        (seen,) = detector.observe(images[:1], [name], dropout=spec, repeats=repeats, seed=seed)
        return [tuple(boxes.scores) for boxes in seen.perturbed]

    base = scores()
    assert len(base) == 2 and base[0] != base[1]
    assert scores(repeats=3)[:2] == base  # more repeats leave the first ones as they are
    assert scores(seed=1) != base and scores(name="b") != base


def test_without_dropout_and_without_images(build, images):
    detector = build("yolox_nano")
    seen = detector.observe(images, ["a", "b", "c"])
    assert [(one.image_id, one.perturbed) for one in seen] == [("a", ()), ("b", ()), ("c", ())]
    assert detector.observe([], []) == []
    labels = seen[0].clean.labels
    assert labels.min() >= 0 and labels.max() < len(detector.categories)


def test_its_representation_says_what_it_is(build):
    detector = build("yolox_nano")
    shown = repr(detector)
    assert shown.startswith("<MMDetector YOLOX on CSPDarknet, 80 categories, ")
    assert shown.endswith(f", {detector.fingerprint}>")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"image_ids": ["a", "b"]}, "one id for each image"),
        ({"images": [np.zeros((4, 4, 3))]}, r"\(4, 4, 3\) float64"),
        ({"images": [np.zeros((4, 4), np.uint8)]}, r"\(4, 4\) uint8"),
        ({"images": [np.zeros((0, 4, 3), np.uint8)]}, r"\(0, 4, 3\)"),
        ({"repeats": 1}, "with a `dropout`"),
        ({"repeats": -1, "dropout": DropoutSpec()}, "0 or more"),
    ],
)
def test_bad_calls(build, changes, message):
    call = {"images": [np.zeros((4, 4, 3), np.uint8)], "image_ids": ["a"], **changes}
    with pytest.raises(ValueError, match=message):
        build("yolox_nano").observe(**call)


@pytest.fixture
def unsplittable(build, monkeypatch):
    """A detector whose backbone has a forward of its own, and the one it is made from."""
    known = build("retinanet_r18")
    backbone = known.model.backbone

    class Other(type(backbone)):
        def forward(self, x):
            return super().forward(x)

    monkeypatch.setattr(backbone, "__class__", Other)
    with pytest.warns(UserWarning, match="Other.*cannot be split"):
        other = MMDetector(known.model, known.config, known.categories)
    return known, other


@pytest.mark.parametrize("position", ["after", "before"])
def test_fallback_gives_the_same_boxes(unsplittable, images, position):
    known, other = unsplittable
    assert known.splits_backbone and not other.splits_backbone
    spec = DropoutSpec(position, (0, 2), 0.3)
    both = (of.observe(images, ["a", "b", "c"], dropout=spec, repeats=2) for of in unsplittable)
    for one, two in zip(*both, strict=True):
        assert same(one.clean, two.clean) and all(map(same, one.perturbed, two.perturbed))


def test_fallback_without_stages(unsplittable, images, monkeypatch):
    known, _ = unsplittable
    monkeypatch.setattr("autoeval.published.network.forward.fallback.STAGE_LISTS", ())
    monkeypatch.setattr("autoeval.published.network.forward.fallback.STRIDES", ())
    with pytest.warns(UserWarning, match="No stages were found"):
        other = MMDetector(known.model, known.config, known.categories)
    assert len(other.observe(images[:1], ["a"])[0].clean)
    assert other.stages == () and "stages" not in other.settings
    with pytest.raises(InputError, match="Cannot find the stages of the backbone Other"):
        other.observe(images[:1], ["a"], dropout=DropoutSpec(), repeats=1)


def test_stages_of_ones_choice(unsplittable, images):
    """Given as the family has them they change no box; the settings tell them all the same."""
    known, _ = unsplittable
    names = ("layer1", "layer2", "layer3.0", "layer4")
    with pytest.raises(InputError, match=r"got layer2, conv9. It has conv1, bn1"):
        MMDetector(known.model, known.config, known.categories, stages=("layer2", "conv9"))
    other = MMDetector(known.model, known.config, known.categories, stages=names)
    assert other.stages == names and other.settings["stages"] == list(names)
    assert known.stages == ("layer1", "layer2", "layer3", "layer4")
    assert "stages" not in known.settings
    for stages, equal in (((0, 1), True), ((2,), False)):
        spec = DropoutSpec("after", stages, 0.3)
        (one,) = known.observe(images[:1], ["a"], dropout=spec, repeats=1)
        (two,) = other.observe(images[:1], ["a"], dropout=spec, repeats=1)
        assert np.array_equal(one.perturbed[0].boxes, two.perturbed[0].boxes) == equal


def test_batches_of_several_give_each_image_its_own(build, images, monkeypatch):
    """As on an accelerator: images of one size together, all repeats together."""
    detector, spec = build("yolox_nano"), DropoutSpec("before", (1, 2), 0.3)
    alone = detector.observe(images, ["a", "b", "c"], dropout=spec, repeats=3)
    monkeypatch.setattr(detector, "max_batch", 4)
    together = detector.observe(images, ["a", "b", "c"], dropout=spec, repeats=3)
    for one, two in zip(alone, together, strict=True):
        for a, b in zip((one.clean, *one.perturbed), (two.clean, *two.perturbed), strict=True):
            np.testing.assert_allclose(a.scores[:5], b.scores[:5], atol=1e-3)


PROGRAM = """
import warnings
import numpy as np
from autoeval.detectors import MMDetector
from autoeval.detectors.building.category_names import coco_categories
from autoeval.detectors.loading import build_model, read_config

config = read_config("yolox_nano")
detector = MMDetector(build_model(config), config, coco_categories())
detector.observe([np.zeros((64, 64, 3), np.uint8)], ["a"])
warnings.warn("something else of the future", FutureWarning)
"""


def test_three_warnings_are_silent_and_no_other():
    words = [sys.executable, "-c", PROGRAM]
    shown = subprocess.run(words, capture_output=True, text=True, check=True).stderr
    assert "something else of the future" in shown
    assert not any(word in shown for word in ("pkg_resources", "autocast", "meshgrid"))
