"""Changes to configs that make detectors quick to run on tiny images, and their backbones."""

import torch

from autoeval.detectors import ops

WIDTH = 96
HEIGHT = 64
RESIZE = {"test_dataloader.dataset.pipeline.1.scale": (WIDTH, HEIGHT)}
PAD = {"test_dataloader.dataset.pipeline.2.size": (WIDTH, WIDTH)}
# Random heads are never sure of anything and turn boxes inside out: every one counts.
ONE_STAGE = {
    "model.test_cfg.score_thr": 0.0,
    "model.test_cfg.nms_pre": 100,
    "model.test_cfg.max_per_img": 20,
    "model.test_cfg.min_bbox_size": -1,
}
TWO_STAGE = {
    "model.test_cfg.rpn.nms_pre": 50,
    "model.test_cfg.rpn.max_per_img": 20,
    "model.test_cfg.rcnn.score_thr": 0.0,
    "model.test_cfg.rcnn.max_per_img": 20,
}


def build_backbone(options):
    """Build a backbone of mmdet with seeded random weights, in training mode."""
    ops.register()
    import mmdet.models  # noqa: F401
    from mmdet.registry import MODELS
    from mmengine.registry import DefaultScope

    torch.manual_seed(0)
    with DefaultScope.overwrite_default_scope("mmdet"):
        return MODELS.build(dict(options))
