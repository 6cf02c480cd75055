"""Predictions as text files with shares of the image, as Ultralytics writes them."""

import numpy as np
import pytest

from autoeval.data.labels.content import LabelledImage
from autoeval.data.predictions import read_predictions
from autoeval.errors import InputError

IMAGES = (
    LabelledImage("7", "x/13.jpg", (100, 200)),
    LabelledImage("13", "y/b.jpg", (50, 40)),  # an id that is the stem of another
    LabelledImage("9", "c.jpg", (100, 200)),
)
UNKNOWN = (LabelledImage("b", "b.jpg", None),)
NUMBERS = {"1": "person", "3": "car", "4": "bus"}


def write(folder, **texts):
    (folder / "labels").mkdir(exist_ok=True)
    for stem, text in texts.items():
        (folder / "labels" / f"{stem.removeprefix('_')}.txt").write_text(text)
    return folder


def test_shares_become_pixels_and_classes_count_from_zero(tmp_path):
    boxes = {"_13": "1 0.5 0.5 0.5 0.2 0.75\n2 0.1 0.1 0.2 0.2 0.5\n", "b": "1 0.5 0.5 1 1 0.25\n"}
    for folder in (write(tmp_path, **boxes), tmp_path / "labels"):
        read = read_predictions(folder, images=IMAGES, numbers=NUMBERS)
        assert [image.file_name for image in read.images] == ["x/13.jpg", "y/b.jpg", "c.jpg"]
        np.testing.assert_array_equal(read.image, [0, 0, 1])
        assert [read.categories[label] for label in read.label] == ["car", "bus", "car"]
        expected = [[50, 40, 150, 60], [0, 0, 40, 20], [0, 0, 40, 50]]
        np.testing.assert_allclose(read.boxes, expected, atol=1e-4)
        np.testing.assert_allclose(read.scores, [0.75, 0.5, 0.25])


def test_images_of_equal_stems_and_other_images_are_left_out(tmp_path):
    folder = write(tmp_path, a="0 0.5 0.5 1 1 0.5", b="0 0.5 0.5 1 1 0.5", c="0 0.5 0.5 1 1 0.5")
    images = (*IMAGES, LabelledImage("8", "z/c.png", (10, 10)), LabelledImage("6", "a.jpg", (9, 9)))
    read = read_predictions(folder, images=images, numbers=NUMBERS)
    assert [images[k].file_name for k in read.image] == ["a.jpg", "y/b.jpg"][
        :: 1 - 2 * (read.image[0] == 1)
    ]
    assert "not in the list of images: 1 (c)" in read.problems[0]


@pytest.mark.parametrize(
    ("text", "images", "numbers", "message"),
    [
        ("0 0.5 0.5 1 1", IMAGES, NUMBERS, "got 5 numbers. Run `yolo predict` with save_conf=True"),
        ("0 .1 .1 .2 .2 .3 .3 .4 .4 .9", IMAGES, NUMBERS, "got 10 numbers"),
        ("car 0.5 0.5 1 1 0.5", IMAGES, NUMBERS, "b.txt cannot be read"),
        (
            "3 0.5 0.5 1 1 0.5",
            IMAGES,
            NUMBERS,
            "from 3 to 3, but 3 .* --names data.yaml",
        ),
        ("0 0.5 0.5 1 1 0.5", None, NUMBERS, "sizes of the images are not known"),
        (
            "0 0.5 0.5 1 1 0.5",
            (LabelledImage("b", "b.jpg", None),),
            NUMBERS,
            "images b are not known",
        ),
    ],
)
def test_what_is_refused(tmp_path, text, images, numbers, message):
    with pytest.raises(InputError, match=message):
        read_predictions(write(tmp_path, b=text), images=images, numbers=numbers)


def test_a_folder_without_text_files(tmp_path):
    with pytest.raises(InputError, match=r"No text files in .*: expected a predictions file"):
        read_predictions(tmp_path, images=IMAGES, numbers=NUMBERS)
