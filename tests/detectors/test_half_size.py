from copy import deepcopy

import numpy as np
import pytest
from mmengine.config import Config

from autoeval.detectors import Detector
from autoeval.detectors.preprocessing import rescale_pipeline
from autoeval.errors import InputError

FIELDS = ("boxes", "scores", "labels")


def halved(detector):
    """Return the same model under a config whose pipeline says half of 96 x 64."""
    config = deepcopy(detector.config)
    for step in config.test_dataloader.dataset.pipeline:
        if "scale" in step:
            step.scale = (48, 32)
        if "size" in step:
            step.size = (64, 64)
    return Detector(detector.model, config, detector.categories)


@pytest.mark.parametrize("name", ["retinanet_r18", "faster_rcnn_r50", "yolox_nano", "rtmdet_tiny"])
def test_half_the_size_is_what_a_config_of_half_the_size_gives(build, images, name):
    detector = build(name)
    ids = ["a", "b", "c"]
    plain = detector.observe(images, ids)
    both = detector.observe(images, ids, wants=["half_size"])
    other = halved(detector).observe(images, ids)
    for one, found, expected in zip(plain, both, other, strict=True):
        assert len(expected.clean)
        for field in FIELDS:
            np.testing.assert_array_equal(getattr(found.clean, field), getattr(one.clean, field))
            np.testing.assert_array_equal(
                getattr(found.half_size, field), getattr(expected.clean, field)
            )
        assert one.half_size is None and found.missing == {}


def test_a_network_that_cannot_take_half_the_size_says_so(build, images, monkeypatch):
    detector = build("retinanet_r18")
    run = detector._passes.clean

    def clean(batch, dropouts):
        if batch.inputs.shape[-1] < 96:
            raise RuntimeError("Kernel size can't be greater than actual input size")
        return run(batch, dropouts)

    monkeypatch.setattr(detector._passes, "clean", clean)
    (evidence,) = detector.observe(images[:1], ["a"], wants=["half_size", "features"])
    assert len(evidence.clean) and evidence.features is not None
    assert evidence.half_size is None
    assert "RetinaNet gives nothing at half its input size: Kernel" in evidence.missing["half_size"]


def test_sizes_and_factors_are_multiplied_and_nothing_else():
    steps = [
        {"type": "mmdet.Resize", "scale": (1333, 800), "keep_ratio": True},
        {"type": "Pad", "size": (641, 640), "pad_val": 114},
        {"type": "Resize", "scale_factor": 0.5},
        {"type": "PackDetInputs", "scale": 3},
    ]
    assert rescale_pipeline(steps, 0.5) == [
        {"type": "mmdet.Resize", "scale": (666, 400), "keep_ratio": True},
        {"type": "Pad", "size": (352, 320), "pad_val": 114},
        {"type": "Resize", "scale_factor": 0.25},
        {"type": "PackDetInputs", "scale": 3},
    ]


def test_a_pipeline_that_does_not_resize_has_no_half_size(build, images):
    detector = build("retinanet_r18")
    steps = [s for s in detector.config.test_dataloader.dataset.pipeline if s.type != "Resize"]
    with pytest.raises(InputError, match="no step that resizes"):
        rescale_pipeline(steps, 0.5)
    config = Config(detector.config.to_dict())
    config.test_dataloader.dataset.pipeline = steps
    small = images[0][:64, :64]
    other = Detector(detector.model, config, detector.categories)
    other._preprocess = detector._preprocess
    (evidence,) = other.observe([small], ["a"], wants=["half_size"])
    assert "no step that resizes" in evidence.missing["half_size"]
