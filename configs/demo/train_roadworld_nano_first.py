"""First part of the training of the road world's detector, on its four clear environments.

configs/demo/train_roadworld_nano.py goes on from its weights. tools/train_demo_detector.py
renders the images, runs either on a processor and writes the checkpoint and report.
"""

_base_ = "../detectors/roadworld_nano.py"

environments = ("day_street", "overpass", "highway_day", "dusk_city")
images_per_environment = 500
data_root = "work_dirs/demo_detector/training_images"
max_epochs = 8
batch_size = 10
base_lr = 2e-3

train_pipeline = [
    {"type": "LoadImageFromFile"},
    {"type": "LoadAnnotations", "with_bbox": True},
    # Before the flip: OpenCV writes into the image, which a flip leaves as a view.
    {"type": "YOLOXHSVRandomAug"},
    {"type": "RandomFlip", "prob": 0.5},
    {"type": "PackDetInputs"},
]
train_dataloader = {
    "batch_size": batch_size,
    "num_workers": 0,
    "sampler": {"type": "DefaultSampler", "shuffle": True},
    "dataset": {
        "type": "ConcatDataset",
        "datasets": [
            {
                "type": "CocoDataset",
                "ann_file": "annotations.json",
                "data_prefix": {"img": "images/"},
                "metainfo": {"classes": ("vehicle",)},
                "filter_cfg": {"filter_empty_gt": False, "min_size": 2},
                "pipeline": train_pipeline,
            }
            for _ in environments
        ],
    },
}
# mmengine wants a whole test loop or none.
test_dataloader = None
train_cfg = {"type": "EpochBasedTrainLoop", "max_epochs": max_epochs}

optim_wrapper = {
    "type": "OptimWrapper",
    "optimizer": {"type": "AdamW", "lr": base_lr, "weight_decay": 0.02},
    "paramwise_cfg": {"norm_decay_mult": 0.0, "bias_decay_mult": 0.0},
    "clip_grad": {"max_norm": 20.0},
}
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
default_hooks = {
    "timer": {"type": "IterTimerHook"},
    "logger": {"type": "LoggerHook", "interval": 50},
    "param_scheduler": {"type": "ParamSchedulerHook"},
    "checkpoint": {"type": "CheckpointHook", "interval": 1, "max_keep_ckpts": 1},
}
log_processor = {"type": "LogProcessor", "window_size": 50, "by_epoch": True}
randomness = {"seed": 0}
