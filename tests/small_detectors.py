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
GROUNDING_DINO = {
    "model.backbone": {
        **{"_delete_": True, "type": "ResNet", "depth": 18, "out_indices": (1, 2, 3)},
        **{"base_channels": 8, "stem_channels": 8},
    },
    "model.neck.in_channels": [16, 32, 64],
    "model.num_queries": 25,
    "model.encoder.num_layers": 1,
    "model.decoder.num_layers": 1,
    "model.test_cfg.max_per_img": 10,
    "test_dataloader.dataset.pipeline.1.scale": (96, 128),
}
# Networks with few channels: on tiny images most of the time is that of reading wide weights.
N = 32
PYRAMID = {"model.neck.out_channels": N}
DENSE = {**PYRAMID, "model.bbox_head.in_channels": N, "model.bbox_head.feat_channels": N}
REGIONS = {
    **PYRAMID,
    "model.rpn_head.in_channels": N,
    "model.rpn_head.feat_channels": N,
    "model.roi_head.bbox_roi_extractor.out_channels": N,
    "model.roi_head.bbox_head.in_channels": N,
    "model.roi_head.bbox_head.fc_out_channels": 2 * N,
}
R18 = {"model.backbone.base_channels": 16, "model.neck.in_channels": [16, 32, 64, 128]}
R50 = {"model.backbone.base_channels": 16, "model.neck.in_channels": [64, 128, 256, 512]}
SWIN = {"model.backbone.embed_dims": 24}
NARROW = {
    "faster_rcnn_r50": {**R50, **REGIONS},
    "faster_rcnn_swin_t": {**SWIN, "model.neck.in_channels": [24, 48, 96, 192], **REGIONS},
    "retinanet_r18": {**R18, **DENSE},
    "retinanet_r50": {**R50, **DENSE},
    "retinanet_swin_t": {**SWIN, "model.neck.in_channels": [48, 96, 192], **DENSE},
    "rtmdet_tiny": {
        "model.backbone.widen_factor": 0.125,
        "model.neck.in_channels": [32, 64, 128],
        **DENSE,
    },
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
