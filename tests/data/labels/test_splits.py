"""Splits of a labelled data set."""

from pathlib import Path

import pytest

from autoeval.data.labels.content import LabelledBox, LabelledImage, LabelSet, of_splits, split_of


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("images/train/1.jpg", "train"),
        ("val/images/1.jpg", "val"),
        ("Valid/1.jpg", "Valid"),
        ("images\\test\\1.jpg", "test"),
        ("images/1.jpg", ""),
        ("images/val.jpg", ""),  # a file of that name is no folder
        ("training_day/1.jpg", ""),
    ],
)
def test_split_of_an_image(name, split):
    assert split_of(LabelledImage("1", name, None)) == split


def test_labels_of_a_split():
    images = tuple(LabelledImage(name, name, None) for name in ("train/1.jpg", "val/1.jpg"))
    boxes = tuple(LabelledBox(image.image_id, "car", (0, 0, 1, 1)) for image in images)
    whole = LabelSet(Path("data.yaml"), images, ("car",), boxes)
    part = of_splits(whole, ["val"])
    assert part.images == images[1:] and part.boxes == boxes[1:]
    assert part.categories == whole.categories
