"""YOLOX for the road world: a narrow CSPDarknet, a light head, one class, 320 x 192 input.

ReLU in place of SiLU and a head of one layer make training on a processor a matter of minutes.
How it was trained: configs/demo/train_roadworld_nano.py and tools/train_demo_detector.py.
"""

detector = {
    "checkpoint": "{{ fileDirname }}/roadworld_nano.pth",
    "verified": "Trained here; its mAP in every environment: docs/results/demo_detector.md.",
}

default_scope = "mmdet"
metainfo = {"classes": ("vehicle",)}

act_cfg = {"type": "ReLU", "inplace": True}
norm_cfg = {"type": "BN", "momentum": 0.03, "eps": 0.001}

model = {
    "type": "YOLOX",
    "data_preprocessor": {"type": "DetDataPreprocessor", "pad_size_divisor": 32},
    "backbone": {
        "type": "CSPDarknet",
        "deepen_factor": 0.33,
        "widen_factor": 0.25,
        "out_indices": (2, 3, 4),
        "norm_cfg": norm_cfg,
        "act_cfg": act_cfg,
    },
    "neck": {
        "type": "YOLOXPAFPN",
        "in_channels": [64, 128, 256],
        "out_channels": 48,
        "num_csp_blocks": 1,
        "norm_cfg": norm_cfg,
        "act_cfg": act_cfg,
    },
    "bbox_head": {
        "type": "YOLOXHead",
        "num_classes": 1,
        "in_channels": 48,
        "feat_channels": 48,
        "stacked_convs": 1,
        "strides": (8, 16, 32),
        "norm_cfg": norm_cfg,
        "act_cfg": act_cfg,
    },
    "train_cfg": {"assigner": {"type": "SimOTAAssigner", "center_radius": 2.5}},
    "test_cfg": {"score_thr": 0.01, "nms": {"type": "nms", "iou_threshold": 0.6}},
}

test_pipeline = [
    {"type": "LoadImageFromFile"},
    {"type": "Resize", "scale": (320, 192), "keep_ratio": True},
    {
        "type": "PackDetInputs",
        "meta_keys": ("img_id", "img_path", "ori_shape", "img_shape", "scale_factor"),
    },
]
test_dataloader = {
    "dataset": {"type": "CocoDataset", "metainfo": metainfo, "pipeline": test_pipeline}
}
