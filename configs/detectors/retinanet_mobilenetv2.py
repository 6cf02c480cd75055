"""RetinaNet on MobileNetV2 with a light FPN and head: two classes, 416-pixel input.

A detector of another kind than YOLOX to judge the method on; benchmarks/trained_detectors.py trains
it, and its weights are not shipped.
"""

_base_ = "mmdet::_base_/models/retinanet_r50_fpn.py"

detector = dict(
    checkpoint=None,
    verified="Trained by benchmarks/trained_detectors.py; docs/results/second_detector.md.",
)

default_scope = "mmdet"
metainfo = dict(classes=("vehicle", "person"))

model = dict(
    data_preprocessor=dict(pad_size_divisor=32),
    backbone=dict(
        _delete_=True,
        type="MobileNetV2",
        out_indices=(2, 4, 6),
        frozen_stages=2,
        norm_cfg=dict(type="BN", requires_grad=False),
        norm_eval=True,
    ),
    neck=dict(
        in_channels=[32, 96, 320],
        out_channels=96,
        start_level=0,
        add_extra_convs="on_output",
        num_outs=4,
    ),
    bbox_head=dict(
        num_classes=2,
        in_channels=96,
        feat_channels=96,
        stacked_convs=2,
        anchor_generator=dict(octave_base_scale=3, strides=[8, 16, 32, 64]),
    ),
    test_cfg=dict(score_thr=0.01, nms=dict(type="nms", iou_threshold=0.5), max_per_img=100),
)

test_pipeline = [
    dict(type="LoadImageFromFile"),
    dict(type="Resize", scale=(416, 416), keep_ratio=True),
    dict(
        type="PackDetInputs",
        meta_keys=("img_id", "img_path", "ori_shape", "img_shape", "scale_factor"),
    ),
]
test_dataloader = dict(dataset=dict(type="CocoDataset", metainfo=metainfo, pipeline=test_pipeline))
