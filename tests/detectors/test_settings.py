"""The fingerprint changes with all that changes boxes, and with nothing else."""

import json

import pytest
import torch

from autoeval.detectors.loading import build_model, read_config
from autoeval.detectors.settings import describe, fingerprint, hash_weights


def settings(changes=None, seed=0, categories=("a",)):
    torch.manual_seed(seed)
    config = read_config("yolox_nano", {"model.backbone.widen_factor": 0.25, **(changes or {})})
    return describe(build_model(config), config, categories)


@pytest.fixture(scope="module")
def base():
    return settings()


def differing(one, other):
    return {key for key in one.keys() | other.keys() if one.get(key) != other.get(key)}


def test_the_same_again(base):
    assert settings() == base
    assert fingerprint(settings()) == fingerprint(base)
    assert json.loads(json.dumps(base)) == base


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"model.test_cfg.score_thr": 0.3}, {"test_cfg.score_thr"}),
        ({"model.test_cfg.nms.iou_threshold": 0.5}, {"test_cfg.nms.iou_threshold"}),
        (
            {"model.data_preprocessor.mean": [1, 2, 3], "model.data_preprocessor.std": [1, 1, 1]},
            {"data_preprocessor.mean", "data_preprocessor.std"},
        ),
        ({"test_dataloader.dataset.pipeline.1.scale": (9, 9)}, {"test_pipeline.1.Resize.scale"}),
        ({"model.bbox_head.use_depthwise": False}, {"model", "weights"}),
    ],
)
def test_a_change_shows_where_it_was_made(base, changes, names):
    changed = settings(changes)
    assert differing(changed, base) == names
    assert fingerprint(changed) != fingerprint(base)


def test_other_weights_and_categories(base):
    assert differing(settings(seed=1), base) == {"weights"}
    assert differing(settings(categories=("b",)), base) == {"categories"}


def test_what_changes_no_box_changes_nothing(base):
    changes = {
        "model.train_cfg.assigner.center_radius": 9,
        "model.backbone.init_cfg": None,
        "optim_wrapper.optimizer.lr": 9.0,
        "test_dataloader.batch_size": 32,
        "test_dataloader.dataset.pipeline.0.backend_args": {"_delete_": True, "backend": "local"},
    }
    assert settings(changes) == base


def test_one_bit_of_one_weight():
    layer = torch.nn.Linear(3, 2)
    before = hash_weights(layer)
    with torch.no_grad():
        layer.bias[0] = torch.nextafter(layer.bias[0], torch.tensor(9.0))
    assert hash_weights(layer) != before
