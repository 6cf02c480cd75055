"""RetinaNet R-50 for cars alone, the detector of the code released with the paper on box stability.

Its checkpoint, ``epoch_36.pth`` of the models that https://github.com/YangYangGirl/BoS links, has
one category. Download it by hand and give it as ``--checkpoint``.
"""

_base_ = "retinanet_r50.py"

metainfo = dict(classes=("car",))
model = dict(bbox_head=dict(num_classes=1))
test_dataloader = dict(dataset=dict(metainfo=metainfo))

detector = dict(checkpoint=None)
