# YOLOX-nano as a counter: every box above the threshold is one object. Pass its weights with
# --cfg-options counter.checkpoint=FILE.
counter = dict(
    type="autoeval.counting.counters.build.detector",
    detector="yolox_nano",
    checkpoint=None,
    score_thr=0.3,
    # Cars, buses and trucks are asked for as vehicles; a box that is two of them counts once.
    merge=dict(car="vehicle", bus="vehicle", truck="vehicle"),
)
