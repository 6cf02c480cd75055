"""Boxes where nothing is: they stand alone, or lie across others, more than those of the fit."""

import json

import numpy as np
import pytest

import autoeval
from autoeval.io.labels.content import LabelledImage
from autoeval.io.predictions import FoundBoxes
from autoeval.sites.confident_boxes import CODE, ConfidentBoxes, unlike_fit
from autoeval.sites.reference_statistics import ReferenceStatistics, joined_statistics
from tests.commands.predicted_world import HEIGHT, WIDTH, write_world


def test_shares_by_hand():
    """Four confident boxes: with a companion, alone, and two across each other."""
    boxes = np.array(
        [
            [0, 0, 10, 10],
            [0, 0, 10, 9],  # its companion: IoU .9
            [50, 50, 60, 60],  # alone
            [80, 80, 90, 90],
            [85, 80, 95, 90],  # across it: IoU 1/3, so the less confident one is its companion
            [50, 50, 60, 59],  # of another category
            [0, 0, 10, 10],  # in another image
        ],
        float,
    )
    scores = np.array([0.9, 0.2, 0.8, 0.9, 0.7, 0.3, 0.4])
    image, label = np.array([0, 0, 0, 0, 0, 0, 1]), np.array([0, 0, 0, 0, 0, 1, 0])
    images = tuple(LabelledImage(str(k), f"{k}.jpg", None) for k in range(2))
    found = FoundBoxes(images, ("car", "bus"), image, label, boxes, scores, {})
    assert ConfidentBoxes.of(found) == (4, 0.5, 0.5)
    nothing = found.where(np.zeros(7, bool))
    assert ConfidentBoxes.of(nothing) == (0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("site", "n_signs"),
    [
        (ConfidentBoxes(100, 0.5, 0.5), 0),
        (ConfidentBoxes(100, 0.7, 0.5), 1),
        (ConfidentBoxes(100, 0.5, 0.6), 1),
        (ConfidentBoxes(100, 0.7, 0.6), 2),
        (ConfidentBoxes(19, 0.9, 0.9), 0),  # too few
    ],
)
def test_more_than_in_any_set_of_the_fit(site, n_signs):
    fit = [ConfidentBoxes(50, 0.3, 0.0), ConfidentBoxes(50, 0.1, 0.1), ConfidentBoxes(5, 1.0, 1.0)]
    warnings = unlike_fit(fit, site)
    assert len(warnings) == min(n_signs, 1)
    if warnings:
        assert warnings[0].code == CODE and warnings[0].count("in the fit") == n_signs
    assert unlike_fit([], site) == ()


def test_statistics_keep_them():
    one = ReferenceStatistics(("car",), confident=(ConfidentBoxes(50, 0.3, 0.1),))
    assert ReferenceStatistics.from_dict(json.loads(json.dumps(one.to_dict()))) == one
    assert joined_statistics([one, one]).confident == one.confident * 2


def with_companions(rows, rng):
    """Add a less confident box beside each, as detectors do around an object."""
    companions = [{**row, "score": round(row["score"] * 0.3, 4)} for row in rows]
    for row in companions:
        x, y, width, height = row["bbox"]
        row["bbox"] = [x, y, round(width * rng.uniform(0.5, 0.8), 2), height]
    return rows + companions


def test_an_estimate_warns_and_labels_give_the_number(tmp_path):
    rng = np.random.default_rng(0)
    labels, boxes = write_world(tmp_path, "fit", seed=0, n_categories=2)
    new_labels, new_boxes = write_world(tmp_path, "new", seed=1, n_categories=2)
    for path in (boxes, new_boxes):
        path.write_text(json.dumps(with_companions(json.loads(path.read_text()), rng)))
    estimator = autoeval.fit(labels, boxes)
    sound = estimator.predict(new_boxes, images=new_labels)
    assert CODE not in {warning.code for warning in sound.warnings}
    rows = json.loads(new_boxes.read_text())
    for image in range(60):
        for _ in range(8):
            corner = rng.uniform(0, 1, 2) * (WIDTH - 100, HEIGHT - 100)
            rows.append(
                {
                    "image_id": image,
                    "category_id": 1 + int(rng.integers(2)),
                    "bbox": [*corner.round(2).tolist(), *rng.uniform(30, 100, 2).round(2).tolist()],
                    "score": float(rng.uniform(0.6, 0.95)),
                }
            )
    false = tmp_path / "false.json"
    false.write_text(json.dumps(rows))
    warned = estimator.predict(false, images=new_labels)
    (warning,) = [warning for warning in warned.warnings if warning.code == CODE]
    assert warning.severity == "warning"
    labelled = estimator.predict(false, images=new_labels, labels=new_labels)
    assert CODE not in {warning.code for warning in labelled.warnings}
    assert labelled.value < sound.value - 0.1 < warned.value
