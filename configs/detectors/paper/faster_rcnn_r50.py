"""Faster R-CNN R-50 with the test images of the paper on box stability: 800 x 1333 pixels.

As for ``paper/retinanet_r50``, the checkpoint of 36 epochs (box AP 40.3 on COCO val2017) was
trained at shorter sides of 640 to 800 pixels.
"""

_base_ = ["../faster_rcnn_r50.py", "_fixed_size.py"]

test_dataloader = dict(dataset=dict(pipeline=_base_.fixed_size))

detector = dict(
    checkpoint=(
        "https://download.openmmlab.com/mmdetection/v2.0/faster_rcnn/"
        "faster_rcnn_r50_fpn_mstrain_3x_coco/faster_rcnn_r50_fpn_mstrain_3x_coco_20210524_110822-e10bd31c.pth"
    ),
    verified="As faster_rcnn_r50, from which the size of images differs.",
)
