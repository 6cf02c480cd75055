"""The images that a page of a published method shows."""

import numpy as np
from rectangles import write_world

from autoeval.detections import Detections, Evidence
from autoeval.io.image_lists import load_image_folder
from autoeval.report.pictures import GRAY
from autoeval.sites.site import Site
from autoeval.stability.methods.scored_pass import ScoredSite, UnstableImage
from autoeval.stability.reports.method_page import (
    least_stable_pictures,
    least_stable_table,
)


def boxes(n):
    return Detections(np.tile([4, 4, 20, 20], (n, 1)), np.full(n, 0.9), np.zeros(n))


FOUND = Site.of_evidence([Evidence(f"{k}.png", (64, 64), boxes(k)) for k in (1, 2)], ("box",))


def observed(folder):
    files = load_image_folder(write_world(folder, 200, n_images=2) / "images")
    unstable = [
        UnstableImage(0.25, "2.png", boxes(2), (boxes(1), boxes(3))),
        UnstableImage(0.5, "1.png", boxes(1), (boxes(4), boxes(4))),
    ]
    return ScoredSite(FOUND, images=files, least_stable=tuple(unstable))


def test_the_table_counts_boxes_with_and_without_dropout(tmp_path):
    table = least_stable_table(observed(tmp_path / "world"))
    assert table.to_dict("list") == {
        "image": ["2.png", "1.png"],
        "stability": [0.25, 0.5],
        "boxes": [2, 1],
        "boxes with dropout": ["1 to 3", "4"],
    }


def test_an_image_that_is_gone_leaves_a_gray_picture_and_the_reason(tmp_path):
    seen = observed(tmp_path / "world")
    (tmp_path / "world" / "images" / "2.png").unlink()
    (gone, said), (picture, caption) = least_stable_pictures(seen)
    assert (
        gone is GRAY and "no longer readable" in said and said.startswith("2.png: stability 0.25")
    )
    assert picture.shape == (64, 64, 3) and caption == (
        "1.png: stability 0.50, 1 box, 4 with dropout"
    )
