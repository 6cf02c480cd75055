"""Images with exactly the same boxes."""

import numpy as np

from autoeval.data.labels.content import LabelledImage
from autoeval.data.predictions import Predictions
from autoeval.data.predictions.same_boxes import copies


def test_the_later_of_two_is_a_copy_whatever_the_order_of_its_boxes():
    images = tuple(LabelledImage(str(k), f"{k}.jpg", None) for k in range(6))
    image = np.array([0, 0, 1, 1, 2, 2, 3])  # 4 and 5 hold nothing
    boxes = np.float32([[1, 1, 5, 5], [2, 2, 9, 9], [2, 2, 9, 9], [1, 1, 5, 5]] * 2)[:7]
    scores = np.float32([0.5, 0.9, 0.9, 0.5, 0.5, 0.8, 0.9])
    label = np.zeros(7, int)
    found = Predictions(images, ("car", "bus"), image, label, boxes, scores, {})
    assert copies(found).tolist() == [1]
    label[3] = 1
    assert copies(found).tolist() == []
