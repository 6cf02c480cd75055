"""Training of RetinaNet-MobileNetV2 on halves of real sets, on a processor.

benchmarks/trained_detectors.py writes the halves, fills in `train_dataloader` and runs this.
"""

_base_ = "../detectors/retinanet_mobilenetv2.py"

# Every second image of these is trained on. Sets of one word are among them where the other word
# has nothing to show, since what is not labelled counts as background.
training_sets = (
    "all/coco_mini",
    "two/bdd_city_people",
    "two/bdd_day",
    "two/coco_two",
    "two/dashcam_india",
    "two/hituav_mixed",
    "vehicle/drone_madison",
    "vehicle/highway_top",
    "person/cafe_overhead",
    "person/football_pitch",
)
max_epochs = 14
batch_size = 8
base_lr = 6e-4

train_pipeline = [
    dict(type="LoadImageFromFile"),
    dict(type="LoadAnnotations", with_bbox=True),
    # Before the flip: OpenCV writes into the image, which a flip leaves as a view.
    dict(type="YOLOXHSVRandomAug"),
    dict(type="RandomResize", scale=(416, 416), ratio_range=(0.8, 1.5), keep_ratio=True),
    dict(type="RandomCrop", crop_size=(320, 320), allow_negative_crop=True),
    dict(type="RandomFlip", prob=0.5),
    dict(type="PackDetInputs"),
]
train_dataloader = dict(
    batch_size=batch_size,
    num_workers=0,
    sampler=dict(type="DefaultSampler", shuffle=True),
    dataset=dict(
        type="CocoDataset",
        data_prefix=dict(img=""),
        metainfo=dict(classes=("vehicle", "person")),
        filter_cfg=dict(filter_empty_gt=False, min_size=2),
        pipeline=train_pipeline,
    ),
)
# mmengine wants a whole test loop or none.
test_dataloader = None
train_cfg = dict(type="EpochBasedTrainLoop", max_epochs=max_epochs)
optim_wrapper = dict(
    type="OptimWrapper",
    optimizer=dict(type="AdamW", lr=base_lr, weight_decay=0.02),
    paramwise_cfg=dict(
        norm_decay_mult=0.0, bias_decay_mult=0.0, custom_keys=dict(backbone=dict(lr_mult=0.2))
    ),
    clip_grad=dict(max_norm=20.0),
)
param_scheduler = [
    dict(type="LinearLR", start_factor=0.05, by_epoch=False, begin=0, end=100),
    dict(
        type="CosineAnnealingLR",
        eta_min=base_lr * 0.01,
        begin=0,
        end=max_epochs,
        by_epoch=True,
        convert_to_iter_based=True,
    ),
]
default_hooks = dict(
    timer=dict(type="IterTimerHook"),
    logger=dict(type="LoggerHook", interval=20),
    param_scheduler=dict(type="ParamSchedulerHook"),
    checkpoint=dict(type="CheckpointHook", interval=1),  # all epochs are kept, to compare
)
log_processor = dict(type="LogProcessor", window_size=20, by_epoch=True)
randomness = dict(seed=0)
