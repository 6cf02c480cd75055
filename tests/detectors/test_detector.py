"""What `observe` promises beyond the known detectors."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

from autoeval.detectors.predicting import single_precision


def test_images_of_several_sizes_and_none(build, images):
    detector = build("yolox_nano")
    seen = detector.observe(images, ["a", "b", "c"])
    assert [(one.image_id, one.image_size) for one in seen] == [
        (name, image.shape[:2]) for name, image in zip("abc", images, strict=True)
    ]
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
        ({"wants": ["half_size", "logits"]}, "among half_size, got logits"),
    ],
)
def test_bad_calls(build, changes, message):
    call = {"images": [np.zeros((4, 4, 3), np.uint8)], "image_ids": ["a"], **changes}
    with pytest.raises(ValueError, match=message):
        build("yolox_nano").observe(**call)


def test_batches_of_several_give_each_image_its_own(build, images, monkeypatch):
    """As on an accelerator: images of one size together."""
    detector = build("yolox_nano")
    alone = detector.observe(images, ["a", "b", "c"])
    monkeypatch.setattr(detector, "max_batch", 4)
    together = detector.observe(images, ["a", "b", "c"])
    for one, two in zip(alone, together, strict=True):
        np.testing.assert_allclose(one.clean.scores[:5], two.clean.scores[:5], atol=1e-3)


def test_passes_are_in_single_precision_and_leave_the_setting(build, images, monkeypatch):
    """TensorFloat-32, which torch allows on GPUs, makes boxes depend on the rest of a batch."""
    detector, allowed = build("yolox_nano"), []
    hook = detector.model.backbone.register_forward_hook(
        lambda *call: allowed.append(torch.backends.cudnn.allow_tf32)
    )
    for before in (True, False):
        monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", before)
        detector.observe(images[:1], ["a"])
        with pytest.raises(ZeroDivisionError), single_precision():
            1 / 0  # noqa: B018
        assert torch.backends.cudnn.allow_tf32 is before
    hook.remove()
    assert set(allowed) == {False}


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
