"""YOLOX-tiny."""

_base_ = "mmdet::yolox/yolox_tiny_8xb8-300e_coco.py"

detector = dict(
    # mmdet's model zoo; box AP 32.0 on COCO val2017.
    checkpoint=(
        "https://download.openmmlab.com/mmdetection/v2.0/yolox/yolox_tiny_8x8_300e_coco/"
        "yolox_tiny_8x8_300e_coco_20211124_171234-b4047906.pth"
    ),
    verified=(
        "Built with random weights and compared with mmdet's own predict: output, all dropout "
        "positions, cached prefixes."
    ),
)
