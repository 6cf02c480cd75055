"""Records made up for tests."""

from datetime import datetime, timedelta

import numpy as np

from autoeval.detections import Detections
from autoeval.monitoring.site_records import CameraImage

START = datetime(2026, 3, 2, 8)


def made_record(number, group="a", *, seed=0, taken=None, n_boxes=3, half=True, **signals):
    rng = np.random.default_rng([seed, number])
    corner, side = rng.uniform(0, 50, (n_boxes, 2)), rng.uniform(5, 40, (n_boxes, 2))
    boxes = np.concatenate([corner, corner + side], 1)
    clean = Detections(boxes, rng.uniform(0.05, 1, n_boxes), np.zeros(n_boxes))
    moved = Detections(boxes + rng.normal(0, 2, boxes.shape), clean.scores * 0.9, clean.labels)
    taken = START + timedelta(minutes=number) if taken is None else taken
    name = f"{group}/{number}.jpg"
    return CameraImage(name, (100, 120), taken, group, clean, moved if half else None, signals)
