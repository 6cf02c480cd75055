"""Cameras whose pictures say what a stand-in detector finds, and an estimator for it."""

import os
from pathlib import Path

import cv2
import numpy as np
import pandas as pd

from autoeval.accuracy.measures import RankedDetections, count_curve
from autoeval.detectors.black_box import BlackBoxDetector
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.pass_settings import PassSettings
from autoeval.io.tasks.task import Task
from autoeval.model.priors import calibration_prior

TASK = Task("cars", ("car",), (), {"car": "car"})
SIZE = 64


def find(images):
    """Find bright squares; how bright says how sure."""
    boxes, scores = zip(*map(_squares, images), strict=True)
    return boxes, scores, [["car"] * len(of) for of in scores]


def _squares(image):
    grey = image.max(axis=2)
    _, _, stats, _ = cv2.connectedComponentsWithStats((grey > 40).astype(np.uint8))
    boxes = [[x, y, x + w, y + h] for x, y, w, h, _ in stats[1:]]
    scores = [float(grey[y : y + h, x : x + w].max()) / 256 for x, y, w, h, _ in stats[1:]]
    return np.array(boxes, float).reshape(-1, 4), np.array(scores)


def detector(name="fake"):
    return BlackBoxDetector(find, ["car"], name=name, settings={"weights": name})


def picture(rng, level):
    image = np.full((SIZE, SIZE, 3), 10, np.uint8)
    for x in (4, 26, 46):
        size = int(rng.integers(8, 15))
        y = int(rng.integers(2, SIZE - size - 2))
        image[y : y + size, x : x + size] = np.clip(rng.normal(level, 25), 60, 250)
    return image


def write_camera(folder, n_images, level, *, seed=0, start=0, at=None):
    """Write pictures; ``at`` gives seconds since 1970 of the first, an hour apart."""
    folder, rng = Path(folder), np.random.default_rng([seed, start])
    folder.mkdir(parents=True, exist_ok=True)
    for k in range(start, start + n_images):
        path = folder / f"{k:04d}.png"
        cv2.imwrite(str(path), picture(rng, level))
        if at is not None:
            os.utime(path, (at + 3600 * k, at + 3600 * k))
    return folder


def counted(recall, expected):
    """Return the counts of 100 objects, of which as many boxes are right at every threshold."""
    scores, image, n_true = np.ones(100), np.zeros(100, int), np.array([100.0])
    shares = {"counts": recall, "expected_counts": expected}
    return {
        name: count_curve(RankedDetections.of(scores, image, np.full((10, 100), share), n_true))
        for name, share in shares.items()
    }


def estimator(path=None, name="fake", *, counts=True):
    """Fit on made-up sites where accuracy and recall go with the scores."""
    rng, rows = np.random.default_rng(3), []
    for k, level in enumerate(np.linspace(0.2, 0.9, 12)):
        scores = {"expected_ap": level, "likely_share": 0.3 + 0.6 * level, "box_size": -1.8}
        near = {n: float(v + rng.normal(0, 0.04)) for n, v in scores.items()}
        value = float(np.clip(0.8 * level + rng.normal(0, 0.03), 0, 1))
        rows.append(
            dict(
                source=f"s{k}",
                group=f"s{k}",
                kind="seed",
                category="car",
                sample_set=f"s{k}",
                repeat=0,
                n_images=100,
                **near,
                mAP=value,
                mAP50=min(1.0, value + 0.2),
                mAP75=value,
                **counted(value, level),
            )
        )
    observer = Observer(detector(name), TASK, PassSettings())
    table = pd.DataFrame(rows).assign(transforms="")
    if not counts:
        table = table.drop(columns=["counts", "expected_counts"])
    fitted = AccuracyEstimator(
        table, context_=observer.context(), calibration_=calibration_prior().calibration
    )
    if path is not None:
        fitted.save(path)
    return fitted
