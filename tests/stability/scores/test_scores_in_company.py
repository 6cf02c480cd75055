"""A score of an image is the same whatever images it is measured with, and after it was kept."""

import numpy as np
import pytest

from autoeval.detections import Evidence
from autoeval.detectors import BlackBoxDetector
from autoeval.estimation.observation.kept_observer import pack_evidence, unpack_evidence
from autoeval.stability.scores.box_stability import BoxStabilitySettings
from autoeval.stability.scores.score_set import ScoreSet


def find(images):
    """A network of single precision, of whose boxes an empty image has a plain empty list."""
    box = np.array([[0, 0, 4, 4]], np.float32), np.array([51 / 255], np.float32), [0]
    found = [box if image.any() else ([], [], []) for image in images]
    return tuple(map(list, zip(*found, strict=True)))


@pytest.mark.parametrize("how", ["alone", "together", "kept"])
def test_an_image_without_boxes_changes_no_comparison_of_others(how):
    detector = BlackBoxDetector(find, ["car"])
    images = [np.full((8, 8, 3), 9, np.uint8), np.zeros((8, 8, 3), np.uint8)]
    seen = detector.observe(images, ["street", "lawn"])
    seen = [Evidence(e.image_id, e.image_size, e.clean, (e.clean,)) for e in seen]
    if how == "kept":
        seen = unpack_evidence(pack_evidence(seen))
    scores = ScoreSet(BoxStabilitySettings())
    for batch in [seen] if how != "alone" else [[one] for one in seen]:
        scores.update_batch(batch)
    (row,) = scores.rows()
    assert row["ps@0.20"] == row["confident_images@0.20"] == 0  # .2 is not over .2
    assert row["ps@0.15"] == 1 and np.isnan(row["stability_ap@0.20"])
