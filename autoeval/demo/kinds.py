"""A classifier of vehicles in boxes: with it, the road world's detector has several categories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import cv2
import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from autoeval.roadworld import make_picture
from autoeval.roadworld.traffic import KINDS

CLEAR_ENVIRONMENTS = ("day_street", "overpass", "highway_day", "dusk_city")  # as the detector's
SIDE = 32  # pixels of a crop
MARGIN = 1.1  # of a crop over its box
LEAST_SIDE = 2.0


class KindClassifier:
    """A support vector machine on the grey crop of a box, its size and its place.

    Parameters
    ----------
    n_images : int
        Pictures of each clear environment that it is fitted on.
    seed : int
        Of these pictures.
    """

    def __init__(self, *, n_images: int, seed: int) -> None:
        self.n_images, self.seed = n_images, seed

    def fit(self) -> KindClassifier:
        """Render the pictures and fit on their labelled boxes."""
        features, kinds = zip(*self._labelled(), strict=True)
        machine = CalibratedClassifierCV(SVC(C=3, class_weight="balanced"), ensemble=False)
        self.pipeline_: Pipeline = make_pipeline(StandardScaler(), machine)
        self.pipeline_.fit(np.concatenate(features), np.concatenate(kinds))
        return self

    def predict_proba(self, image: np.ndarray, boxes: np.ndarray) -> np.ndarray:
        """Return the probabilities of each kind of vehicle.

        Parameters
        ----------
        image : ndarray of shape (H, W, 3), uint8, BGR
            The image.
        boxes : ndarray of shape (N, 4)
            xyxy, pixels.

        Returns
        -------
        ndarray of shape (N, len(KINDS))
            Rows with the sum 1.
        """
        if not len(boxes):
            return np.zeros((0, len(KINDS)))
        probabilities: np.ndarray = self.pipeline_.predict_proba(_features(image, boxes))
        return probabilities

    def _labelled(self) -> Iterator[tuple[np.ndarray, list[int]]]:
        for environment in CLEAR_ENVIRONMENTS:
            for index in range(self.n_images):
                picture = make_picture(environment, index, seed=self.seed)
                if len(picture.boxes):
                    yield _features(picture.image, picture.boxes), categories_of(picture.kinds)


def categories_of(kinds: Sequence[str]) -> list[int]:
    """Return the index into `KINDS` of each vehicle.

    Parameters
    ----------
    kinds : sequence of str
        What each vehicle is, one of `KINDS`.
    """
    return [KINDS.index(kind) for kind in kinds]


def _features(image: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """Describe boxes for the classifier.

    Parameters
    ----------
    image : ndarray of shape (H, W, 3), uint8, BGR
        The image.
    boxes : ndarray of shape (N, 4)
        xyxy, pixels.

    Returns
    -------
    ndarray of shape (N, F)
        Oriented gradients of the grey crop; logarithms of width, height and their ratio; centre and
        lower edge relative to the image.
    """
    gradients = cv2.HOGDescriptor((SIDE, SIDE), (16, 16), (8, 8), (8, 8), 9)
    grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    lines, columns = grey.shape
    rows = []
    for box in boxes:
        x1, y1, x2, y2 = np.clip(box, 0, [columns, lines] * 2)
        width, height = max(x2 - x1, LEAST_SIDE), max(y2 - y1, LEAST_SIDE)
        size = (round(MARGIN * width) + 1, round(MARGIN * height) + 1)
        patch = cv2.getRectSubPix(grey, size, (float(x1 + x2) / 2, float(y1 + y2) / 2))
        crop = np.ravel(gradients.compute(cv2.resize(patch, (SIDE, SIDE))))
        place = [(x1 + x2) / 2 / columns, y2 / lines]
        rows.append([*crop, np.log(width), np.log(height), np.log(width / height), *place])
    return np.array(rows)
