"""RetinaNet, Swin-T with FPN."""

_base_ = "mmdet::swin/retinanet_swin-t-p4-w7_fpn_1x_coco.py"

detector = dict(
    checkpoint=None,  # mmdet ships the config but publishes no weights for it.
    verified=(
        "Built with random weights and compared with mmdet's own predict: output, all dropout "
        "positions, cached prefixes."
    ),
)
