"""Dropout for roadworld_nano, found by autoeval search-dropout."""

dropout = dict(position="after", stages=[0, 3], rate=0.15)

found = dict(
    detector="roadworld_nano",
    fingerprint="6ec566bee6cbad7c",
    task="road world",
    strategy="greedy",
    score="bos",
    target="mAP",
    r2=0.4997,
    sources=[
        "cheap_country",
        "drone_low",
        "dusk_country",
        "fog_street",
        "night_street",
        "rain_highway",
        "snow_country",
        "street_above",
    ],
    n_sample_sets=40,
    n_images=800,
)
