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
    n_sample_sets=11,
    n_images=264,
)
