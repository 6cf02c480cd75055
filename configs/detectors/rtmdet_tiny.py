"""RTMDet-tiny."""

_base_ = "mmdet::rtmdet/rtmdet_tiny_8xb32-300e_coco.py"

detector = dict(
    # mmdet's model zoo; box AP 40.9 on COCO val2017.
    checkpoint=(
        "https://download.openmmlab.com/mmdetection/v3.0/rtmdet/rtmdet_tiny_8xb32-300e_coco/"
        "rtmdet_tiny_8xb32-300e_coco_20220902_112414-78e30dcc.pth"
    ),
    verified=(
        "Built with random weights and compared with mmdet's own predict: output, all dropout "
        "positions, cached prefixes."
    ),
)
