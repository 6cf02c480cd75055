"""Files that globox 2.9.0 wrote (`save_yolo_v5`, `save_pascal_voc`) of the boxes given here."""

import shutil
from pathlib import Path

import pytest

from autoeval.data.labels.any_format import load_labels

WRITTEN = Path(__file__).parent / "written_by_globox"
# As xyxy, pixels; images are 40 x 20, 60 x 30 and 40 x 20.
BOXES = [
    ("a.png", "car", 15, 5, 25, 15),
    ("a.png", "person", 0, 0, 8, 8),
    ("b.png", "car", 10.5, 3.25, 60, 30),
]


@pytest.mark.parametrize("layout", ["yolo", "voc"])
def test_reads_what_globox_wrote(write, tmp_path, layout):
    write({"a.png": None, "c.png": None, "classes.txt": "car\nperson"})
    write({"b.png": None}, size=(30, 60))
    shutil.copytree(WRITTEN / layout, tmp_path, dirs_exist_ok=True)
    labels = load_labels(tmp_path, layout=layout)
    assert [image.size for image in labels.images] == [(20, 40), (30, 60), (20, 40)]
    found = [
        (box.image_id, box.category, x, y, x + w, y + h)
        for box in labels.boxes
        for x, y, w, h in [box.xywh]
    ]
    for (*words, x1, y1, x2, y2), expected in zip(found, BOXES, strict=True):
        assert words == list(expected[:2])
        assert (x1, y1, x2, y2) == pytest.approx(expected[2:], abs=1e-12)
