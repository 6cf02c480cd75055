from copy import deepcopy

import cv2
import numpy as np
import pytest
import torch
from branching import same
from mmengine.config import Config

from autoeval.detectors import MMDetector
from autoeval.detectors.causes import UnsuitableSize, size_errors
from autoeval.detectors.predicting import predict
from autoeval.detectors.preprocessing import rescale_pipeline
from autoeval.errors import InputError

PREDICT = "autoeval.detectors.detector.predict"


def halved(detector):
    """Return the same model under a config whose pipeline says half of 96 x 64."""
    config = deepcopy(detector.config)
    for step in config.test_dataloader.dataset.pipeline:
        if "scale" in step:
            step.scale = (48, 32)
        if "size" in step:
            step.size = (64, 64)
    return MMDetector(detector.model, config, detector.categories)


@pytest.mark.parametrize("name", ["retinanet_r18", "faster_rcnn_r50", "yolox_nano", "rtmdet_tiny"])
def test_half_the_size_is_what_a_config_of_half_the_size_gives(build, images, name):
    detector, ids = build(name), ["a", "b", "c"]
    plain = detector.observe(images, ids)
    both = detector.observe(images, ids, wants=["half_size"])
    other = halved(detector).observe(images, ids)
    for one, found, expected in zip(plain, both, other, strict=True):
        assert len(expected.clean)
        assert same(found.clean, one.clean) and same(found.half_size, expected.clean)
        assert one.half_size is None and found.missing == {}


def failing_when_small(error):
    """Return passes that fail on an input of half the size."""

    def run(model, batch):
        if batch.inputs.shape[-1] < 96:
            raise error
        return predict(model, batch)

    return run


def too_small():
    """Return torch's own error about a map that is smaller than a kernel."""
    with pytest.raises(RuntimeError) as raised:
        torch.nn.functional.conv2d(torch.zeros(1, 1, 2, 2), torch.zeros(1, 1, 3, 3))
    return raised.value


def test_a_network_of_one_size_sees_half_the_image_on_a_canvas(build, images, monkeypatch):
    """Its boxes are those of a plain pass over the canvas, times two, the grey left out."""
    detector = build("retinanet_r18")
    image = images[0]  # 90 x 120
    canvas = np.full_like(image, 114)
    canvas[:45, :60] = cv2.resize(image, (60, 45), interpolation=cv2.INTER_AREA)
    (plain,) = detector.observe([canvas], ["a"])
    centres = (plain.clean.boxes[:, :2] + plain.clean.boxes[:, 2:]) / 2
    inside = (centres < (60, 45)).all(axis=1)
    assert 0 < inside.sum() < len(inside)
    monkeypatch.setattr(PREDICT, failing_when_small(too_small()))
    found = detector.observe([image, image], ["a", "b"], wants=["half_size"])
    for evidence in found:
        assert evidence.missing == {}
        expected = np.minimum(plain.clean.boxes[inside] * 2, (120, 90, 120, 90))
        np.testing.assert_allclose(evidence.half_size.boxes, expected, rtol=1e-6)
        np.testing.assert_array_equal(evidence.half_size.scores, plain.clean.scores[inside])


def test_images_that_go_through_at_half_the_size_have_no_canvas(build, images, monkeypatch):
    """Whatever is observed beside them: each image's boxes are its own."""
    detector = build("retinanet_r18")
    (alone,) = detector.observe(images[:1], ["a"], wants=["half_size"])
    run, other = detector.halving.of_input, images[0].copy()

    def of_input(given):
        if any(image is other for image in given):
            raise UnsuitableSize("too small")
        return run(given)

    monkeypatch.setattr(detector.halving, "of_input", of_input)
    beside, canvas = detector.observe([images[0], other], ["a", "b"], wants=["half_size"])
    np.testing.assert_array_equal(beside.half_size.boxes, alone.half_size.boxes)
    assert not np.array_equal(canvas.half_size.boxes, alone.half_size.boxes)


def test_a_pipeline_that_cannot_be_halved_is_a_reason(build, images, monkeypatch):
    detector = build("retinanet_r18")

    def make():
        raise InputError("no such step")

    monkeypatch.setattr(detector.halving, "_make", make)
    monkeypatch.delitem(detector.halving.__dict__, "_preprocess", raising=False)
    (evidence,) = detector.observe(images[:1], ["a"], wants=["half_size"])
    assert len(evidence.clean)
    assert evidence.half_size is None
    assert "nothing at half its input size: no such step" in evidence.missing["half_size"]


def test_other_failures_at_half_the_size_are_failures(build, images, monkeypatch):
    """Memory that runs out says nothing about the detector: the job has failed."""
    detector = build("retinanet_r18")
    for error in (torch.OutOfMemoryError("CUDA out of memory."), RuntimeError("cuDNN error")):
        with monkeypatch.context() as patch:
            patch.setattr(PREDICT, failing_when_small(error))
            with pytest.raises(RuntimeError, match=str(error)):
                detector.observe(images[:1], ["a"], wants=["half_size"])


def small(x):
    return torch.zeros(1, 1, x, x)


@pytest.mark.parametrize(
    "operation",
    [
        lambda: torch.nn.functional.max_pool2d(small(1), 2),
        lambda: torch.nn.functional.pad(small(2), (4, 4, 4, 4), mode="reflect"),
        lambda: torch.nn.functional.interpolate(small(1), scale_factor=0.5),
        lambda: torch.cat([small(2), small(3)], 1),
        lambda: small(2) + small(3),
        lambda: small(3).reshape(1, 1, 2, 5),
        lambda: small(1).flatten().topk(3),
    ],
)
def test_what_torch_says_of_sizes(operation):
    """If torch changes its words, this is where it shows."""
    with pytest.raises(UnsuitableSize), size_errors():
        operation()


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


def test_a_pipeline_that_does_not_resize_does_so_for_half_the_size():
    """As CornerNet's, whose last step leaves the scale out of what it hands on."""
    steps = [
        {"type": "LoadImageFromFile"},
        {"type": "RandomCenterCropPad"},
        {"type": "PackDetInputs", "meta_keys": ("img_id", "border")},
    ]
    assert rescale_pipeline(steps, 0.5) == [
        {"type": "LoadImageFromFile"},
        {"type": "mmdet.Resize", "scale_factor": 0.5},
        {"type": "RandomCenterCropPad"},
        {"type": "PackDetInputs", "meta_keys": ("img_id", "border", "scale_factor")},
    ]


def test_half_of_an_image_that_is_not_resized_is_in_its_own_pixels(build, images):
    """The boxes of half the image, found by a config that does not resize, times two."""
    detector = build("retinanet_r18")
    config = Config(detector.config.to_dict())
    steps = [s for s in config.test_dataloader.dataset.pipeline if s.type != "Resize"]
    config.test_dataloader.dataset.pipeline = steps
    other = MMDetector(detector.model, config, detector.categories)
    other._preprocess = detector._preprocess
    image = images[0][:64, :64]
    (evidence,) = other.observe([image], ["a"], wants=["half_size"])
    half = cv2.resize(image, (32, 32))
    config.test_dataloader.dataset.pipeline.insert(1, {"type": "Resize", "scale_factor": 1.0})
    (plain,) = MMDetector(detector.model, config, detector.categories).observe([half], ["a"])
    assert evidence.missing == {} and len(plain.clean)
    np.testing.assert_allclose(evidence.half_size.boxes, plain.clean.boxes * 2, rtol=1e-5)
