"""The detector that comes with the road world: it detects, and shifted environments are harder."""

import pytest
import torch

from autoeval.data.config_file import shipped_config
from autoeval.demo.roadworld import CATEGORY, DETECTOR, make_picture
from autoeval.demo.training import measure
from autoeval.detectors import DropoutSpec, load_detector


@pytest.fixture(scope="module")
def detector():
    return load_detector(DETECTOR)


def test_it_sees_vehicles_where_it_was_trained_and_fewer_elsewhere(detector):
    easy = measure(detector, "overpass", 12, seed=77)
    hard = measure(detector, "drone_high", 12, seed=77)
    assert easy["vehicles"] > 50 and hard["vehicles"] > 50
    assert easy["mAP50"] > 0.7 and easy["mAP"] > 0.5
    assert hard["mAP"] < easy["mAP"] - 0.15


def test_its_category_and_stages(detector):
    assert detector.categories == (CATEGORY,)
    image = make_picture("highway_day", 0).image
    spec = DropoutSpec("before", (1, 2), 0.15)
    (evidence,) = detector.observe([image], ["0"], dropout=spec, repeats=1)
    assert len(evidence.clean) and len(evidence.perturbed[0])


def test_the_file_is_small_and_holds_nothing_but_weights_and_words():
    path = shipped_config("detectors", f"{DETECTOR}.pth")
    assert path.stat().st_size < 5e6
    content = torch.load(path, weights_only=True)
    assert content["meta"]["dataset_meta"]["classes"] == (CATEGORY,)
    assert content["meta"]["training"]["losses"]
