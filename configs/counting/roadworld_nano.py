"""The road world's small detector as a counter; needs no download."""

counter = dict(
    type="autoeval.counting.counters.build.detector",
    detector="roadworld_nano",
    score_thr=0.3,
)
