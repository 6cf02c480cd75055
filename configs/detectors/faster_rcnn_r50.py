"""Faster R-CNN, ResNet-50 with FPN."""

_base_ = "mmdet::faster_rcnn/faster-rcnn_r50_fpn_1x_coco.py"

detector = dict(
    # mmdet's model zoo; box AP 37.4 on COCO val2017.
    checkpoint=(
        "https://download.openmmlab.com/mmdetection/v2.0/faster_rcnn/faster_rcnn_r50_fpn_1x_coco/"
        "faster_rcnn_r50_fpn_1x_coco_20200130-047c8118.pth"
    ),
    verified=(
        "Built with random weights and compared with mmdet's own predict: output, all dropout "
        "positions, cached prefixes."
    ),
)
