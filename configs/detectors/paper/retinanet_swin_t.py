"""RetinaNet Swin-T with the test images of the paper on box stability: 800 x 1333 pixels."""

_base_ = ["../retinanet_swin_t.py", "_fixed_size.py"]

test_dataloader = dict(dataset=dict(pipeline=_base_.fixed_size))

detector = dict(verified="As retinanet_swin_t, from which the size of images differs.")
