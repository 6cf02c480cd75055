"""A torchvision model as a detector: `--detector examples/torchvision_detector.py:detector`."""

import torch
from torchvision.models import detection

from autoeval.detectors import BlackBoxDetector

weights = detection.FasterRCNN_ResNet50_FPN_V2_Weights.DEFAULT
model = detection.fasterrcnn_resnet50_fpn_v2(weights=weights, box_score_thresh=0.01).eval()


@torch.inference_mode()
def find(images):
    found = model([torch.from_numpy(i[:, :, ::-1].copy()).permute(2, 0, 1) / 255 for i in images])
    return [[f[part].numpy() for f in found] for part in ("boxes", "scores", "labels")]


detector = BlackBoxDetector(
    find, weights.meta["categories"], settings={"weights": str(weights), "score_thr": 0.01}
)
