"""RetinaNet, ResNet-18 with FPN: a lighter sibling of the paper's detector."""

_base_ = "mmdet::retinanet/retinanet_r18_fpn_1x_coco.py"

detector = dict(
    # mmdet's model zoo; box AP 31.7 on COCO val2017.
    checkpoint=(
        "https://download.openmmlab.com/mmdetection/v2.0/retinanet/retinanet_r18_fpn_1x_coco/"
        "retinanet_r18_fpn_1x_coco_20220407_171055-614fd399.pth"
    ),
    verified=(
        "Built with random weights and compared with mmdet's own predict: output, all dropout "
        "positions, cached prefixes."
    ),
)
