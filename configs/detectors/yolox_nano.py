"""YOLOX-nano: the smallest detector here."""

_base_ = "mmdet::yolox/yolox_nano_8xb8-300e_coco.py"

detector = dict(
    checkpoint=None,  # mmdet ships the config but publishes no weights for it.
    verified=(
        "Built with random weights and compared with mmdet's own predict: output, all dropout "
        "positions, cached prefixes. With YOLOX's own COCO weights, converted: boxes equal to "
        "inference_detector's on photographs, average precision as expected of it."
    ),
)
