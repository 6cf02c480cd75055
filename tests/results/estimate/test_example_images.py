"""The images that a report shows."""

from dataclasses import replace

import numpy as np
import pytest
from rectangles import write_world

from autoeval.data.image_folder import load_image_folder
from autoeval.detections import Detections, Evidence
from autoeval.estimation.observation.least_stable import UnstableImage
from autoeval.estimation.panel_prior import calibration_prior
from autoeval.estimation.site import Site
from autoeval.results.estimate.example_images import (
    GRAY,
    LeastCertainExamples,
    LeastStableExamples,
)
from autoeval.sites.site_boxes import SiteBoxes

CALIBRATION = calibration_prior().calibration


def boxes(n):
    return Detections(np.tile([4, 4, 20, 20], (n, 1)), np.full(n, 0.9), np.zeros(n))


def a_site(files, found=None, **options):
    found = found or {"1.png": boxes(1), "2.png": boxes(2)}
    evidence = tuple(Evidence(name, (64, 64), of) for name, of in found.items())
    found = replace(SiteBoxes.of_evidence(evidence, ("box",)), calibration=CALIBRATION)
    return Site(found, named=True, images=files, **options)


def observed(folder):
    files = load_image_folder(write_world(folder, 200, n_images=2) / "images")
    unstable = [
        UnstableImage(0.25, "2.png", boxes(2), (boxes(1), boxes(3))),
        UnstableImage(0.5, "1.png", boxes(1), (boxes(4), boxes(4))),
    ]
    return LeastStableExamples(a_site(files, least_stable=unstable))


def test_the_table_counts_boxes_with_and_without_dropout(tmp_path):
    table = observed(tmp_path / "world")._table()
    assert table.to_dict("list") == {
        "image": ["2.png", "1.png"],
        "stability": [0.25, 0.5],
        "boxes": [2, 1],
        "boxes with dropout": ["1 to 3", "4"],
    }


def test_an_image_that_is_gone_leaves_a_gray_picture_and_the_reason(tmp_path):
    seen = observed(tmp_path / "world")
    (tmp_path / "world" / "images" / "2.png").unlink()
    (gone, said), (picture, caption) = seen._pictures
    assert (
        gone is GRAY and "no longer readable" in said and said.startswith("2.png: stability 0.25")
    )
    assert picture.shape == (64, 64, 3) and caption == (
        "1.png: stability 0.50, 1 box, 4 with dropout"
    )


def test_the_least_certain_images_come_first_and_those_without_a_box_do_not(tmp_path):
    files = load_image_folder(write_world(tmp_path / "world", 200, n_images=3) / "images")
    unsure = Detections(np.array([[4, 4, 20, 20]]), np.array([0.2]), np.zeros(1))
    site = a_site(files, {"1.png": boxes(2), "2.png": unsure, "3.png": Detections.empty()})
    section = LeastCertainExamples(site)
    (part,) = section.parts()
    assert part.table["image_id"].tolist() == ["2.png", "1.png"]
    assert part.table["mean_score"].tolist() == pytest.approx([0.2, 0.9])
    assert [caption for _, caption in section._pictures] == ["2.png", "1.png"]
