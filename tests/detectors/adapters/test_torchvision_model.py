"""torchvision: boxes equal those of its own modules, with networks of random weights.

Run where it is installed: `pip install -e '.[torchvision]'`. Beside a torch of another build its
NMS is replaced by ours, as for the tests of other programs.
"""

import argparse
from dataclasses import replace

import numpy as np
import pytest
from framework_images import assert_same, scenes, two_sizes

import autoeval
from autoeval.detectors.adapters.torchvision_model import from_torchvision
from autoeval.detectors.detector_spec import DetectorSpec
from autoeval.errors import InputError
from autoeval.estimation.run_detector import check_detector
from tests.clients.torchvision_operators import usable_torchvision

SIZE = {"min_size": 120, "max_size": 160}
SMALL = {**SIZE, "rpn_post_nms_top_n_test": 40}
FASTER = "fasterrcnn_mobilenet_v3_large_320_fpn"


@pytest.fixture(scope="module", autouse=True)
def torchvision():
    return usable_torchvision()


def build(name, **options):
    """A module with random weights whose classifier tells boxes apart."""
    import torch
    from torchvision.models import get_model

    torch.manual_seed(0)
    size = {} if name.startswith("ssd") else SMALL if "rcnn" in name else SIZE
    model = get_model(name, weights=None, weights_backbone=None, **size, **options).eval()
    for key, value in model.named_parameters():
        if "cls_" in key and key.endswith("weight"):
            torch.nn.init.normal_(value, std=2)
        elif key.endswith("cls_logits.bias"):
            torch.nn.init.constant_(value, -2)
    return model


def own_boxes(model, images):
    import torch

    with torch.inference_mode():
        tensors = [torch.from_numpy(i[:, :, ::-1].copy()).permute(2, 0, 1) / 255 for i in images]
        return [model([tensor])[0] for tensor in tensors]


@pytest.mark.parametrize("name", [FASTER, "ssdlite320_mobilenet_v3_large"])
def test_boxes_are_those_of_the_module(name):
    """Also of images of two sizes at once, which torchvision would pad to one."""
    model, images = build(name), two_sizes()
    found = own_boxes(model, images)
    assert min(len(f["boxes"]) for f in found) > 3
    detector = from_torchvision(model)
    assert_same(detector.observe(images, list("abc")), found, images)
    assert detector.categories[90] == "toothbrush"
    assert detector.settings["score_thresh"] == (0.05 if name == FASTER else 0.001)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["retinanet_resnet50_fpn", "fcos_resnet50_fpn", "maskrcnn_resnet50_fpn", "ssd300_vgg16"]
)
def test_boxes_of_the_other_kinds(name):
    model, images = build(name), scenes(1)
    found = own_boxes(model, images)
    detector = from_torchvision(model)
    assert_same(detector.observe(images, ["a"]), found, images)
    assert len(detector.categories) == 91


def test_a_checkpoint_of_other_categories(tmp_path):
    """Named on the command line, with low scores; the words may leave out the background."""
    import torch

    model = build(FASTER, num_classes=3)
    torch.save({"model": model.state_dict(), "epoch": 3}, tmp_path / "last.pth")
    (tmp_path / "words.txt").write_text("car\nbus\n")
    loading = {"checkpoint": str(tmp_path / "last.pth"), "device": "cpu"}
    named = {"classes": str(tmp_path / "words.txt")}
    spec = DetectorSpec(f"torchvision:{FASTER}", **loading, **named)
    given = {"num_classes": 3, **SMALL}
    detector = DetectorSpec(spec.name, **loading, **named, cfg_options=given)()
    assert detector.categories == ("__background__", "car", "bus")
    model.roi_heads.score_thresh = 0.01
    images = scenes(2)
    assert_same(detector.observe(images, list("ab")), own_boxes(model, images), images)
    given["rpn_score_thresh"] = 0.0  # of proposals
    assert DetectorSpec(spec.name, **loading, **named, cfg_options=given)().settings == {
        **detector.settings, "rpn.score_thresh": 0.0
    }  # fmt: skip
    given["box_score_thresh"] = 0.2
    higher = DetectorSpec(spec.name, **loading, **named, cfg_options=given)()
    assert higher.settings["score_thresh"] == 0.2
    for built in ({}, {"num_classes": 5}):
        with pytest.raises(InputError, match=r"3 labels.*num_classes=3.*--classes FILE"):
            DetectorSpec(spec.name, **loading, **named, cfg_options=built)()


def test_a_checkpoint_with_more_than_weights_is_read_where_it_is_trusted(tmp_path):
    """As torchvision's own training writes it, with the arguments of the command line."""
    import torch

    content = {"model": build(FASTER).state_dict(), "args": argparse.Namespace(epochs=26)}
    torch.save(content, tmp_path / "model_25.pth")
    spec = DetectorSpec(f"torchvision:{FASTER}", checkpoint=str(tmp_path / "model_25.pth"))
    with pytest.raises(InputError, match="--trust-checkpoint"):
        spec()
    assert len(replace(spec, trust_checkpoint=True)().categories) == 91


@pytest.mark.parametrize(
    ("name", "option"),
    [
        (FASTER, {"rpn_pre_nms_top_n_test": 4}),
        (FASTER, {"rpn_nms_thresh": 0.2}),
        (FASTER, {"box_detections_per_img": 7}),
        (FASTER, {"bbox_reg_weights": (5.0, 5.0, 5.0, 5.0)}),
        (FASTER, {"_skip_resize": True}),
        ("retinanet_resnet50_fpn", {"topk_candidates": 9}),
    ],
)
def test_whatever_changes_boxes_makes_another_detector(name, option):
    plain, changed = from_torchvision(build(name)), from_torchvision(build(name, **option))
    assert plain.fingerprint == from_torchvision(build(name)).fingerprint != changed.fingerprint


@pytest.mark.parametrize("name", ["retinanet_resnet50_fpn", "fcos_resnet50_fpn", "ssd300_vgg16"])
def test_a_one_stage_checkpoint_of_other_categories(name, tmp_path):
    """A head has as many biases for each label as anchors: 9, 1, and 4 or 6."""
    import torch

    model = build(name, num_classes=4)
    torch.save(model.state_dict(), tmp_path / "last.pth")
    loading = {"checkpoint": str(tmp_path / "last.pth"), "device": "cpu"}
    with pytest.raises(InputError, match=r"has 4 labels.*built for 91: .*num_classes=4"):
        DetectorSpec(f"torchvision:{name}", **loading)()


def test_words_that_do_not_fit():
    import torch

    model = build(FASTER, num_classes=3)
    with pytest.raises(InputError, match="gives 3 labels, and their words are not known"):
        from_torchvision(model)
    other = build(FASTER, num_classes=3)
    other.roi_heads.box_predictor = torch.nn.Module()  # of its user: it need not say how many
    with pytest.raises(InputError, match="unknown number of labels, and their words are not known"):
        from_torchvision(other)
    assert from_torchvision(other, ["a", "b", "c"]).categories == ("a", "b", "c")
    with pytest.raises(InputError, match=r"Expected 3 categories, or 2 without.* but got 4"):
        from_torchvision(model, ["a", "b", "c", "d"])
    assert from_torchvision(model, ["a", "b", "c"]).categories == ("a", "b", "c")


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (DetectorSpec("torchvision:yolo"), "no detector 'yolo': expected fasterrcnn"),
        (DetectorSpec(f"torchvision:{FASTER}", precision="half"), "no precision with"),
        (
            DetectorSpec(f"torchvision:{FASTER}", checkpoint="a", cfg_options={"sides": 3}),
            "has 'sides'",
        ),
    ],
)
def test_what_is_refused(spec, told):
    with pytest.raises(InputError, match=told):
        spec()


def test_weights_that_cannot_be_fetched(tmp_path, monkeypatch):
    import torch
    from torchvision.models import get_model_weights

    def offline(*args, **options):
        raise OSError("no network")

    monkeypatch.setattr(torch.hub, "download_url_to_file", offline)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    with pytest.raises(InputError) as refused:
        DetectorSpec(f"torchvision:{FASTER}")()
    address = get_model_weights(FASTER).DEFAULT.url
    for part in (address, str(tmp_path), "--checkpoint FILE"):
        assert part in str(refused.value)


def test_published_weights_are_run_as_torchvision_runs_them(tmp_path, monkeypatch):
    """Those of its first ResNet-50 are for norms whose eps is 0; a copy lies where it looks."""
    import torch
    from torchvision.models import get_model, get_model_weights

    name, low = "fasterrcnn_resnet50_fpn", {**SMALL, "box_score_thresh": 0.01}
    model, published = build(name), get_model_weights(name).DEFAULT
    weights = {k: v for k, v in model.state_dict().items() if "num_batches" not in k}
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    (tmp_path / "hub/checkpoints").mkdir(parents=True)
    torch.save(weights, tmp_path / "hub/checkpoints" / published.url.rpartition("/")[2])
    detector = DetectorSpec(f"torchvision:{name}", device="cpu", cfg_options=low)()
    own, images = get_model(name, weights=published, **low).eval(), scenes(1)
    found = own_boxes(own, images)
    assert len(found[0]["boxes"]) > 3
    assert_same(detector.observe(images, ["a"]), found, images)
    assert detector.fingerprint == from_torchvision(own).fingerprint


def test_detect_takes_the_module(tmp_path):
    model = build(FASTER)
    model.roi_heads.nms_thresh = 0.3
    scenes(2, tmp_path / "site")
    found = autoeval.detect(model, tmp_path / "site", tmp_path / "boxes.parquet")
    assert len(found.images) == 2
    assert found.run.settings["framework"] == "torchvision"
    assert found.run.settings["nms_thresh"] == 0.3


def test_a_module_that_is_trained_on_is_another_detector(tmp_path):
    """A kept `Detector` had the hash of its first weights: their boxes were taken for the new."""
    import torch

    model, images = build(FASTER), scenes(2)
    scenes(2, tmp_path / "site")
    detector = autoeval.Detector(model)

    def detect():
        paths = tmp_path / "site", tmp_path / "boxes.parquet"
        return autoeval.detect(detector, *paths, work_dir=tmp_path / "kept")

    first = detect()
    model.train()  # as a training does, between two estimates
    with torch.no_grad():
        model.roi_heads.box_predictor.cls_score.weight.mul_(-1)
    second = detect()
    assert second.run.fingerprint != first.run.fingerprint
    found = own_boxes(model, images)
    assert_same(detector.loaded.observe(images, list("ab")), found, images)
    scores = np.concatenate([f["scores"].numpy() for f in found])
    np.testing.assert_allclose(np.sort(second.scores), np.sort(scores), atol=1e-6)
    with pytest.raises(InputError, match="weights"):
        check_detector({"detector": first.run.settings}, detector.loaded)
