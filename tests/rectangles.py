"""A stand-in detector that finds bright rectangles, and worlds of such rectangles."""

import json

import cv2
import numpy as np

from autoeval.detections import Detections, Evidence
from autoeval.io.tasks.task import SeedSetFiles, Task

SIZE = 64
TASK = """
name = "boxes"
categories = ["box"]
data_root = "worlds"
seed_sets = [
    dict(name=n, ann_file=n + "/annotations.json", img_dir=n + "/images", mapping=dict(box="box"))
    for n in {names}
]
"""
BOXES = Task("boxes", ("box",), ())


class RectangleDetector:
    """Finds bright rectangles; dropout shakes its boxes by up to a tenth of their contrast."""

    categories = ("box",)
    fingerprint = "rectangles"
    backbone = "ResNet"

    def __init__(self, **settings):
        self.settings = {"score_thr": 0.05, **settings}
        self.observed = 0

    def observe(self, images, image_ids, *, dropout=None, repeats=0, seed=0, wants=()):
        pairs = zip(images, image_ids, strict=True)
        return [self._one(image, image_id, repeats, seed) for image, image_id in pairs]

    def _one(self, image, image_id, repeats, seed):
        self.observed += 1
        gray = image[..., 0]
        found = cv2.connectedComponentsWithStats((gray > 100).astype(np.uint8))[2][1:]
        xywh = found[:, :4].astype(float)
        boxes = np.concatenate([xywh[:, :2], xywh[:, :2] + xywh[:, 2:]], 1)
        shake = (255 - float(gray.max())) / 20
        clean = self._detections(boxes + shake / 2)
        passes = tuple(
            self._detections(boxes + np.random.default_rng([seed, k]).normal(0, shake, boxes.shape))
            for k in range(repeats)
        )
        return Evidence(image_id, image.shape[:2], clean, passes)

    @staticmethod
    def _detections(boxes):
        return Detections(boxes, np.full(len(boxes), 0.9), np.zeros(len(boxes)))


def write_world(folder, brightness, *, n_images=6, seed=0):
    """Write a COCO data set of dark images with one bright rectangle each."""
    rng = np.random.default_rng(seed)
    (folder / "images").mkdir(parents=True)
    images, annotations = [], []
    for k in range(1, n_images + 1):
        x, y, w, h = (int(v) for v in rng.integers([4, 4, 16, 16], [20, 20, 36, 36]))
        image = np.full((SIZE, SIZE, 3), 20, np.uint8)
        image[y : y + h, x : x + w] = brightness
        cv2.imwrite(str(folder / "images" / f"{k}.png"), image)
        images.append({"id": k, "file_name": f"{k}.png", "width": SIZE, "height": SIZE})
        box = {"category_id": 1, "bbox": [x, y, w, h], "area": w * h}
        annotations.append({"id": k, "image_id": k, **box})
    return write_coco(folder, images, annotations, ["box"])


def write_coco(folder, images, annotations, names):
    """Write the annotation file of a data set; categories count from 1."""
    categories = [{"id": k, "name": name} for k, name in enumerate(names, 1)]
    content = {"images": images, "annotations": annotations, "categories": categories}
    (folder / "annotations.json").write_text(json.dumps(content))
    return folder


def rectangle_task(folder, brightness=(250, 220, 190, 160), **options):
    """Make worlds whose rectangles are ever darker, so that boxes are ever less exact."""
    worlds = [
        write_world(folder / f"w{k}", level, seed=k, **options)
        for k, level in enumerate(brightness)
    ]
    files = [(world.name, world / "annotations.json", world / "images") for world in worlds]
    return Task("boxes", ("box",), tuple(SeedSetFiles(*each, {"box": "box"}) for each in files))


def write_task(folder, names=("w0", "w1", "w2", "w3"), **options):
    """Write the four worlds and a task file with those named; return its path."""
    if not (folder / "worlds").exists():
        rectangle_task(folder / "worlds", **options)
    (folder / "task.py").write_text(TASK.format(names=names))
    return folder / "task.py"


def write_video(path, folder, *, fps=2):
    """Write the images of a world as a video that shows each for two frames."""
    video = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), fps, (SIZE, SIZE))
    for image in sorted((folder / "images").iterdir()):
        for _ in range(2):
            video.write(cv2.imread(str(image)))
    video.release()
    return path
