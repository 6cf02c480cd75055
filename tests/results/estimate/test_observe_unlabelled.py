"""The images that a report shows."""

import numpy as np
from rectangles import write_world

from autoeval.data.image_folder import load_image_folder
from autoeval.detections import Detections
from autoeval.estimation.estimate import Estimate
from autoeval.estimation.observation.least_stable import UnstableImage
from autoeval.results.estimate.new_images import GRAY, Observed

ESTIMATE = Estimate(0.5, 0.0, 0.4, 0.6, 0.9, "jackknife+", "mAP", "bos", 2)


def boxes(n):
    return Detections(np.tile([4, 4, 20, 20], (n, 1)), np.full(n, 0.9), np.zeros(n))


def observed(folder):
    files = load_image_folder(write_world(folder, 200, n_images=2) / "images")
    unstable = [
        UnstableImage(0.25, "2.png", boxes(2), (boxes(1), boxes(3))),
        UnstableImage(0.5, "1.png", boxes(1), (boxes(4), boxes(4))),
    ]
    return Observed(ESTIMATE, {}, unstable, files, 2)


def test_the_table_counts_boxes_with_and_without_dropout(tmp_path):
    table = observed(tmp_path / "world").table()
    assert table.to_dict("list") == {
        "image": ["2.png", "1.png"],
        "stability": [0.25, 0.5],
        "boxes": [2, 1],
        "boxes with dropout": ["1 to 3", "4"],
    }


def test_an_image_that_is_gone_leaves_a_gray_picture_and_the_reason(tmp_path):
    seen = observed(tmp_path / "world")
    (tmp_path / "world" / "images" / "2.png").unlink()
    (gone, said), (picture, caption) = seen.thumbnails()
    assert (
        gone is GRAY and "no longer readable" in said and said.startswith("2.png: stability 0.25")
    )
    assert picture.shape == (64, 64, 3) and caption == (
        "1.png: stability 0.50, 1 box, 4 with dropout"
    )
