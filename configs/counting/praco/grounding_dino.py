# Grounding DINO as a counter that takes any prompt. It needs the extra `open-vocabulary` and
# weights, for instance groundingdino_swint_ogc_mmdet-822d7e9d.pth of mmdet's model zoo:
# --cfg-options counter.checkpoint=FILE. Without access to the hub, counter.language_model names a
# local folder with bert-base-uncased.
counter = dict(
    type="autoeval.counting.counters.build.open_vocabulary",
    config="{{fileDirname}}/models/grounding_dino_swin_t.py",
    checkpoint=None,
    score_thr=0.3,
)
