"""Both sets of boxes on small pictures."""

import numpy as np

from autoeval.detections import Detections
from autoeval.report.pictures import CLEAN, PERTURBED, draw_boxes


def found(*xyxy, score=0.9):
    return Detections(np.reshape(xyxy, (-1, 4)), np.full(len(xyxy), score), np.zeros(len(xyxy)))


def black(height=200, width=720):
    return np.zeros((height, width, 3), np.uint8)


def test_boxes_are_drawn_at_the_scale_of_the_thumbnail():
    image = black()
    small = draw_boxes(image, found([100, 40, 300, 160]), [found([400, 40, 600, 160])])
    assert small.shape == (100, 360, 3) and not image.any()
    assert tuple(small[50, 50]) == CLEAN and tuple(small[50, 200]) == PERTURBED
    assert not small[50, 100].any() and not small[5, 5].any()


def test_a_small_image_keeps_its_size():
    assert draw_boxes(black(30, 40), found(), []).shape == (30, 40, 3)


def test_perturbed_boxes_show_above_clean_ones_and_weak_ones_are_fainter():
    box = [100, 40, 300, 160]
    strong, weak = (
        draw_boxes(black(), Detections.empty(), [found(box, score=s)]) for s in (0.9, 0.1)
    )
    assert 0 < weak[50, 50].max() < strong[50, 50].max()
    both = draw_boxes(black(), found(box), [found(box)])
    assert tuple(both[50, 50]) == PERTURBED and tuple(CLEAN) in map(tuple, both[50, 45:56])
