"""The images that a report shows."""

from dataclasses import replace

import numpy as np
import pytest
from made_reports import ESTIMATE, blocks, tables
from rectangles import write_world

from autoeval.detections import Detections, Evidence
from autoeval.io.image_lists import load_image_folder
from autoeval.model.priors import calibration_prior
from autoeval.report.estimate import least_certain_blocks
from autoeval.report.page import Page
from autoeval.sites.site import Site

CALIBRATION = calibration_prior().calibration


def found_boxes(n):
    return Detections(np.tile([4, 4, 20, 20], (n, 1)), np.full(n, 0.9), np.zeros(n))


def a_site(files, found=None, **options):
    found = found or {"1.png": found_boxes(1), "2.png": found_boxes(2)}
    evidence = tuple(Evidence(name, (64, 64), of) for name, of in found.items())
    site = Site.of_evidence(evidence, ("box",))
    return replace(site, calibration=CALIBRATION, named=True, images=files, **options)


def test_the_least_certain_images_come_first_and_those_without_a_box_do_not(tmp_path):
    files = load_image_folder(write_world(tmp_path / "world", 200, n_images=3) / "images")
    unsure = Detections(np.array([[4, 4, 20, 20]]), np.array([0.2]), np.zeros(1))
    site = a_site(files, {"1.png": found_boxes(2), "2.png": unsure, "3.png": Detections.empty()})
    page = Page("t", least_certain_blocks(replace(ESTIMATE, site=site)))
    table = tables(page)["least_certain"].table
    assert table["image_id"].tolist() == ["2.png", "1.png"]
    assert table["mean_score"].tolist() == pytest.approx([0.2, 0.9])
    (pictures,) = blocks(page, "thumbnails")
    assert [caption for _, caption in pictures.images] == ["2.png", "1.png"]
