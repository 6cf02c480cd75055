"""RetinaNet, ResNet-50 with FPN: the detector of the paper's main tables."""

_base_ = "mmdet::retinanet/retinanet_r50_fpn_1x_coco.py"

detector = dict(
    # mmdet's model zoo; box AP 36.5 on COCO val2017.
    checkpoint=(
        "https://download.openmmlab.com/mmdetection/v2.0/retinanet/retinanet_r50_fpn_1x_coco/"
        "retinanet_r50_fpn_1x_coco_20200130-c2398f9e.pth"
    ),
    verified=(
        "Built with random weights and compared with mmdet's own predict: output, all dropout "
        "positions, cached prefixes."
    ),
)
