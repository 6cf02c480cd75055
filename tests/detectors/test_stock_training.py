"""A stock config with deformable convolutions, made thin, trained by mmengine's runner."""

import json
import math

import cv2
import numpy as np
import pytest
import torch
from mmengine.runner.checkpoint import CheckpointLoader
from stock_training import CONFIGS, put_random_weights, short, train

THIN = {
    "model.backbone.base_channels": 8,
    "model.backbone.stem_channels": 8,
    "model.neck.in_channels": [32, 64, 128, 256],
}


@pytest.fixture
def coco(tmp_path):
    """Write two images with a bright block each, and what they hold in COCO's format."""
    images, boxes = [], []
    for k in range(2):
        image = np.full((96, 128, 3), 40, np.uint8)
        image[20:60, 30 + 20 * k : 80 + 20 * k] = 200
        cv2.imwrite(str(tmp_path / f"{k}.png"), image)
        images.append({"id": k, "file_name": f"{k}.png", "height": 96, "width": 128})
        box = {"bbox": [30 + 20 * k, 20, 50, 40], "area": 2000, "iscrowd": 0}
        boxes.append({"id": k + 1, "image_id": k, "category_id": 1, **box})
    content = {"images": images, "annotations": boxes, "categories": [{"id": 1, "name": "block"}]}
    (tmp_path / "coco.json").write_text(json.dumps(content))
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("path", CONFIGS[1:], ids=["deformable", "modulated"])
def test_the_loss_falls_and_offsets_move(path, coco, tmp_path, monkeypatch):
    """Its backbone's weights come from the file that ``torchvision://resnet50`` stands for."""
    monkeypatch.setattr(torch.hub, "_hub_dir", None)
    monkeypatch.setattr(CheckpointLoader, "_schemes", dict(CheckpointLoader._schemes))
    config = short(path, tmp_path / "work", coco / "coco.json", coco, n=2, iterations=20)
    config.merge_from_dict(THIN)
    put_random_weights(config, tmp_path / "hub")
    outcome = train(config)
    losses = outcome["losses"]
    assert len(losses) == 20 and all(map(math.isfinite, losses))
    assert sum(losses[-5:]) < 0.8 * sum(losses[:5])  # from the same two images
    assert outcome["offsets"] > 0
