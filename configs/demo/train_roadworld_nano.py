"""Training of the road world's detector, second part: images changed as detectors' trainings do.

It goes on from the weights of the first part (configs/demo/train_roadworld_nano_first.py), which
knows the images as they are rendered; both commands: docs/results/demo_detector.md.
"""

_base_ = "train_roadworld_nano_first.py"

load_from = "work_dirs/demo_detector_first/roadworld_nano.pth"
max_epochs = 8
base_lr = 1e-3

# Changes of colour, each applied to half of the images for which it is drawn.
colours = [
    [{"type": name, "prob": 0.5}]
    for name in ("AutoContrast", "Equalize", "Sharpness", "Solarize", "Color", "Brightness")
]
train_pipeline = [
    {"type": "LoadImageFromFile"},
    {"type": "LoadAnnotations", "with_bbox": True},
    {"type": "RandAugment", "aug_space": colours, "aug_num": 2},
    {"type": "PhotoMetricDistortion"},
    {
        "type": "RandomAffine",
        "max_rotate_degree": 12.0,
        "max_translate_ratio": 0.1,
        "scaling_ratio_range": (0.6, 1.5),
        "max_shear_degree": 0.0,
    },
    {"type": "RandomFlip", "prob": 0.5},
    {"type": "PackDetInputs"},
]
train_dataloader = {
    "dataset": {
        "datasets": [
            {
                "type": "CocoDataset",
                "ann_file": "annotations.json",
                "data_prefix": {"img": "images/"},
                "metainfo": {"classes": ("vehicle",)},
                "filter_cfg": {"filter_empty_gt": False, "min_size": 2},
                "pipeline": train_pipeline,
            }
            for _ in range(4)
        ],
    },
}
train_cfg = {"max_epochs": max_epochs}
optim_wrapper = {"optimizer": {"lr": base_lr}}
param_scheduler = [
    {"type": "LinearLR", "start_factor": 0.05, "by_epoch": False, "begin": 0, "end": 80},
    {
        "type": "CosineAnnealingLR",
        "eta_min": base_lr * 0.01,
        "begin": 0,
        "end": max_epochs,
        "by_epoch": True,
        "convert_to_iter_based": True,
    },
]
