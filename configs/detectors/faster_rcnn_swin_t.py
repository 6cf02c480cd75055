"""Faster R-CNN, Swin-T with FPN.

mmdet ships no such config. This is its Faster R-CNN R-50 with the backbone of its RetinaNet Swin-T,
all four stages of which feed the neck.
"""

_base_ = "mmdet::faster_rcnn/faster-rcnn_r50_fpn_1x_coco.py"

model = dict(
    backbone=dict(
        _delete_=True,
        type="SwinTransformer",
        embed_dims=96,
        depths=[2, 2, 6, 2],
        num_heads=[3, 6, 12, 24],
        window_size=7,
        mlp_ratio=4,
        qkv_bias=True,
        drop_path_rate=0.2,
        out_indices=(0, 1, 2, 3),
        convert_weights=True,
    ),
    neck=dict(in_channels=[96, 192, 384, 768]),
)

detector = dict(
    checkpoint=None,  # Trained by nobody in public with this config.
    verified=(
        "Built with random weights and compared with mmdet's own predict: output, all dropout "
        "positions, cached prefixes."
    ),
)
