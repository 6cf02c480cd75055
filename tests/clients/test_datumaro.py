"""Data sets that datumaro writes, and CVAT with it, are read from their root."""

import numpy as np
import pytest

from autoeval.io.labels.any_format import load_labels

pytestmark = pytest.mark.clients
dm = pytest.importorskip("datumaro", reason="needs the extra 'clients'")

BOXES = {"a": [], "b": [("car", 5, 6, 20, 30), ("bus", 40, 10, 30, 25)], "c": [("car", 1, 2, 9, 8)]}
CATEGORIES = ["car", "bus"]


@pytest.fixture(scope="module")
def data():
    items = [
        dm.DatasetItem(
            id=name,
            subset="default",
            media=dm.Image.from_numpy(data=np.full((60, 80, 3), 50 * k, np.uint8)),
            annotations=[
                dm.Bbox(*xywh, label=CATEGORIES.index(word), id=j, group=j)
                for j, (word, *xywh) in enumerate(boxes, 1)
            ],
        )
        for k, (name, boxes) in enumerate(BOXES.items())
    ]
    return dm.Dataset.from_iterable(items, categories=CATEGORIES)


@pytest.mark.parametrize(
    ("layout", "empty_is_known"),
    [("coco", True), ("coco_instances", True), ("yolo", True), ("voc", False)],
)
def test_a_data_set_is_read_with_its_images(data, tmp_path, layout, empty_is_known):
    data.export(str(tmp_path / "out"), layout, save_media=True)
    labels = load_labels(tmp_path / "out")
    names = {image.image_id: image.file_name.rpartition("/")[2][0] for image in labels.images}
    assert sorted(names.values()) == ["a", "b", "c"] if empty_is_known else ["b", "c"]
    assert [u[0] for u in labels.unlabelled] == ([] if empty_is_known else ["a"])
    assert all((labels.img_dir / image.file_name).is_file() for image in labels.images)
    read = sorted((names[box.image_id], box.category, *box.xywh) for box in labels.boxes)
    true = sorted((name, *box) for name, boxes in BOXES.items() for box in boxes)
    assert [row[:2] for row in read] == [row[:2] for row in true]
    pixels = 1 if layout == "voc" else 1e-3  # it writes whole pixels
    np.testing.assert_allclose([r[2:] for r in read], [t[2:] for t in true], atol=pixels)
