"""MUCCA's released files, in the form of its first image."""

import json

import numpy as np
import pytest

from autoeval.counting.praco.data_kind import load_counting_set
from autoeval.counting.praco.published_sets import load_mucca
from autoeval.errors import InputError

COUNTS = {
    "mcac_1.jpg": {"plates": 1, "bowls": 2, "cups": 0},
    "mcac_2.jpg": {"plates": 1, "bowls": 0, "cups": 1},
}
POINTS = {
    "mcac_1.jpg": {
        "H": 699,
        "W": 894,
        "points": [[215.4, 234.7], [172.2, 365.8], [464.1, 309.6]],
        "classes": [0, 1, 1],
    },
    "mcac_2.jpg": {"H": 575, "W": 626, "points": [[208.5, 64.4], [200, 100]], "classes": [2, 0]},
}


@pytest.fixture
def mucca(tmp_path):
    write(tmp_path, "multiclass_class_counts_per_image.json", COUNTS)
    write(tmp_path, "annotations.json", POINTS)
    return tmp_path


def write(root, name, content):
    (root / name).write_text(json.dumps(content))


def test_released_files(mucca):
    found = load_counting_set(mucca, need_images=False)
    assert found.classes == ("plates", "bowls", "cups") and found.name == "test"
    assert found.class_counts().to_numpy().tolist() == [[1, 2, 0], [1, 0, 1]]
    first = found.images[0]
    assert first.points["bowls"].tolist() == [[172.2, 365.8], [464.1, 309.6]]
    assert first.size == (384, 491), "384 x 894 / 699 pixels wide"
    with pytest.raises(InputError, match="2 no file in images/"):
        load_counting_set(mucca)


def test_split_and_class_files_where_they_are(mucca):
    write(mucca, "multiclass_split_images.json", {"test": ["mcac_2.jpg"]})
    write(mucca, "multiclass_split_classes.json", {"test": ["cups", "plates", "bowls"]})
    write(mucca, "class_mapping.json", {"0": "cups", "1": "bowls", "2": "plates"})
    found = load_mucca(mucca, need_images=False)
    assert [image.image_id for image in found.images] == ["mcac_2.jpg"]
    assert found.classes == ("cups", "plates", "bowls")
    assert found.images[0].points["plates"].tolist() == [[208.5, 64.4]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": [0, 1]}, "3 points and 2 classes"),
        ({"classes": [0, 1, 9]}, "mcac_1.jpg is malformed: KeyError"),
        ({"classes": [0, 0, 1]}, "says {'plates': 1, 'bowls': 2} for mcac_1.jpg, but"),
        ({"H": 0}, "ZeroDivisionError"),
    ],
)
def test_contradictions_are_told(mucca, change, message):
    points = {**POINTS, "mcac_1.jpg": {**POINTS["mcac_1.jpg"], **change}}
    write(mucca, "annotations.json", points)
    with pytest.raises(InputError, match=message):
        load_mucca(mucca, need_images=False)


def test_an_image_without_points_is_named(mucca):
    write(mucca, "annotations.json", {"mcac_1.jpg": POINTS["mcac_1.jpg"]})
    assert load_mucca(mucca, need_images=False).problems == (
        "images without points or counts: 1 (mcac_2.jpg)",
    )


def test_a_density_file_that_is_no_map(mucca):
    from autoeval.counting.praco.multi_class import tiles_on_file

    folder = mucca / "density_maps"
    folder.mkdir()
    np.save(folder / "mcac_1_bowls.npy", np.zeros(5))
    with pytest.raises(InputError, match=r"expected a map \(H, W\) of numbers, got \(5,\)"):
        tiles_on_file(folder, load_mucca(mucca, need_images=False), 1)
