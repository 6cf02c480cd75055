"""Rectangles whose brightness is their category, and a stand-in detector for them."""

import cv2
import numpy as np
from rectangles import write_coco

from autoeval.detections import Detections, Evidence

WORDS = ("cup", "mug", "pot", "pan", "fork", "bowl", "plate", "spoon")
BRIGHT = {word: 250 - 15 * k for k, word in enumerate(WORDS)}


class BrightnessDetector:
    """Tells bright rectangles by their brightness; the darker, the less sure and less exact."""

    categories = (*BRIGHT, "knife")
    fingerprint = "brightness"
    backbone = "ResNet"
    settings = {"score_thr": 0.05}  # noqa: RUF012

    def observe(self, images, image_ids, *, dropout=None, repeats=0, seed=0, wants=()):
        return [self._one(*each) for each in zip(images, image_ids, strict=True)]

    def _one(self, image, image_id):
        gray = image[..., 0]
        found = cv2.connectedComponentsWithStats((gray > 100).astype(np.uint8))[2]
        xywh = found[1:, :4].astype(float)
        level = np.array([gray[int(y) + 1, int(x) + 1] for x, y, _, _ in xywh], float)
        labels = np.abs(level[:, None] - np.array(list(BRIGHT.values()))).argmin(1)
        shake = ((255 - level) / 25)[:, None]
        boxes = np.concatenate([xywh[:, :2], xywh[:, :2] + xywh[:, 2:]], 1) + shake
        boxes = Detections(boxes, (level - 100) / 300, labels)
        return Evidence(image_id, gray.shape, boxes)


def write_table(folder, *, n_images=12, names=tuple(BRIGHT), seed=0):
    """Write images with one rectangle of each category, in eight fields, as a COCO data set."""
    rng = np.random.default_rng(seed)
    (folder / "images").mkdir(parents=True)
    images, annotations = [], []
    for k in range(1, n_images + 1):
        image = np.full((128, 256, 3), 20, np.uint8)
        for c, name in enumerate(names):
            left, top = 64 * (c % 4), 64 * (c // 4)
            x, y, w, h = (int(v) for v in rng.integers([4, 4, 16, 16], [20, 20, 36, 36]))
            image[top + y : top + y + h, left + x : left + x + w] = BRIGHT[name]
            box = {"bbox": [left + x, top + y, w, h], "area": w * h, "image_id": k}
            annotations.append({"id": len(annotations) + 1, "category_id": c + 1, **box})
        cv2.imwrite(str(folder / "images" / f"{k}.png"), image)
        images.append({"id": k, "file_name": f"{k}.png", "width": 256, "height": 128})
    write_coco(folder, images, annotations, names)
    return folder / "annotations.json", folder / "images"
