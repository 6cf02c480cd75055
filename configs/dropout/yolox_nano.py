"""Dropout for yolox_nano, found by autoeval search-dropout."""

dropout = dict(position="after", stages=[1], rate=0.25)

found = dict(
    detector="yolox_nano",
    fingerprint="8efed2ef6dc6b04b",
    task="vehicle",
    strategy="full",
    score="bos",
    target="mAP",
    r2=0.8215,
    sources=[
        "aerial_kit_ais",
        "aerial_minsk",
        "carla_drive",
        "coco_vehicle",
        "dawn_fog",
        "drone_madison",
        "highway_id",
        "highway_top",
        "nepal_road",
        "trafficcam_day",
        "trafficcam_night",
    ],
    n_sample_sets=11,
    n_images=264,
)
