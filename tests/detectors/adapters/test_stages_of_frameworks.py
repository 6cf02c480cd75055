"""Feature dropout in networks of other frameworks at modules of theirs, as a user names them."""

import pytest
from framework_images import scenes

from autoeval.detectors.adapters import wrap_object
from autoeval.stability.network.forward.dropout_spec import DropoutSpec
from autoeval.stability.passes.presets import as_perturbable
from tests.clients.torchvision_operators import usable_torchvision


def ultralytics_model(tmp_path):
    pytest.importorskip("ultralytics", reason="needs the extra 'ultralytics'")
    usable_torchvision()
    from test_ultralytics_model import spread
    from ultralytics import YOLO

    model = YOLO("yolo11n.yaml")
    spread(model.model)
    model.overrides["imgsz"] = 160
    return model, ["model.4", "model.6", "model.9"]


def torchvision_model(tmp_path):
    usable_torchvision()
    from test_torchvision_model import SIZE, build

    model = build("retinanet_resnet50_fpn")
    model.transform.min_size, model.transform.max_size = (SIZE["min_size"],), SIZE["max_size"]
    return model, ["layer1", "layer2", "layer3"]


def transformers_model(tmp_path):
    pytest.importorskip("transformers", reason="needs the extra 'transformers'")
    from test_transformers_model import rtdetr

    stages = [f"encoder.stages.{k}" for k in (0, 1, 2)]
    return rtdetr(), stages


@pytest.mark.parametrize("build", [ultralytics_model, torchvision_model, transformers_model])
def test_boxes_move_under_dropout(build, tmp_path):
    import torch

    torch.manual_seed(0)
    model, stages = build(tmp_path)
    detector = as_perturbable(wrap_object(model), stages)
    (image,) = scenes(1)
    spec = DropoutSpec("after", (1, 2), 0.3)
    observed = [
        detector.observe([image], ["a"], dropout=spec, repeats=2, seed=1)[0] for _ in range(2)
    ]
    clean, perturbed = observed[0].clean, observed[0].perturbed
    assert len(clean) and len(perturbed) == 2
    for one, other in zip(perturbed, observed[1].perturbed, strict=True):
        assert one.boxes.tolist() == other.boxes.tolist()  # masks by seed
    differing = [one.boxes.tolist() != clean.boxes.tolist() for one in perturbed]
    assert all(differing) and perturbed[0].boxes.tolist() != perturbed[1].boxes.tolist()
    # Without dropout nothing moves: hooks alone change nothing.
    none = DropoutSpec("after", (1, 2), 0.0)
    (still,) = detector.observe([image], ["a"], dropout=none, repeats=1)
    assert still.perturbed[0].boxes.tolist() == clean.boxes.tolist()
