"""Every known detector under dropout, against mmdet's own inference."""

import pytest
import torch
from branching import perturb, same
from random_detectors import KNOWN, mmdet_boxes

from autoeval.detectors.building.category_names import coco_categories
from autoeval.detectors.loading import build_model, read_config
from autoeval.detectors.predicting import Batch
from autoeval.detectors.preprocessing import collate
from autoeval.stability.network.forward.dropout_spec import DropoutSpec
from autoeval.stability.network.forward.passes import HookedPasses
from autoeval.stability.network.perturbable import PerturbableDetector


@pytest.fixture(params=KNOWN)
def detector(request, build):
    return build(request.param)


def prepare(detector, images):
    """Preprocess images of one size into a batch."""
    return Batch(*collate(detector.model, [detector._preprocess(image) for image in images]))


@pytest.mark.parametrize(("position", "number"), [("after", 0), ("before", 1)])
def test_rate_zero_is_mmdets_own_predict(detector, images, position, number):
    """As the clean pass is, whose backbone is a chain of layers; of images of two sizes."""
    spec, image = DropoutSpec(position, (0, 1, 2, 3), 0.0), images[number]
    (evidence,) = detector.observe([image], ["a"], dropout=spec, repeats=1)
    expected = mmdet_boxes(detector, image)
    assert len(expected) > 5
    assert same(evidence.clean, expected) and same(evidence.perturbed[0], expected)


def test_perturbed_boxes_equal_those_of_the_full_pass(detector, images, monkeypatch):
    """The full pass is mmdet's own predict with dropout hooked into the whole model."""
    spec, staged = DropoutSpec("before", (1, 2), 0.15), detector._passes
    cached = detector.observe(images[:1], ["a"], dropout=spec, repeats=2, seed=3)[0].perturbed
    hooked = HookedPasses(detector.model, staged.staged.points)
    monkeypatch.setattr(detector, "_passes", hooked)
    full = detector.observe(images[:1], ["a"], dropout=spec, repeats=2, seed=3)[0].perturbed
    assert same(cached[0], full[0]) and same(cached[1], full[1])
    assert not same(cached[0], cached[1])


def test_grouping_and_order_change_nothing(detector, images):
    spec, names = DropoutSpec("after", (1, 2), 0.15), ["a", "b", "c"]
    together = detector.observe(images, names, dropout=spec, repeats=1, seed=1)
    for i in (2, 0, 1):
        (alone,) = detector.observe([images[i]], [names[i]], dropout=spec, repeats=1, seed=1)
        assert together[i].image_id == alone.image_id
        assert same(together[i].clean, alone.clean)
        assert same(together[i].perturbed[0], alone.perturbed[0])


def test_batches_agree_to_rounding(detector, images):
    """Larger batches choose other kernels, so sums may round differently."""
    batch, spec = prepare(detector, images[::2]), DropoutSpec("before", (1, 2), 0.15)
    staged, rows, seeds = detector._passes.staged, [0, 1, 0, 1], [5, 6, 7, 8]
    with torch.inference_mode():
        _, together = perturb(staged, batch.inputs, spec, seeds, rows)
        for i, (row, seed) in enumerate(zip(rows, seeds, strict=True)):
            _, alone = perturb(staged, batch.inputs, spec, [seed], [row])
            for one, other in zip(alone, together, strict=True):
                assert (one[0] - other[i]).abs().max() < 1e-4 * one.abs().max()


def test_nothing_is_left_behind(detector, images):
    def count_hooks():
        return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())

    model = detector.model
    hooks = count_hooks()
    detector.observe(images[:1], ["a"], dropout=DropoutSpec(), repeats=1)
    assert hooks == count_hooks()
    assert "forward" not in vars(model.backbone)
    assert not model.training


def test_ssdlite_runs(images, tmp_path):
    """It has MobileNetV2, which no known detector has, and a head that mmdet 3.3 left broken."""
    path = tmp_path / "ssdlite.py"
    path.write_text('_base_ = "mmdet::ssd/ssdlite_mobilenetv2-scratch_8xb24-600e_coco.py"')
    config = read_config(path, {"model.test_cfg.score_thr": 0.0, "model.test_cfg.nms_pre": 50})
    detector = PerturbableDetector(build_model(config), config, coco_categories())
    spec = DropoutSpec("before", (1, 2), 0.3)
    (seen,) = detector.observe(images[:1], ["a"], dropout=spec, repeats=1)
    assert same(seen.clean, mmdet_boxes(detector, images[0]))
    assert len(seen.clean) and not same(seen.clean, seen.perturbed[0])
